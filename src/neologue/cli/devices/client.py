"""The client that the commands of a device make, its options, and what they print of its steps."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.log_options import read_trust
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neologue.device import Client, Policy, Tick, Transport

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
SERVER = click.option("--server", required=True, help="The address of the service, such as https://words.example.org")
CERTIFICATES = click.option(
    "--ca-file", type=click.Path(path_type=Path), help="Certificates to trust instead of the system's."
)

LOCAL = "http://localhost"
"""The server of commands that never connect to one."""


def service_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command whose device connects to a service."""
    return SERVER(CERTIFICATES(policy_options(command)))


def policy_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command whose device may answer."""
    for option in reversed(
        (
            OPERATOR,
            click.option(
                "--issuer",
                multiple=True,
                help="Public key of who may vouch for devices under masks, in hex.  [repeatable]",
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
                "--measurement",
                nargs=2,
                metavar="IMAGE ROOT",
                help="Answer only a service that evidence shows to run this image: its measurement, and the SHA-256 of "
                "the hardware vendor's root certificate, both hexadecimal; needs --witnesses.",
            ),
            click.option(
                "--allow-targets", is_flag=True, default=None, help="Answer an operator who lists the words that count."
            ),
            click.option(
                "--allow-unlogged-lists",
                is_flag=True,
                default=None,
                help="Answer an operator who asks about a list of whole words, as to measure a release, also if no log "
                "that witnesses co-sign has the list.",
            ),
        )
    ):
        command = option(command)
    return command


@contextmanager
def http_client(
    folder: Path,
    key_file: Path | None,
    server: str = LOCAL,
    ca_file: Path | None = None,
    **options: Any,  # noqa: ANN401 - those of a policy
) -> "Iterator[Client]":
    """The client of a folder that talks to a service over HTTP."""
    from neologue.device import HttpTransport

    with (
        HttpTransport(server, ca_file=ca_file) as transport,
        opened_client(folder, key_file, transport, **options) as client,
    ):
        yield client


@contextmanager
def opened_client(
    folder: Path,
    key_file: Path | None,
    transport: "Transport",
    sending_window: tuple[float, float] | None = None,
    **limits: Any,  # noqa: ANN401
) -> "Iterator[Client]":
    """The client of a folder."""
    from neologue.device import Client, SendingTime, SendingWindow

    key = (
        None
        if key_file is None
        else _parse_hex(key_file.read_text("utf-8", "replace").strip(), f"the key in {key_file}")
    )
    sending_time = SendingTime(SendingWindow(*sending_window or ()))
    with Client(folder, transport, _policy(**limits), key, sending_time=sending_time) as client:
        yield client


def _policy(
    operator: tuple[str, ...] = (),
    issuer: tuple[str, ...] = (),
    witnesses: Path | None = None,
    measurement: tuple[str, str] | None = None,
    **limits: float | None,
) -> "Policy":
    from neologue.device import Policy

    pins = [text.partition(":") for text in operator]
    operators = frozenset(_parse_hex(key, "an operator's public key") for key, _, _ in pins)
    recovery = {
        bytes.fromhex(key): _parse_hex(digest, "the digest of a recovery key") for key, given, digest in pins if given
    }
    issuers = frozenset(_parse_hex(text, "an issuer's public key") for text in issuer)
    given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    trust = read_trust(witnesses)
    if measurement is not None:
        image, root = measurement
        try:
            given["measurements"] = frozenset({bytes.fromhex(image)})
        except ValueError:
            raise ParameterError(f"the measurement of an image is hexadecimal, not {image[:80]!r}") from None
        given["vendors"] = frozenset({_parse_hex(root, "the digest of a vendor's root certificate")})
    return Policy(
        operators=operators,
        recovery=recovery,
        issuers=issuers,
        logs=frozenset(server.key.public for server in trust.logs),
        witnesses=frozenset(server.key.public for server in trust.witnesses),
        quorum=trust.quorum,
        **given,
    )


def _parse_hex(text: str, what: str) -> bytes:
    """Parse 32 bytes; the error message does not quote the text, which may be a secret."""
    try:
        content = bytes.fromhex(text)
    except ValueError:
        content = b""
    if len(content) != 32:
        raise ParameterError(f"{what} must be 64 hexadecimal digits, not a text of {len(text):,} characters")
    return content


def print_tick(done: "Tick") -> None:
    """Print the result of a step; a refusal ends the command."""
    if done.state == "refused":
        raise ParameterError(done.message)
    again = "" if done.again is None else f"; again in {done.again:,.0f} s"
    click.echo(f"{done.state}: {done.message}{again}")
