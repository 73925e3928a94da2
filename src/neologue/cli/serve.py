"""`neologue serve`: the live service, in one process or several."""

import json
import os
import signal
import socket
import ssl
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.errors import InputError

if TYPE_CHECKING:
    from neologue.service.ops.settings import Settings

EXTRA = 'pip install "neologue[server]"'
SECONDS_TO_STOP = 30


@click.command()
@click.option(
    "--database",
    default="neologue.db",
    show_default=True,
    envvar="NEOLOGUE_DATABASE",
    show_envvar=True,
    help="A file, or postgresql://… for several workers and machines.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="The port; 0 for any.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="How many processes.")
@click.option("--ledger", type=click.Path(path_type=Path, dir_okay=False), help="The ledger that campaigns pay from.")
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False), help="A TLS certificate, as PEM.")
@click.option("--private-key", type=click.Path(exists=True, dir_okay=False), help="Its private key, as PEM.")
@click.option("--behind-proxy", is_flag=True, help="A proxy that can be trusted writes X-Forwarded-For.")
@click.option("--requests-per-second", type=float, help="What one address may ask for  [default: 2000]")
@click.option("--patience", type=float, help="Seconds that a report waits for its batch  [default: 2]")
def serve(
    database: str,
    host: str,
    port: int,
    workers: int,
    ledger: Path | None,
    certificate: str | None,
    private_key: str | None,
    **given: Any,  # noqa: ANN401 - the settings of the service, checked there
) -> None:
    """Run campaigns with real devices, and the pages to watch them in a browser.

    The database is made if it is not there, and the first start prints the token of its first operator, this once. It
    opens the pages too, under the address of the service.
    """
    settings = settings_of(database=database, ledger=ledger, **given)
    if bool(certificate) != bool(private_key):
        raise InputError("--certificate and --private-key go together: give both, or let a proxy speak TLS")
    check_address(host, port)
    _check_certificate(certificate, private_key)
    _first_token(settings)
    import uvicorn

    from neologue.service.ops.logs import configure

    configure()
    # The server passes the signal on when it has stopped in good order, which is no failure.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "ssl_certfile": certificate,
        "ssl_keyfile": private_key,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        # The service reads X-Forwarded-For itself, and only if --behind-proxy says that it may.
        "proxy_headers": False,
        "timeout_keep_alive": 30,
        "timeout_graceful_shutdown": SECONDS_TO_STOP,
    }
    if workers == 1:
        from neologue.web.dashboard import dashboard

        uvicorn.run(dashboard(settings), **options)
        return
    # Each worker makes a service of its own, from the same settings.
    os.environ["NEOLOGUE_SETTINGS"] = json.dumps(asdict(settings), default=str)
    uvicorn.run("neologue.web.dashboard:from_environment", factory=True, workers=workers, **options)


def check_address(host: str, port: int) -> None:
    """Refuse an address that can't be listened on, before anything is made."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server(address, family=family).close()
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"can't listen on {host}, port {port} ({getattr(error, 'strerror', error)}): give another --port or --host"
        ) from error


def _check_certificate(certificate: str | None, private_key: str | None) -> None:
    if certificate is None:
        return
    try:
        # With a password nobody is asked for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, private_key, password="")
    except OSError as error:
        raise InputError(
            f"{certificate} and {private_key} can't be used ({getattr(error, 'reason', None) or error.strerror}): give "
            "a certificate and its own key as PEM, without a password"
        ) from error


def settings_of(**given: Any) -> "Settings":  # noqa: ANN401 - checked by Settings
    """The settings of a service, on a machine that has what a service needs."""
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


def _first_token(settings: "Settings") -> None:
    """Make the database ready, and print a token if nobody has one yet."""
    import time

    from neologue.ledger.ledger import Ledger
    from neologue.service.ops.access import OPERATOR, audit, new_token, people
    from neologue.service.storage.database import open_database
    from neologue.service.storage.migrations import migrate

    if settings.ledger:
        Ledger(settings.ledger).populations()
    database = open_database(settings.database)
    migrate(database)
    token = None
    with database.transaction() as db:
        if not people(db):
            token = new_token(db, "first", OPERATOR, time.time())
            audit(db, "first", "make operator token", "first", time.time())
    if token:
        click.echo(f"operator token, shown this once: {token}", err=True)
    database.close()
