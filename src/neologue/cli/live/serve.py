"""`neologue serve`: the live service, in one process or several."""

import json
import os
import signal
import socket
import ssl
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.help_sections import SectionedCommand
from neologue.cli.shared_options import DATABASE
from neologue.errors import InputError

if TYPE_CHECKING:
    from neologue.service.ops.settings import Settings

EXTRA = 'pip install "neologue[server]"'
SECONDS_TO_STOP = 30


@click.command(
    cls=SectionedCommand,
    examples=(
        ("neologue serve --database words.db", "a service on this machine, with one file"),
        (
            "neologue serve --host 0.0.0.0 --proxies 1 --database @/run/secrets/database --workers 4",
            "behind a proxy that speaks TLS, with PostgreSQL and four processes",
        ),
        (
            "neologue serve --webhook https://hooks.example.org/neologue --webhook-secret secret.txt",
            "tell another program what happens",
        ),
    ),
)
@DATABASE
@click.option(
    "--wrapping-key",
    envvar="NEOLOGUE_WRAPPING_KEY",
    show_envvar=True,
    metavar="SOURCE",
    help="Where the key comes from that encrypts the service's keys: file:PATH, env:NAME, command:COMMAND or none.  "
    "[default: a new file beside the database; none for PostgreSQL]",
)
@click.option(
    "--witnesses",
    type=click.Path(dir_okay=False),
    help="A file with the witnesses of the log and how many must co-sign a layer before anyone is asked about it "
    "(c2sp.org/tlog-policy).",
)
@click.option(
    "--webhook",
    metavar="URL",
    help="Tell this address what happens to campaigns, with signed requests that are retried.",
)
@click.option(
    "--webhook-secret",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the secret that signs them: openssl rand -hex 32.",
)
@click.option(
    "--evidence",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with evidence of where the service runs, such as a quote of SEV-SNP, for its log.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="The port; 0 for any free one."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes.")
@click.option("--ledger", type=click.Path(path_type=Path), hidden=True)
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False), help="A TLS certificate in PEM format.")
@click.option("--private-key", type=click.Path(exists=True, dir_okay=False), help="Its private key in PEM format.")
@click.option(
    "--proxies",
    type=click.IntRange(0, 16),
    help="How many proxies of yours a request comes through; each appends to X-Forwarded-For  [default: 0]",
)
@click.option("--connections", type=click.IntRange(1), help="The most connections of a worker  [default: 10000]")
@click.option(
    "--connections-per-address",
    type=click.IntRange(1),
    help="The most connections of one address, without a proxy  [default: 1000]",
)
@click.option("--requests-per-second", type=float, help="The most requests per second of one address  [default: 2000]")
@click.option("--patience", type=float, help="Seconds that a report waits for its batch  [default: 2]")
def serve(
    database: str,
    wrapping_key: str | None,
    host: str,
    port: int,
    workers: int,
    ledger: Path | None,
    certificate: str | None,
    private_key: str | None,
    **given: Any,  # noqa: ANN401 - the settings of the service, checked there
) -> None:
    """Run the service that collects from real devices, and its web pages.

    The database is created if it does not exist. It holds the ledger too. Its keys are encrypted with a wrapping key
    that is not in it: keep a copy of that key, apart from backups of the database. The first start prints the token
    of the first operator, once; sign in with it to the web pages, at the address of the service. The service prints
    readable lines on a terminal, and JSON elsewhere.
    """
    if ledger is not None:
        raise InputError(
            f"--ledger {ledger} is not needed any more: the ledger of a service is in its database; start it without, "
            f"and import this one with `neologue ledger import {ledger} http://{host}:{port}`"
        )
    settings = read_settings(database=database, wrapping_key=wrapping_key, **given)
    if bool(certificate) != bool(private_key):
        raise InputError("--certificate and --private-key go together: give both, or let a proxy handle TLS")
    check_address(host, port)
    _check_certificate(certificate, private_key)
    _check_webhook(settings)
    _prepare_database(settings)
    import uvicorn

    from neologue.service.http_server import connections_allowed, server_options
    from neologue.service.ops.logs import configure

    configure()
    # The server raises the signal again after a clean shutdown, which is not a failure.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    settings = replace(settings, connections=connections_allowed(settings.connections))
    options: dict[str, Any] = {
        **server_options(settings, SECONDS_TO_STOP),
        "host": host,
        "port": port,
        "ssl_certfile": certificate,
        "ssl_keyfile": private_key,
    }
    if port and sys.stderr.isatty():
        scheme = "https" if certificate else "http"
        click.echo(f"open {scheme}://{_shown_host(host)}:{port} in a browser, and sign in with your token", err=True)
    if workers == 1:
        from neologue.web.dashboard import dashboard

        uvicorn.run(dashboard(settings), **options)
        return
    # Each worker makes its own service from the same settings.
    os.environ["NEOLOGUE_SETTINGS"] = json.dumps(asdict(settings), default=str)
    uvicorn.run("neologue.web.dashboard:from_environment", factory=True, workers=workers, **options)


def _shown_host(host: str) -> str:
    """How a browser on this machine writes the address that a service listens on."""
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def check_address(host: str, port: int) -> None:
    """Refuse an address that can't be listened on, before anything is created."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"can't listen on {host}, port {port} ({getattr(error, 'strerror', error)}): give another --port or --host"
        ) from error


def _check_webhook(settings: "Settings") -> None:
    from neologue.service.webhook_settings import read_secret

    if bool(settings.webhook) != bool(settings.webhook_secret):
        raise InputError("--webhook and --webhook-secret go together: give both, or neither")
    read_secret(settings)


def _check_certificate(certificate: str | None, private_key: str | None) -> None:
    if certificate is None:
        return
    try:
        # An empty password, so that nobody is asked for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, private_key, password="")
    except OSError as error:
        raise InputError(
            f"{certificate} and {private_key} can't be used ({getattr(error, 'reason', None) or error.strerror}): give "
            "a certificate and its own key as PEM, without a password"
        ) from error


def read_settings(**given: Any) -> "Settings":  # noqa: ANN401 - checked by Settings
    """The settings of a service; refuses if the packages that it needs are not installed."""
    try:
        import jinja2  # noqa: F401
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import structlog  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f"the service needs {error.name}: install it with {EXTRA}") from error
    from neologue.service.ops.settings import Settings

    return Settings(**{name: value for name, value in given.items() if value is not None})


def _prepare_database(settings: "Settings") -> None:
    """Migrate the database, and print a token if nobody has one yet."""
    import time

    from neologue.service.ops.access import OPERATOR, audit, new_token, people
    from neologue.service.ops.wrapping_key import key_file_of
    from neologue.service.startup import check_readable
    from neologue.service.storage.database_address import open_database
    from neologue.service.storage.migrations import migrate

    database = open_database(settings.database)
    migrate(database)
    beside = key_file_of(database)
    is_new = settings.wrapping_key is None and beside is not None and not beside.exists()
    token = None
    with database.transaction() as db:
        db.lock_alone()  # several may start at once on a new database
        if not people(db):
            token = new_token(db, "first", OPERATOR, time.time())
            audit(db, "first", "make operator token", "first", time.time())
    check_readable(database, settings.wrapping_key)
    if is_new:
        click.echo(f"wrote {beside}, without which the keys in the database can't be read: keep a copy apart", err=True)
    if token:
        click.echo(f"operator token, shown this once: {token}", err=True)
    database.close()
