"""`neologue sandbox`: a live campaign to look at, with a service, people and pages that are gone afterwards."""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.choices import completes, languages
from neologue.cli.fleet import OVER, issued, require_willing, told
from neologue.cli.remote import Remote
from neologue.cli.serve import check_address, settings_of
from neologue.errors import InputError

if TYPE_CHECKING:
    from neologue.fleet.trickle import Trickle
    from neologue.service.ops.settings import Settings
    from neologue.web.sandbox_page import Sandbox

HOST = "127.0.0.1"
CAMPAIGN, YOURS = "sandbox", "your-browser"
COMPANIONS = 700
"""How many devices keep the person's browser company."""
EVERY = 2.0
"""After how many seconds one more of them takes part."""
DAY = 86_400.0
SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 3
CANDIDATES = 1 << 20
SMALLEST = 300
"""The fewest people with whom there are two layers of a hundred at least."""
DEPTH = 10
"""With more candidates and longer words hardly more would be found, in several times the time."""


@click.command()
@click.option(
    "--devices",
    type=click.IntRange(SMALLEST),
    default=3000,
    show_default=True,
    help="How many simulated people there are.",
)
@click.option(
    "--language", default="en", show_default=True, shell_complete=completes(languages), help="What they write."
)
@click.option("--epsilon", type=float, default=10.0, show_default=True, help="The local ε of a word.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port  [default: any that is free]")
@click.option("--no-open", is_flag=True, help="Print the link, and open no browser.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many run the devices.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the people alone.")
def sandbox(port: int, no_open: bool, **options: Any) -> None:  # noqa: ANN401
    """Progress words being discovered, and join with your own browser.

    Starts a service on this machine, a campaign and thousands of real clients of simulated people, and opens a page
    that shows what they find. It runs until Ctrl-C and leaves nothing behind.
    """
    from neologue.language.builtin import alphabet

    require_willing(options["epsilon"])
    alphabet(options["language"])
    check_address(HOST, port)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neologue-sandbox-")))
            settings = settings_of(database=str(folder / "neologue.db"), requests_per_second=1e6)
            page = _page(settings)
            server = stack.enter_context(_served(settings, page, port))
            remote = Remote(server, page.token)
            for definition in _campaigns(**options):
                remote.ask("POST", "campaigns", body=definition)
                remote.ask("POST", "campaigns", definition["name"], "start")
            link = f"{server}{page.path}"
            click.echo(f"A sandbox runs until you press Ctrl-C. This link signs you in, once:\n\n  {link}\n")
            if not no_open:
                _open(link)
            _run(stack, folder, server, remote, options)
            while True:
                time.sleep(DAY)
    except KeyboardInterrupt:
        click.echo("The sandbox is gone.", err=True)


def _run(stack: ExitStack, folder: Path, server: str, remote: Remote, options: dict[str, Any]) -> None:
    """Let all devices take part, until the campaign of the many is over; the others go on."""
    from neologue.device.policy import Policy
    from neologue.fleet.fleet import Squad, Weather, draw_users, run
    from neologue.fleet.trickle import Trickle
    from neologue.populations.population import Population

    devices: int = options["devices"]
    people = Population.embedded(options["language"], devices + COMPANIONS, seed=options["seed"])
    policy = Policy(operators=frozenset({bytes.fromhex(remote.ask("GET", "key")["operator"])}))
    theirs = draw_users(people, devices, devices + COMPANIONS)
    squad = Squad(server, policy, issued(remote, YOURS, COMPANIONS), theirs, people.words, Weather(), options["seed"])
    stack.enter_context(_accompanied(Trickle(squad, folder / "companions")))
    began = time.monotonic()
    seen: list[dict[str, Any]] = []

    def over() -> bool:
        state: str = remote.ask("GET", "campaigns", CAMPAIGN)["state"]
        layers = remote.ask("GET", "campaigns", CAMPAIGN, "layers")
        for layer in layers[len(seen) :]:
            if layer["state"] == "decided":
                seen.append(layer)
                click.echo(told(layer))
        return state in OVER

    run(
        people,
        issued(remote, CAMPAIGN, devices),
        server,
        policy,
        Weather(),
        processes=options["processes"],
        seed=options["seed"],
        over=over,
    )
    while not over():
        time.sleep(0.5)
    found = len(remote.ask("GET", "campaigns", CAMPAIGN, "words"))
    click.echo(f"{found:,} words are released, after {time.monotonic() - began:,.0f} seconds.")


def _campaigns(devices: int, language: str, epsilon: float, **_: Any) -> tuple[dict[str, Any], ...]:  # noqa: ANN401
    """The campaign of the many, and one that waits for the person's browser."""
    many = {
        "name": CAMPAIGN,
        "devices": devices,
        "language": language,
        "parameters": {"epsilon": epsilon, "depth": _depth(devices), "candidates": CANDIDATES},
        "layer_seconds": 600.0,
        "check_in_seconds": 1,
        "batch": 20,
    }
    yours = {
        "name": YOURS,
        "devices": COMPANIONS,
        "parameters": {"epsilon": epsilon, "depth": _depth(COMPANIONS), "candidates": CANDIDATES >> 3},
        "layer_seconds": DAY,
        # The browser's report is counted when the next companion's is there.
        "batch": 2,
    }
    return many, {**many, **yours}


def _depth(devices: int) -> int:
    """How long words may be: a tenth of the devices is in reserve, and each layer asks a hundred at least."""
    return max(1, min(DEPTH, devices * 9 // 1000))


def _page(settings: "Settings") -> "Sandbox":
    """The page of the sandbox, whose reader is an operator of a new database."""
    from neologue.service.ops.access import OPERATOR, new_token
    from neologue.service.storage.database import open_database
    from neologue.service.storage.migrations import migrate
    from neologue.web.sandbox_page import Sandbox

    database = open_database(settings.database)
    migrate(database)
    now = time.time()
    with database.transaction() as db:
        token = new_token(db, "you", OPERATOR, now)
    database.close()
    return Sandbox(token=token, campaign=CAMPAIGN, yours=YOURS, opened=now)


@contextmanager
def _served(settings: "Settings", page: "Sandbox", port: int) -> Iterator[str]:
    """The service with its pages, in a thread of this process; where it listens."""
    import logging

    import uvicorn

    from neologue.service.ops.logs import configure
    from neologue.service.worker import Worker
    from neologue.web.dashboard import routes

    configure()
    logging.getLogger().setLevel(logging.WARNING)
    service = Worker(settings, more=lambda service: [*routes(service), *page.routes(service)])
    config = uvicorn.Config(
        service,
        host=HOST,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_STOP,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise InputError(f"the service did not start on {HOST}, port {port}: give another --port")
            time.sleep(0.01)
        yield f"http://{HOST}:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        service.stopping = server.should_exit = True
        thread.join()


@contextmanager
def _accompanied(companions: "Trickle") -> Iterator[None]:
    """Companions in a thread of their own, until the end."""
    ended = threading.Event()
    thread = threading.Thread(target=companions.accompany, args=(EVERY, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _open(link: str) -> None:
    """Show the page, where there is something to show it on: a browser for terminals would take over this one."""
    import webbrowser

    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(link)
