"""`neologue sandbox`: a live campaign to try out: a service, simulated people and pages, all temporary."""

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

from neologue.cli.devices.fleet import OVER, check_epsilon_acceptable, issue_credentials, layer_summary
from neologue.cli.devices.sandbox_word import PEOPLE, WordTrials
from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.live.serve import check_address, read_settings
from neologue.cli.privacy_option import pilot_line
from neologue.cli.service_client import ServiceClient
from neologue.cli.shared_options import LANGUAGE
from neologue.errors import InputError

if TYPE_CHECKING:
    from neologue.fleet.trickle import Trickle
    from neologue.service.ops.settings import Settings
    from neologue.web.sandbox_page import SandboxPages

HOST = "127.0.0.1"
CAMPAIGN, YOURS = "sandbox", "your-browser"
COMPANIONS = 700
"""How many simulated devices take part in the campaign of the person's browser."""
BROWSER_EPSILON = 6.0
"""The most in that campaign: its last layers have few candidates, which hide a person's word only with much noise."""
COMPANION_SECONDS = 2.0
"""The time between two of them."""
DAY = 86_400.0
SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 3
CANDIDATES = 1 << 20
FEWEST_DEVICES = 300
"""With fewer there would not be two layers of a hundred devices."""
RESERVE = 0.2
"""The share of the devices that no layer relies on: they are drawn by lot, and a layer that lacks a few waits long."""
DEPTH = 10
"""More candidates or longer words would find hardly more and take several times as long."""
LAYERS = 3
"""Enough to watch, and few enough that each has many devices."""


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue sandbox --devices 6000", "more people: more words are found, and it takes longer"),
        ("neologue sandbox --no-open --port 8080", "on a machine without a screen"),
    ),
)
@click.option(
    "--devices",
    type=click.IntRange(FEWEST_DEVICES),
    default=3000,
    show_default=True,
    help="The number of simulated people.",
)
@LANGUAGE
@click.option("--epsilon", type=float, default=10.0, show_default=True, help="The local ε of a word.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port  [default: any free one]")
@click.option("--no-open", is_flag=True, help="Print the link, but do not open a browser.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="Processes of the devices.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the people only.")
def sandbox(port: int, no_open: bool, **options: Any) -> None:  # noqa: ANN401
    """Watch words being discovered, and join with your own browser.

    Starts a service on this machine, a campaign and thousands of real clients of simulated people, and opens a page
    that shows what they find. It runs until Ctrl-C and leaves nothing behind.
    """
    from neologue.language.builtin import alphabet

    check_epsilon_acceptable(options["epsilon"])
    alphabet(options["language"])
    check_address(HOST, port)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neologue-sandbox-")))
            settings = read_settings(database=str(folder / "neologue.db"), requests_per_second=1e6)
            page = _make_page(settings)
            server = stack.enter_context(_serve(settings, page, port))
            service = ServiceClient(server, page.token)
            for definition in _campaigns(**options):
                service.request_json("POST", "campaigns", body=definition)
                service.request_json("POST", "campaigns", definition["name"], "start")
            many, _ = _campaigns(**{**options, "devices": PEOPLE})
            trials = WordTrials(server, service, many, options["language"])
            stack.enter_context(trials.running())
            page.try_word = trials.try_word
            link = f"{server}{page.path}"
            click.echo(f"A sandbox runs until you press Ctrl-C. This link signs you in, once:\n\n  {link}\n")
            click.echo(pilot_line(options["epsilon"]), err=True)
            if not no_open:
                _open_browser(link)
            _run(stack, folder, server, service, options)
            while True:
                time.sleep(DAY)
    except KeyboardInterrupt:
        click.echo("The sandbox is gone.", err=True)


def _run(stack: ExitStack, folder: Path, server: str, service: ServiceClient, options: dict[str, Any]) -> None:
    """Run all simulated devices until the large campaign is over; the companions of the browser go on."""
    from neologue.fleet.fleet import Squad, Weather, draw_users, run, simulated_policy
    from neologue.fleet.trickle import Trickle
    from neologue.populations.population import Population

    devices: int = options["devices"]
    people = Population.embedded(options["language"], devices + COMPANIONS, seed=options["seed"])
    policy = simulated_policy(bytes.fromhex(service.request_json("GET", "key")["operator"]))
    theirs = draw_users(people, devices, devices + COMPANIONS)
    squad = Squad(
        server, policy, issue_credentials(service, YOURS, COMPANIONS), theirs, people.words, Weather(), options["seed"]
    )
    stack.enter_context(_run_companions(Trickle(squad, folder / "companions")))
    began = time.monotonic()
    seen: list[dict[str, Any]] = []

    def over() -> bool:
        state: str = service.request_json("GET", "campaigns", CAMPAIGN)["state"]
        layers = service.request_json("GET", "campaigns", CAMPAIGN, "layers")
        for layer in layers[len(seen) :]:
            if layer["state"] == "decided":
                seen.append(layer)
                click.echo(layer_summary(layer))
        return state in OVER

    run(
        people,
        issue_credentials(service, CAMPAIGN, devices),
        server,
        policy,
        Weather(),
        processes=options["processes"],
        seed=options["seed"],
        over=over,
    )
    while not over():
        time.sleep(0.5)
    found = len(service.request_json("GET", "campaigns", CAMPAIGN, "words"))
    click.echo(f"{found:,} words are released, after {time.monotonic() - began:,.0f} seconds.")


def _campaigns(devices: int, language: str, epsilon: float, **_: Any) -> tuple[dict[str, Any], ...]:  # noqa: ANN401
    """The definitions of the large campaign and of the one that waits for the person's browser."""
    many = {
        "name": CAMPAIGN,
        "devices": devices,
        "rehearsal": True,
        "language": language,
        "parameters": {"epsilon": epsilon, "depth": DEPTH, "layers": _layers(devices), "candidates": CANDIDATES},
        "reserve": RESERVE,
        "layer_seconds": 600.0,
        "check_in_seconds": 1,
        # Simulated people answer at once; the person may take their time.
        "answer_seconds": 5.0,
        "batch": 20,
        # Its people are made up.
        "accept_weak_privacy": True,
    }
    yours = {
        "name": YOURS,
        "devices": COMPANIONS,
        "parameters": {
            "epsilon": min(epsilon, BROWSER_EPSILON),
            "depth": DEPTH,
            "layers": _layers(COMPANIONS),
            "candidates": CANDIDATES >> 3,
        },
        "layer_seconds": DAY,
        "answer_seconds": 300.0,
        # The browser's report is counted together with the next companion's.
        "batch": 2,
    }
    return many, {**many, **yours}


def _layers(devices: int) -> int:
    """How many layers: some of the devices are in reserve, and each layer needs at least a hundred."""
    return max(1, min(LAYERS, int(devices * (1 - RESERVE)) // 100))


def _make_page(settings: "Settings") -> "SandboxPages":
    """Prepare a new database with one operator, the person, and the page that signs them in."""
    from neologue.service.ops.access import OPERATOR, new_token
    from neologue.service.storage.database_address import open_database
    from neologue.service.storage.migrations import migrate
    from neologue.web.sandbox_page import SandboxPages

    database = open_database(settings.database)
    migrate(database)
    now = time.time()
    with database.transaction() as db:
        token = new_token(db, "you", OPERATOR, now)
    database.close()
    return SandboxPages(token=token, campaign=CAMPAIGN, browser_campaign=YOURS, opened=now)


@contextmanager
def _serve(settings: "Settings", page: "SandboxPages", port: int) -> Iterator[str]:
    """Run the service with its pages in a thread; yields its address."""
    import logging

    import uvicorn

    from neologue.service.http_server import server_options
    from neologue.service.ops.logs import configure
    from neologue.service.worker import Worker
    from neologue.web.dashboard import ERROR_PAGES, routes

    configure()
    logging.getLogger().setLevel(logging.WARNING)
    service = Worker(settings, more=lambda service: [*routes(service), *page.routes(service)], handlers=ERROR_PAGES)
    config = uvicorn.Config(service, host=HOST, port=port, **server_options(settings, SECONDS_TO_STOP))
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
def _run_companions(companions: "Trickle") -> Iterator[None]:
    """Run the browser's companions in a thread."""
    ended = threading.Event()
    thread = threading.Thread(target=companions.accompany, args=(COMPANION_SECONDS, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _open_browser(link: str) -> None:
    """Open the page in a graphical browser, if there is one: a text browser would take over this terminal."""
    import webbrowser

    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(link)
