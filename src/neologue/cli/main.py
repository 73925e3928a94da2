"""`neologue`: the commands, and how they fail.

A command imports what it needs beyond click when it runs, so that `--help` and completion stay fast.
"""

import io
import os
import sys
from typing import Any

import click
from click.shell_completion import get_completion_class

from neologue import __version__
from neologue.cli.devices.conformance import conformance
from neologue.cli.devices.device import device
from neologue.cli.devices.fleet import fleet
from neologue.cli.devices.sandbox import sandbox
from neologue.cli.discovery.audit import audit
from neologue.cli.discovery.discover import discover
from neologue.cli.discovery.plan import plan
from neologue.cli.help_sections import CommandGroup
from neologue.cli.live.campaign import campaign
from neologue.cli.live.doctor import backup, doctor
from neologue.cli.live.key import key
from neologue.cli.live.ledger import ledger
from neologue.cli.live.log import log
from neologue.cli.live.serve import serve
from neologue.cli.live.token import token
from neologue.cli.live.witness import witness
from neologue.cli.releases.certify import certify, keygen
from neologue.cli.releases.diff import diff
from neologue.cli.releases.explain import explain, registry
from neologue.cli.resume_hint import resume_hint
from neologue.cli.studies.study import study
from neologue.errors import NeologueError

INTERRUPTED = 130
SECTIONS = {
    "Find words": ("discover", "plan", "sandbox"),
    "Releases": ("certify", "diff", "explain", "registry", "keygen"),
    "Live service": ("serve", "campaign", "ledger", "token", "key", "log", "witness", "doctor", "backup"),
    "Devices": ("device", "conformance", "fleet", "audit"),
    "More": ("study", "profiles", "alphabets", "completion"),
}


class Commands(CommandGroup):
    """Commands that answer a user's mistake with one sentence and exit code 2."""

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command and exit with its code."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal without ε shows a question mark instead of a traceback.
                stream.reconfigure(errors="replace")
        try:
            return super().main(*arguments, **options)
        except BrokenPipeError:
            # The reader of the pipe is gone; without this, Python prints another error while it exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections."""
        for title, names in SECTIONS.items():
            with formatter.section(title):
                self.write_commands(context, formatter, names)

    def invoke(self, context: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command; a user's mistake or interruption ends with one sentence."""
        try:
            return super().invoke(context)
        except NeologueError as error:
            click.echo(f"neologue: {error}", err=True)
            context.exit(2)
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            if isinstance(error, ConnectionError):
                click.echo(f"neologue: a connection was lost ({error.strerror}); try again", err=True)
                context.exit(2)
            if isinstance(error, FileNotFoundError) and error.filename is not None:
                click.echo(f"neologue: there is no file or folder {error.filename}: check the name", err=True)
                context.exit(2)
            what = "the output" if error.filename is None else error.filename
            click.echo(f"neologue: {what} can't be used ({error.strerror}); give another path", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            hint = resume_hint(context)
            click.echo(f"neologue: interrupted{f'; {hint}' if hint else ''}", err=True)
            context.exit(INTERRUPTED)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="neologue")
def main() -> None:
    """Find the new words that millions of people type, without anyone having to say what they typed."""


main.add_command(discover)
main.add_command(certify)
main.add_command(diff)
main.add_command(explain)
main.add_command(registry)
main.add_command(keygen)
main.add_command(plan)
main.add_command(audit)
main.add_command(ledger)
main.add_command(study)
main.add_command(device)
main.add_command(conformance)
main.add_command(serve)
main.add_command(campaign)
main.add_command(key)
main.add_command(token)
main.add_command(fleet)
main.add_command(sandbox)
main.add_command(doctor)
main.add_command(backup)
main.add_command(log)
main.add_command(witness)


@main.command()
def alphabets() -> None:
    """List the built-in alphabets."""
    from neologue.cli.terminal import show_table
    from neologue.language.alphabet import NAMED, Alphabet

    rows = [(name, str(Alphabet.named(name).size), about) for name, (_, about) in NAMED.items()]
    show_table("Alphabets", ("name", "symbols", "what"), rows, numbers=(1,))


@main.command()
def profiles() -> None:
    """List the profiles of parameters and their sources."""
    from neologue.campaign.profiles import PROFILES
    from neologue.cli.terminal import show_table

    names = list(PROFILES)
    parameters = {name: PROFILES[name].parameters.as_dict() for name in names}
    rows = [
        (field.replace("_", " "), *(_format_value(parameters[name][field]) for name in names))
        for field in parameters[names[0]]
    ]
    alphabets = ("alphabet", *(PROFILES[name].alphabet for name in names))
    show_table("Profiles", ("parameter", *names), [*rows, alphabets])
    for name in names:
        click.echo(f"{name}: {PROFILES[name].source}.")


def _format_value(value: object) -> str:
    if value is None:
        return "by population"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "as many"
    return f"{value:,}" if isinstance(value, int) else str(value)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    For bash, put this into ~/.bashrc: eval "$(neologue completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "neologue", "_NEOLOGUE_COMPLETE").source())
