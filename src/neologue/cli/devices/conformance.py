"""`neologue conformance`: judge a device in any language by what it sends."""

import tempfile
from pathlib import Path

import click

from neologue.cli.help_sections import CommandWithExamples


@click.command(
    cls=CommandWithExamples,
    examples=(("neologue conformance -- python -m neologue.conformance.python_driver", "the Python device"),),
    context_settings={"ignore_unknown_options": True},
)
@click.option("--rule", multiple=True, help="Judge by this rule of docs/protocol.md alone.  [repeatable]")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def conformance(context: click.Context, rule: tuple[str, ...], command: tuple[str, ...]) -> None:
    """Judge the device that COMMAND drives, by the rules of docs/protocol.md.

    COMMAND is a program that opens your device and lets it take steps, one JSON object a line: docs/conformance.md says
    which. It talks to a scripted service on this machine that waits, refuses, lies, cuts connections and asks for too
    much. Exits with 1 if a rule is broken.
    """
    from neologue.conformance.checks import CHECKS, RULES
    from neologue.conformance.driver import CommandDriver
    from neologue.conformance.kit import judge
    from neologue.errors import ParameterError

    unknown = set(rule) - RULES
    if unknown:
        raise ParameterError(f"no check is about the rule {min(unknown)}; choose from {', '.join(sorted(RULES))}")
    checks = [check for check in CHECKS if not rule or not set(rule).isdisjoint(check.rules)]
    driver, verdicts = CommandDriver(command), []
    with tempfile.TemporaryDirectory() as folder:
        for verdict in judge(lambda: driver, Path(folder), checks):
            click.echo(verdict)
            verdicts.append(verdict)
    driver.end()
    broken = sum(verdict.complaint is not None for verdict in verdicts)
    left_out = sum(verdict.left_out is not None for verdict in verdicts)
    skipped = f" {left_out} were skipped: they are about what the device leaves out." if left_out else ""
    click.echo(f"{len(checks) - broken - left_out} of {len(checks)} checks passed.{skipped}")
    if broken:
        context.exit(1)
