"""`neologue device`: one device of a campaign, which reads its words from the standard input."""

import json
import string
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.devices.client import FOLDER, KEY, OPERATOR, http_client, print_tick, service_options
from neologue.cli.devices.handover import answer, carry, export_request
from neologue.cli.help_sections import CommandGroup
from neologue.cli.log_options import LOG, TRUST, check_trust_has_a_log, read_log
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neologue.device import Client

SURROUNDINGS = string.punctuation + "“”„‘’‚«»‹›…–—¿¡"


@click.group(cls=CommandGroup)
def device() -> None:
    """Run one device of a campaign.

    It keeps what was typed in a folder, and sends only randomized reports that its own policy allows. An app embeds the
    same client: docs/device.md.
    """


device.add_command(export_request)
device.add_command(carry)
device.add_command(answer)


@device.command()
@FOLDER
@KEY
@click.argument("credential", type=click.File())
def join(folder: Path, key_file: Path | None, credential: Any) -> None:  # noqa: ANN401 - an open file
    """Join the campaign of a CREDENTIAL, a file, or - for the standard input."""
    with http_client(folder, key_file) as client:
        client.join(credential.read(1000).strip())


@device.command("type")
@FOLDER
@KEY
@click.option("--private", is_flag=True, help="Treat the text as typed into a private field: nothing is kept.")
def type_(folder: Path, key_file: Path | None, private: bool) -> None:
    """Record the words of a text on the standard input."""
    with http_client(folder, key_file) as client:
        for word in _read_words():
            client.typed(word, private=private)


@device.command()
@FOLDER
@KEY
@service_options
def tick(folder: Path, key_file: Path | None, **options: Any) -> None:  # noqa: ANN401 - those of service_options
    """Take the next step in the campaign, and print what it was."""
    with http_client(folder, key_file, **options) as client:
        print_tick(client.tick())


@device.command()
@FOLDER
@KEY
@service_options
def run(folder: Path, key_file: Path | None, **options: Any) -> None:  # noqa: ANN401 - those of service_options
    """Take part until nothing is left to do in the campaign."""
    with http_client(folder, key_file, **options) as client:
        while True:
            done = client.tick()
            print_tick(done)
            if done.again is None:
                return
            time.sleep(done.again)


@device.command()
@FOLDER
@KEY
def receipts(folder: Path, key_file: Path | None) -> None:
    """Show what left the device, and what it could reveal."""
    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}: give the one in which the device keeps its files")
    with http_client(folder, key_file) as client:
        for sentence in client.receipts():
            click.echo(sentence)
        click.echo(f"All campaigns together: ε = {client.spent:g} spent.")


@device.command()
@FOLDER
@KEY
@OPERATOR
@click.option(
    "--succession",
    type=click.Path(path_type=Path),
    help="How the operator's key was replaced since: what `neologue key show --out` writes.",
)
@LOG
@TRUST
@click.argument("release", type=click.Path(path_type=Path))
@click.pass_context
def check(
    context: click.Context,
    folder: Path,
    key_file: Path | None,
    release: Path,
    operator: tuple[str, ...],
    succession: Path | None,
    log: str | None,
    trust: Path | None,
) -> None:
    """Check that the layer that this device answered is in RELEASE, a release.json, as the device was told.

    It must be signed by the operator who asked, or by a key that is known to succeed theirs. With --log, what it was
    asked must be in the operator's log, for everybody to see. Nothing of the device is sent anywhere.
    Exits with 1 if something is wrong, and with 2 if the file can't be read.
    """
    from neologue.device.release_check import LARGEST_RELEASE
    from neologue.release.key_file import read_succession

    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}: give the one in which the device keeps its files")
    with release.open("rb") as file:
        content = file.read(LARGEST_RELEASE + 1)
    check_trust_has_a_log(log, trust)
    if succession is not None and not operator:
        raise ParameterError("--succession leads on from a key that you trust: give it with --operator")
    with http_client(folder, key_file, operator=operator) as client:
        if succession is not None:
            client.follow(read_succession(succession))
        checked = client.check_release(content)
        logged = () if log is None else _check_log(client, json.loads(content)["campaign"], log, trust)
    checked = replace(checked, objections=(*checked.objections, *logged))
    for objection in checked.objections:
        click.echo(f"no: {objection}")
    if checked.not_compared:
        click.echo(
            "not compared, because an earlier version of this device did not record it: "
            + ", ".join(checked.not_compared)
        )
    if checked.objections:
        context.exit(1)
    told = "ε" if checked.not_compared else "ε, B and masks"
    click.echo(f"yes: the layer that this device answered is in the release, with the {told} that it was told")
    if log is not None:
        click.echo("yes: what this device was asked is in the operator's log, where everybody was asked the same")


def _check_log(client: "Client", campaign: str, place: str, trust: Path | None) -> tuple[str, ...]:
    """What the log says of what a device was asked."""
    shown = read_log(place, trust)
    return (shown,) if isinstance(shown, str) else client.check_log(campaign, shown)


@device.command()
@FOLDER
@KEY
@click.option("--me", is_flag=True, help="Forget all words, waiting reports, receipts and the credential.")
def forget(folder: Path, key_file: Path | None, me: bool) -> None:
    """Forget the words on the standard input, or with --me everything except the ε spent."""
    with http_client(folder, key_file) as client:
        if me:
            client.forget_me()
            return
        for word in _read_words():
            client.forget(word)


@device.command("opt-out")
@FOLDER
@KEY
def opt_out(folder: Path, key_file: Path | None) -> None:
    """Stop sending and storing anything, and forget all words."""
    with http_client(folder, key_file) as client:
        client.opt_out()


@device.command("opt-in")
@FOLDER
@KEY
def opt_in(folder: Path, key_file: Path | None) -> None:
    """Agree to take part, for the first time or again."""
    with http_client(folder, key_file) as client:
        client.opt_in()


def _read_words() -> "Iterator[str]":
    """Read the words of the standard input, without the punctuation around them."""
    for word in sys.stdin.buffer.read().decode("utf-8", "replace").split():
        if bare := word.strip(SURROUNDINGS):
            yield bare
