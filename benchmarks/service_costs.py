"""What a service spends on each thing that a device asks of it: the constants of `neologue plan --cost`.

python -m benchmarks.service_costs             some minutes
python -m benchmarks.service_costs --quick     tiny sizes, to see that it works

A worker of `neologue serve` with PostgreSQL answers check-ins of devices that wait and of devices that are invited,
hands out the document of a layer, and takes reports on a million candidates and on as many as a layer has. An echo
takes turns with it, so that every figure is also a ratio of one run. What the database server spends, what it keeps and
what it writes are counted per report. nginx, with the shipped settings of TLS, answers one request on each new
connection. All of it is CPU time of the processes that serve; those that ask are not counted.
"""

import argparse
import http.client
import itertools
import json
import os
import shutil
import ssl
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import psycopg

from benchmarks.device import layer_of
from benchmarks.ingest import TICK, Target, _free_port, echo, postgres, senders, service, write_reports
from benchmarks.senders import cpu_seconds
from benchmarks.setting import FULL, QUICK, Setting
from neologue.protocol.credential import issue
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.unary import Unary
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database_address import open_database

SHIPPED = Path(__file__).parents[1] / "deploy" / "nginx" / "http.conf"
EPSILON = {1_000_000: 5.3, 16_000_000: 7.0}


@dataclass(frozen=True)
class Sizes:
    """How much is asked."""

    requests: int
    rounds: int
    candidates: tuple[int, ...]
    setting: Setting


FULL_SIZES = Sizes(2_000, 3, (1_000_000, 16_000_000), replace(FULL, ingest_reports=6_000, ingest_rounds=3))
QUICK_SIZES = Sizes(20, 2, (10_000,), QUICK)


@dataclass
class Database:
    """What a server of PostgreSQL and its processes spend while others are asked."""

    server: psutil.Process
    costs: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """CPU seconds so far."""
        return cpu_seconds(self.server, *self.server.children(recursive=True))


def per_request(
    server: psutil.Process, count: int, ask: Callable[[int], None], database: Database | None = None
) -> float:
    """Microseconds of a server's CPU time for each of so many requests."""
    before, beside = cpu_seconds(server), database.seconds if database else 0.0
    for number in range(count):
        ask(number)
    if database:
        database.costs.append(1e6 * (database.seconds - beside) / count)
    return 1e6 * max(TICK, cpu_seconds(server) - before) / count


class Line:
    """A connection that stays open, and the bytes that its answers had."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.body = b""

    def close(self) -> None:
        """The next request opens a new connection."""
        self._line.close()

    def ask(self, method: str, path: str, body: bytes | None = None) -> None:
        """Ask, and read the answer."""
        self._line.request(method, path, body, {"Accept-Encoding": "gzip"})
        reply = self._line.getresponse()
        self.body = reply.read()
        assert reply.status < 400 or path == "/echo", (reply.status, self.body[:200])


def _credentials(url: str, campaign: bytes, count: int) -> list[bytes]:
    database = open_database(url)
    issuer = load_keys(database).issuer
    database.close()
    return [json.dumps({"credential": issue(campaign, issuer).text}).encode() for _ in range(count)]


def measure_requests(layer: ExtendingLayer, url: str, server: int, sizes: Sizes) -> Iterator[str]:
    """Check-ins and documents, beside an echo; and what the database spends on those that are invited."""
    figures: dict[str, list[float]] = {"echo": [], "invited": [], "waiting": [], "document": []}
    with echo(layer) as bare, service(url, layer) as target:
        bodies = _credentials(url, bytes.fromhex(target.campaign), sizes.requests * (sizes.rounds + 1))
        database = Database(psutil.Process(server))
        plain, line = Line(bare.port), Line(target.port)
        here, there = psutil.Process(target.server), psutil.Process(bare.server)
        taken = iter(bodies)
        path = f"/v1/layers/{target.digest}"
        works: dict[str, Callable[[], float]] = {
            "echo": lambda: per_request(there, sizes.requests, lambda _: plain.ask("POST", "/echo", bodies[0])),
            "invited": lambda: per_request(
                here, sizes.requests, lambda _: line.ask("POST", "/v1/check-in", next(taken)), database
            ),
            "document": lambda: per_request(here, sizes.requests, lambda _: line.ask("GET", path)),
        }
        for round_ in range(sizes.rounds + 1):
            for name, work in works.items():
                for old in (plain, line):  # what was silent for long is closed by now
                    old.close()
                each = work()
                if round_:  # the first one warms up
                    figures[name].append(each)
        size = len(line.body)
        line.ask("POST", "/v1/check-in", bodies[0])
        yield f"answer of a check-in: {len(line.body):,} bytes, body of the request {len(bodies[0]):,}"
        with psycopg.connect(url, autocommit=True) as connection:  # from now on nobody is invited
            connection.execute("UPDATE layers SET high = low")
        while b"invited" in line.body:
            line.ask("POST", "/v1/check-in", bodies[-1])
            time.sleep(0.1)
        waiting = itertools.cycle(bodies)
        for _ in range(sizes.rounds):
            figures["waiting"].append(
                per_request(here, sizes.requests, lambda _: line.ask("POST", "/v1/check-in", next(waiting)))
            )
    for name, took in figures.items():
        more = f", {size:,} bytes packed" if name == "document" else ""
        if name == "invited":
            more = f", database {min(database.costs):.0f} µs"
        yield f"{name}: {min(took):.0f} µs, {min(took) / min(figures['echo']):.2f} echoes{more}"


def measure_reports(layer: ExtendingLayer, url: str, server: int, sizes: Sizes) -> Iterator[str]:
    """Reports, beside an echo: CPU time of the worker and of the database, and what the database keeps and writes."""
    setting = sizes.setting
    each = setting.ingest_reports + 2 * setting.ingest_connections
    cpu: dict[str, list[float]] = {"echo": [], "report": []}
    others: list[float] = []
    with ExitStack() as stack, TemporaryDirectory() as name:
        folder = Path(name) / "reports"
        length = write_reports(layer, folder, each * (setting.ingest_rounds + 1))
        ask = stack.enter_context(senders())
        targets = {
            "echo": stack.enter_context(echo(layer)),
            "report": stack.enter_context(service(url, layer, (server,))),
        }
        kept, written, final = _kept(url), _written(url), 0

        def round_(what: str, target: Target, number: int) -> None:
            nonlocal final
            took = ask(
                **vars(target),
                connections=setting.ingest_connections,
                reports=setting.ingest_reports,
                folder=str(folder),
                first=number * each,
                addresses=1,
            )
            if what == "report":
                final += took["final"]
            if number:
                cpu[what].append(1e6 * took["cpu"] / took["final"])
                if what == "report":
                    others.append(1e6 * took["others"] / took["final"])

        for number in range(setting.ingest_rounds + 1):
            for what, target in targets.items():
                round_(what, target, number)
        in_order = _kept_in_order(url)
        memory = psutil.Process(targets["report"].server).memory_info().rss
        grown, wal = _kept(url) - kept, _written(url) - written
    bare, report = min(cpu["echo"]), min(cpu["report"])
    yield (
        f"report on {layer.candidates.size:,} candidates, {length:,} bytes: worker {report:.0f} µs, "
        f"{report / bare:.2f} echoes; database {min(others):.0f} µs; keeps {grown / final:.0f} bytes, "
        f"{in_order / final:.0f} once in order, and writes {wal / final:.0f}; worker {memory / 1e6:,.0f} MB"
    )


def _kept(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_total_relation_size('newly_spent')").fetchone()
        assert row
        return int(row[0])


def _kept_in_order(url: str) -> int:
    """What the serials take once their layer is over."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO spent SELECT campaign, serial FROM newly_spent ORDER BY serial")
        row = connection.execute("SELECT pg_total_relation_size('spent')").fetchone()
        assert row
        return int(row[0])


def _written(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')").fetchone()
        assert row
        return int(row[0])


@contextmanager
def proxy(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """nginx with the shipped settings of TLS, which answers by itself; its port and its worker."""
    port, key, certificate = _free_port(), folder / "key.pem", folder / "certificate.pem"
    made = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost")
    subprocess.run(["openssl", *made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; events {{ worker_connections 1024; }}\n"
        f"http {{ include {SHIPPED};\nserver {{ listen 127.0.0.1:{port} ssl; ssl_certificate {certificate};\n"
        f"ssl_certificate_key {key}; location / {{ return 204; }} }} }}\n",
        "utf-8",
    )
    command = [shutil.which("nginx", path="/usr/sbin:/usr/bin") or "nginx", "-e", "stderr", "-p", str(folder)]
    with subprocess.Popen([*command, "-c", str(folder / "nginx.conf")]) as process:
        try:
            main = psutil.Process(process.pid)
            while not main.children():
                time.sleep(0.05)
            yield port, main.children()[0]
        finally:
            process.terminate()


def measure_tls(requests: int, rounds: int) -> Iterator[str]:
    """A new connection with one request, and one more request on it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def one(port: int, requests: int) -> None:
        line = http.client.HTTPSConnection("127.0.0.1", port, context=context)
        for _ in range(requests):
            line.request("POST", "/", b"x" * 150)
            line.getresponse().read()
        line.close()

    with TemporaryDirectory() as name, proxy(Path(name)) as (port, worker):
        new = [per_request(worker, requests, lambda _: one(port, 1)) for _ in range(rounds)]
        more = [per_request(worker, requests // 4, lambda _: one(port, 11)) for _ in range(rounds)]
    another = (statistics.median(more) - statistics.median(new)) / 10
    yield f"nginx: a new connection over TLS with a request {min(new):.0f} µs; one more request on it {another:.0f} µs"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service_costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, measures nothing")
    sizes = QUICK_SIZES if parser.parse_args().quick else FULL_SIZES
    for line in measure_tls(sizes.requests, sizes.rounds):
        print(line, flush=True)
    with postgres() as new_database:
        assert new_database, "there is no PostgreSQL to measure"
        for candidates in sizes.candidates:
            setting = replace(sizes.setting, candidates=candidates)
            layer = layer_of(Unary.name, EPSILON.get(candidates, 5.0), setting)
            if candidates == sizes.candidates[0]:
                for line in measure_requests(layer, *new_database(), sizes):
                    print(line, flush=True)
            for line in measure_reports(layer, *new_database(), sizes):
                print(line, flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
