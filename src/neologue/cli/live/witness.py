"""`neologue witness`: an independent process that co-signs the logs of operators, and refuses forks for ever."""

from dataclasses import replace
from pathlib import Path

import click

from neologue.cli.help_sections import CommandGroup
from neologue.errors import InputError

FORKED = 1
SECONDS_TO_STOP = 10
FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.group(cls=CommandGroup)
def witness() -> None:
    """Co-sign the logs of operators, so that everybody is shown the same log."""


@witness.command()
@FILE
@click.option("--name", help="The name of the witness, such as witness.example/w1; needed when FILE is made.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    required=True,
    metavar="VKEY[@URL]",
    help="The verifier key of a log to follow, and its address if the witness should check what it shows; once for "
    "each log.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="The port; 0 for any free one."
)
@click.option("--every", type=click.FloatRange(0.1), default=60.0, show_default=True, help="Seconds between checks.")
def run(file: Path, name: str | None, logs: tuple[str, ...], host: str, port: int, every: float) -> None:
    """Follow logs and co-sign them, with everything in FILE, which is made with a new key if it does not exist.

    Speaks the protocol of c2sp.org/tlog-witness. Put a proxy with TLS before it, and keep copies of FILE: a witness
    that forgets what it has co-signed can be lied to.
    """
    import time

    from neologue.cli.live.serve import check_address, read_settings
    from neologue.transparency.signed_note import NoteKey
    from neologue.transparency.trust import Server
    from neologue.witness.witness_file import WitnessFile

    # A proxy has one address for everybody, so that addresses are not told apart.
    settings = read_settings(database="", proxies=1)
    servers = []
    for given in logs:
        key, _, url = given.partition("@")
        servers.append(Server(NoteKey.parse(key), url or None))
    check_address(host, port)
    opened = WitnessFile(file, name)
    click.echo(f"verifier key of this witness: {opened.key}", err=True)
    import uvicorn

    from neologue.service.http_server import LimitedApplication, connections_allowed, server_options
    from neologue.service.ops.logs import configure
    from neologue.witness.witness import Witness
    from neologue.witness.witness_app import log_fork, witness_app

    configure()
    core = Witness(opened, [server.key for server in servers], time.time, log_fork)
    settings = replace(settings, connections=connections_allowed(settings.connections))
    served = LimitedApplication(witness_app(core, opened, servers, every), settings)
    uvicorn.run(served, **server_options(settings, SECONDS_TO_STOP), host=host, port=port)


@witness.command()
@FILE
@click.pass_context
def show(context: click.Context, file: Path) -> None:
    """Show what the witness in FILE has co-signed; exits with 1 if it was shown a fork."""
    from neologue.witness.witness_app import describe
    from neologue.witness.witness_file import WitnessFile

    if not file.exists():
        raise InputError(f"there is no witness in {file}: `neologue witness run` makes one")
    opened = WitnessFile(file)
    click.echo(describe(opened), nl=False)
    with opened.reading() as rows:
        if rows.forks():
            context.exit(FORKED)
