"""The 99th percentile of an honest check-in while strangers send hostile requests, and without them; and memory.

python -m benchmarks.strangers                  10,000 requests of each kind, 1,000 a second: about 7 minutes
python -m benchmarks.strangers --kind scanner   this kind alone; `--kind` can be given again
python -m benchmarks.strangers --requests 1000  a short run

Honest devices and strangers have two addresses of loopback, and share the machine with the service. Each kind has
rounds of three spells, in another order each time, so that whatever else the machine does slows all three alike: the
honest device *alone*; *beside* strangers who send the same to a server that throws it away, which costs the machine
what the strangers themselves cost; and *attacked*. Real strangers bring their own machine, so attacked over beside is
what the service itself adds: that is the ratio with a goal. Each round has a ratio of its own, and their median stands
beside the ratio of all, because a burst of other work spoils one round. *cost* is the CPU time of the service for a
hostile request, in honest check-ins, and *noise* that for a check-in beside strangers over one alone. Both are counted
for the service alone, and *noise* is 1 on a quiet machine: what else is measured is disturbed where it is far from it.
*memory* is that of the service before, after the first round, and at most. It is flat if the last is no more than the
second, as the first round has as many connections at once as the others.

The rows of docs/benchmarks.md are printed as they are measured; Ctrl-C ends it, and keeps those that are there.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import psutil

from benchmarks.device import layer_of
from benchmarks.ingest import _free_port, new_campaign, start_server
from benchmarks.setting import QUICK
from neologue.protocol.credential import issue
from neologue.randomizers.unary import Unary
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database_address import open_database

GOAL = 2.0
"""How many times as long as without an attack the 99th percentile may be."""
RATE = 1000
"""Hostile requests in a second."""
MOST_AT_ONCE = 800
HOLD = 0.5
"""For how many seconds a stranger keeps a connection that the service does not close."""
PAUSE = 0.004
"""Seconds between two honest check-ins."""
ROUNDS = 5
FEWEST = 20
"""Check-ins of a spell, however short the attack."""
WARM_UP = 200
DOCUMENT_BYTES = 8 << 20
STRANGER = "127.0.0.2"

Attack = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _request(line: str, body: bytes = b"", length: int | None = None, origin: str = "") -> bytes:
    told = {"Host": "here", "Connection": "close", **({"Origin": origin} if origin else {})}
    if body or length is not None:
        told["Content-Length"] = str(len(body) if length is None else length)
    lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def _asking(request: bytes) -> Attack:
    """Sends a request, and reads what comes."""

    async def attack(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request)
        await reader.read()

    return attack


def _holding(request: bytes) -> Attack:
    """Sends something, and neither goes on nor reads nor closes."""

    async def attack(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request)
        await asyncio.sleep(HOLD)

    return attack


async def _endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends a header without an end, for a megabyte."""
    writer.write(b"GET / HTTP/1.1\r\nA: ")
    for _ in range(16):
        writer.write(b"a" * (1 << 16))
        await writer.drain()


def attacks(document: str) -> Mapping[str, Attack]:
    """All kinds of attacks, by name."""
    forged = json.dumps({"credential": 128 * "a"}).encode()
    return {
        "endless header": _endless,
        "silent connection": _holding(b""),
        "half a header": _holding(b"GET / HTTP/1.1\r\nHost:"),
        "half a body": _holding(_request("POST /v1/check-in", b"{", 100)),
        "wrong ticket, 1 MiB": _asking(_request("POST /v1/cohorts", os.urandom(1 << 16), 1 << 20)),
        "answer not read": _holding(_request(f"GET /v1/known/{document}")),
        "description": _asking(_request("GET /openapi.json")),
        "not HTTP": _asking(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"),
        "forged credential": _asking(_request("POST /v1/check-in", forged)),
        "scanner": _asking(_request("GET /wp-login.php")),
        "wrong sign-in": _asking(_request("POST /sign-in", b"token=guess", origin="http://here")),
        "thousands of headers": _asking(b"GET / HTTP/1.1\r\n" + 4000 * b"a:\r\n" + b"\r\n"),
        "thousands of parameters": _asking(_request("GET /sign-in?" + 3000 * "a=1&")),
        "pipelined": _asking(200 * b"GET /readyz HTTP/1.1\r\nHost: here\r\n\r\n"),
    }


async def attack(port: int, kind: str, document: str, requests: int) -> None:
    """Send so many hostile requests of a kind."""
    chosen, room = attacks(document)[kind], asyncio.Semaphore(MOST_AT_ONCE)

    async def one() -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024, local_addr=(STRANGER, 0))
                try:
                    await chosen(reader, writer)
                finally:
                    writer.transport.abort()
        room.release()

    began, tasks = time.monotonic(), set()
    for number in range(requests):
        await asyncio.sleep(max(0.0, began + number / RATE - time.monotonic()))
        await room.acquire()
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


async def _throw_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What the other server does with a connection."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(2 * HOLD):
            await reader.read(1 << 16)
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
    writer.transport.abort()


async def throw_away(port: int) -> None:
    """Serve strangers who attack nobody."""
    async with await asyncio.start_server(_throw_away, "127.0.0.1", port, backlog=1024) as server:
        await server.serve_forever()


class Strangers:
    """A process that attacks when it is told to, and a server that takes what is not meant for the service."""

    def __init__(self, document: str) -> None:
        self.elsewhere = _free_port()
        module = [sys.executable, "-m", "benchmarks.strangers"]
        # Sessions of their own: whoever interrupts the measurement from a terminal interrupts this process alone.
        self._sink = subprocess.Popen([*module, "--throw-away", str(self.elsewhere)], start_new_session=True)
        self._process = subprocess.Popen(
            [*module, "--document", document],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        while socket.socket().connect_ex(("127.0.0.1", self.elsewhere)):
            time.sleep(0.05)
        self.begin(self.elsewhere, "scanner", 1)()

    def begin(self, port: int, kind: str, requests: int) -> Callable[[], bool]:
        """Begin an attack; what is returned says whether it goes on."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{port} {requests} {kind}\n")
        self._process.stdin.flush()
        over = threading.Event()

        def wait(heard: IO[str] = self._process.stdout) -> None:
            heard.readline()
            over.set()

        threading.Thread(target=wait).start()
        return lambda: not over.is_set()

    def end(self) -> None:
        """End both."""
        for process in (self._process, self._sink):
            process.terminate()
            process.wait()


def obey(document: str) -> None:
    """Attack as the standard input says, line by line."""
    for line in sys.stdin:
        port, requests, kind = line.strip().split(" ", 2)
        asyncio.run(attack(int(port), kind, document, int(requests)))
        print("done", flush=True)


@dataclass(frozen=True)
class Honest:
    """An honest device that checks in again and again."""

    port: int
    body: bytes

    def latencies(self, goes_on: Callable[[int], bool]) -> list[float]:
        """The seconds of each check-in, as long as `goes_on` says so of how many there were."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        seconds: list[float] = []
        while goes_on(len(seconds)):
            began = time.perf_counter()
            line.request("POST", "/v1/check-in", self.body)
            reply = line.getresponse()
            reply.read()
            seconds.append(time.perf_counter() - began)
            assert reply.status == 200, reply.status
            time.sleep(PAUSE)
        line.close()
        return seconds


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


@contextmanager
def _service(folder: Path) -> Iterator[tuple[int, psutil.Process, bytes, str]]:
    """A service with an open layer and a large document: its port, its process, an honest check-in, the document."""
    url, digest = f"sqlite:///{folder}/service.db", os.urandom(32)
    campaign, _ = new_campaign(url, layer_of(Unary.name, QUICK.unary_epsilon, QUICK))
    database = open_database(url)
    with database.transaction() as db:
        row = (digest, zlib.compress(bytes(DOCUMENT_BYTES)))
        db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", row)
    body = json.dumps({"credential": issue(campaign, load_keys(database).issuer).text}).encode()
    database.close()
    port = _free_port()
    command = ("neologue", "serve", "--database", url, "--port", str(port))
    with start_server(command, f"http://127.0.0.1:{port}/readyz") as server:
        yield port, psutil.Process(server), body, digest.hex()


@dataclass
class Spells:
    """The check-ins of one kind of attack, by what went on meanwhile, and the memory of the service."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)
    """Attacked over beside, of each round."""
    memory: list[int] = field(default_factory=list)
    cpu_alone: float = 0.0
    """CPU seconds of the service during the spells alone."""
    cpu_beside: float = 0.0
    cpu_attacked: float = 0.0

    def cost(self, requests: int) -> float:
        """The CPU time of the service for a hostile request, in honest check-ins, however busy the machine is."""
        check_in = self.cpu_alone / len(self.alone)
        return (self.cpu_attacked / check_in - len(self.attacked)) / requests

    @property
    def slowed(self) -> float:
        """How many times the CPU time of a check-in alone one takes beside strangers who ask somebody else.

        It is 1 if the machine is quiet; by how much it differs, the machine disturbs what else is measured here.
        """
        return (self.cpu_beside / len(self.beside)) / (self.cpu_alone / len(self.alone))


def _measure_kind(
    kind: str, requests: int, honest: Honest, strangers: Strangers, server: psutil.Process, port: int
) -> Spells:
    """Rounds of three spells, each time in another order."""
    spells, each = Spells(), max(1, requests // ROUNDS)

    def alone() -> None:
        most = max(50, int(each / RATE / PAUSE / 2))
        began = _cpu(server)
        spells.alone += honest.latencies(lambda done: done < most)
        spells.cpu_alone += _cpu(server) - began

    def beside() -> None:
        began = _cpu(server)
        spells.beside += honest.latencies(_while(strangers.begin(strangers.elsewhere, kind, each)))
        spells.cpu_beside += _cpu(server) - began

    def attacked() -> None:
        began = _cpu(server)
        spells.attacked += honest.latencies(_while(strangers.begin(port, kind, each)))
        spells.cpu_attacked += _cpu(server) - began
        spells.memory.append(server.memory_info().rss)

    for number in range(ROUNDS):
        turns = (alone, beside, attacked)
        before = len(spells.beside), len(spells.attacked)
        for turn in turns[number % 3 :] + turns[: number % 3]:
            turn()
        spells.rounds.append(_p99(spells.attacked[before[1] :]) / _p99(spells.beside[before[0] :]))
    return spells


def _cpu(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def _while(goes_on: Callable[[], bool]) -> Callable[[int], bool]:
    return lambda done: done < FEWEST or goes_on()


COLUMNS = ("hostile requests", "alone", "beside", "attacked", "/ beside", "median", "cost", "noise", "memory")
"""Those of the table in docs/benchmarks.md."""


def measure(requests: int, kinds: list[str]) -> None:
    """Measure all kinds one after the other, and print a row for each; what is printed stays if it is interrupted."""
    with TemporaryDirectory() as name, _service(Path(name)) as (port, server, body, document):
        honest, strangers = Honest(port, body), Strangers(document)
        try:
            honest.latencies(lambda done: done < WARM_UP)
            # Each kind once, in small: what is made once is there, and memory is that of a service that has seen all.
            for kind in kinds or list(attacks("")):
                honest.latencies(_while(strangers.begin(port, kind, WARM_UP)))
            print(f"{requests:,} requests of each kind, {RATE:,} a second, {ROUNDS} rounds; load {_load()}\n")
            print(_row(COLUMNS), _row(["---"] * len(COLUMNS)), sep="\n", flush=True)
            for kind in kinds or list(attacks("")):
                before = server.memory_info().rss
                spells = _measure_kind(kind, requests, honest, strangers, server, port)
                print(_row(_figures(kind, spells, requests, before)), flush=True)
        except KeyboardInterrupt:
            print("\ninterrupted: the kinds above are complete")
        finally:
            strangers.end()
            print(f"\ngoal: / beside and median at most {GOAL:g}, memory x 1; quiet if noise is near 1; load {_load()}")


def _figures(kind: str, spells: Spells, requests: int, before: int) -> list[str]:
    """The cells of a row."""
    alone, beside, attacked = map(_p99, (spells.alone, spells.beside, spells.attacked))
    first, most = spells.memory[0], max(spells.memory)
    return [
        kind,
        *(f"{1e3 * seconds:.1f} ms" for seconds in (alone, beside, attacked)),
        f"{attacked / beside:.2f}",
        f"{statistics.median(spells.rounds):.2f}",
        f"{spells.cost(requests):.1f}",
        f"{spells.slowed:.2f}",
        f"{before / 1e6:.0f}, then {first / 1e6:.0f} to {most / 1e6:.0f} MB, x {most / first:.2f}",
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure; or attack, in the process of the strangers."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strangers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000, help="hostile requests of each kind (%(default)s)")
    parser.add_argument("--kind", action="append", default=[], help="this kind, and others given likewise")
    parser.add_argument("--throw-away", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--document", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.throw_away:
        asyncio.run(throw_away(options.throw_away))
    elif options.document is not None:
        obey(options.document)
    else:
        measure(options.requests, options.kind)


if __name__ == "__main__":
    main()
