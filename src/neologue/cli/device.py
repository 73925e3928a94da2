"""`neologue device`: one device of a campaign, which reads its words from the standard input."""

import string
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neologue.device import Client, Policy, Tick

FOLDER = click.option(
    "--folder", type=click.Path(path_type=Path), required=True, help="Where the device keeps its files."
)
KEY = click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="A file with a key of 64 hexadecimal digits that encrypts the words on disk.",
)
OPERATOR = click.option(
    "--operator",
    multiple=True,
    metavar="KEY[:RECOVERY]",
    help="Public key of an operator to answer, and the digest of the recovery key that may revoke it, in hex.  "
    "[repeatable]",
)
SURROUNDINGS = string.punctuation + "“”„‘’‚«»‹›…–—¿¡"

LOCAL = "http://localhost"
"""The server of commands that never connect to one."""


def _service_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that connects to a service."""
    for option in reversed(
        (
            click.option(
                "--server", required=True, help="The address of the service, such as https://words.example.org"
            ),
            OPERATOR,
            click.option(
                "--issuer",
                multiple=True,
                help="Public key of who may vouch for devices under masks, in hex.  [repeatable]",
            ),
            click.option(
                "--ca-file", type=click.Path(path_type=Path), help="Certificates to trust instead of the system's."
            ),
            click.option("--largest-epsilon", type=float, help="The largest local ε of one word.  [default: 10]"),
            click.option(
                "--lifetime-epsilon",
                type=float,
                help="The largest sum of all local ε over the device's lifetime.  [default: 20]",
            ),
            click.option(
                "--smallest-cohort",
                "smallest_layer_size",
                type=int,
                help="The fewest devices that must be asked.  [default: 100]",
            ),
            click.option(
                "--sending-window",
                type=(float, float),
                help="The fewest and the most seconds before votes are sent, at a moment drawn before they are made; "
                "less than making them takes shows how many words there are.  [default: 5 15]",
            ),
            click.option(
                "--largest-vote-ratio",
                type=float,
                help="The most that a vote may multiply the odds of a word by.  [default: 22100]",
            ),
            click.option(
                "--largest-closed-vote-ratio",
                type=float,
                help="The same where the operator lists whole words, as to measure a release.  [default: 50]",
            ),
            click.option(
                "--largest-silence-ratio",
                type=float,
                help="The most that a missing vote may divide the odds of a word by.  [default: 4]",
            ),
            click.option(
                "--fewest-noise-votes",
                type=float,
                help="The fewest votes that chance alone must give.  [default: 3]",
            ),
            click.option(
                "--allow-targets", is_flag=True, default=None, help="Answer an operator who lists the words that count."
            ),
        )
    ):
        command = option(command)
    return command


@click.group()
def device() -> None:
    """Run one device of a campaign.

    It keeps what was typed in a folder, and sends only randomized reports that its own policy allows. An app embeds the
    same client: docs/device.md.
    """


@device.command()
@FOLDER
@KEY
@click.argument("credential", type=click.File())
def join(folder: Path, key_file: Path | None, credential: Any) -> None:  # noqa: ANN401 - an open file
    """Join the campaign of a CREDENTIAL, a file, or - for the standard input."""
    with _client(folder, key_file) as client:
        client.join(credential.read(1000).strip())


@device.command("type")
@FOLDER
@KEY
@click.option("--private", is_flag=True, help="Treat the text as typed into a private field: nothing is kept.")
def type_(folder: Path, key_file: Path | None, private: bool) -> None:
    """Record the words of a text on the standard input."""
    with _client(folder, key_file) as client:
        for word in _read_words():
            client.typed(word, private=private)


@device.command()
@FOLDER
@KEY
@_service_options
def tick(folder: Path, key_file: Path | None, **options: Any) -> None:  # noqa: ANN401 - those of _talks
    """Take the next step in the campaign, and print what it was."""
    with _client(folder, key_file, **options) as client:
        _print_tick(client.tick())


@device.command()
@FOLDER
@KEY
@_service_options
def run(folder: Path, key_file: Path | None, **options: Any) -> None:  # noqa: ANN401 - those of _talks
    """Take part until nothing is left to do in the campaign."""
    with _client(folder, key_file, **options) as client:
        while True:
            done = client.tick()
            _print_tick(done)
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
    with _client(folder, key_file) as client:
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
@click.argument("release", type=click.Path(path_type=Path))
@click.pass_context
def check(
    context: click.Context,
    folder: Path,
    key_file: Path | None,
    release: Path,
    operator: tuple[str, ...],
    succession: Path | None,
) -> None:
    """Check that the layer that this device answered is in RELEASE, a release.json, as the device was told.

    It must be signed by the operator who asked, or by a key that is known to succeed theirs. Nothing is sent anywhere.
    Exits with 1 if something is wrong, and with 2 if the file can't be read.
    """
    from neologue.release.key_file import read_succession

    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}: give the one in which the device keeps its files")
    content = release.read_bytes()
    if succession is not None and not operator:
        raise ParameterError("--succession leads on from a key that you trust: give it with --operator")
    with _client(folder, key_file, operator=operator) as client:
        if succession is not None:
            client.follow(read_succession(succession))
        checked = client.check_release(content)
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


@device.command()
@FOLDER
@KEY
@click.option("--me", is_flag=True, help="Forget all words, waiting reports, receipts and the credential.")
def forget(folder: Path, key_file: Path | None, me: bool) -> None:
    """Forget the words on the standard input, or with --me everything except the ε spent."""
    with _client(folder, key_file) as client:
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
    with _client(folder, key_file) as client:
        client.opt_out()


@device.command("opt-in")
@FOLDER
@KEY
def opt_in(folder: Path, key_file: Path | None) -> None:
    """Agree to take part, for the first time or again."""
    with _client(folder, key_file) as client:
        client.opt_in()


@contextmanager
def _client(
    folder: Path,
    key_file: Path | None,
    server: str = LOCAL,
    ca_file: Path | None = None,
    sending_window: tuple[float, float] | None = None,
    **limits: Any,  # noqa: ANN401
) -> "Iterator[Client]":
    from neologue.device import Client, HttpTransport, SendingTime, SendingWindow

    key = (
        None
        if key_file is None
        else _parse_hex(key_file.read_text("utf-8", "replace").strip(), f"the key in {key_file}")
    )
    sending_time = SendingTime(SendingWindow(*sending_window or ()))
    with (
        HttpTransport(server, ca_file=ca_file) as transport,
        Client(folder, transport, _policy(**limits), key, sending_time=sending_time) as client,
    ):
        yield client


def _policy(operator: tuple[str, ...] = (), issuer: tuple[str, ...] = (), **limits: float | None) -> "Policy":
    from neologue.device import Policy

    pins = [text.partition(":") for text in operator]
    operators = frozenset(_parse_hex(key, "an operator's public key") for key, _, _ in pins)
    recovery = {
        bytes.fromhex(key): _parse_hex(digest, "the digest of a recovery key") for key, given, digest in pins if given
    }
    issuers = frozenset(_parse_hex(text, "an issuer's public key") for text in issuer)
    given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    return Policy(operators=operators, recovery=recovery, issuers=issuers, **given)


def _parse_hex(text: str, what: str) -> bytes:
    """Parse 32 bytes; the error message does not quote the text, which may be a secret."""
    try:
        content = bytes.fromhex(text)
    except ValueError:
        content = b""
    if len(content) != 32:
        raise ParameterError(f"{what} must be 64 hexadecimal digits, not a text of {len(text):,} characters")
    return content


def _read_words() -> "Iterator[str]":
    """Read the words of the standard input, without the punctuation around them."""
    for word in sys.stdin.buffer.read().decode("utf-8", "replace").split():
        if bare := word.strip(SURROUNDINGS):
            yield bare


def _print_tick(done: "Tick") -> None:
    """Print the result of a step; a refusal ends the command."""
    if done.state == "refused":
        raise ParameterError(done.message)
    again = "" if done.again is None else f"; again in {done.again:,.0f} s"
    click.echo(f"{done.state}: {done.message}{again}")
