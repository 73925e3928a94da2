"""The 99th percentile of an honest check-in while strangers send hostile requests, against the same alone; and memory.

python -m benchmarks.strangers                  10,000 requests of each kind, 1,000 a second; several minutes
python -m benchmarks.strangers --requests 500   a short run

Honest devices and strangers have two addresses of loopback, and share the machine with the service. Each kind of attack
is measured between two spells without one, so that a busy machine slows both alike.
"""

import argparse
import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.device import layer_of
from benchmarks.ingest import _campaign, _free_port, _start_server
from benchmarks.setting import QUICK
from neologue.protocol.credential import issue
from neologue.randomizers.unary import Unary
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database import open_database

GOAL = 2.0
"""How many times as long as without an attack the 99th percentile may be."""
RATE = 1000
"""Hostile requests in a second."""
MOST_AT_ONCE = 800
HOLD = 0.5
"""For how many seconds a stranger keeps a connection that the service does not close."""
PAUSE = 0.004
"""Seconds between two honest check-ins."""
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
    campaign, _ = _campaign(url, layer_of(Unary.name, QUICK.unary_epsilon, QUICK))
    database = open_database(url)
    with database.transaction() as db:
        row = (digest, zlib.compress(bytes(DOCUMENT_BYTES)))
        db.execute("INSERT INTO known (digest, words) VALUES (?, ?)", row)
    body = json.dumps({"credential": issue(campaign, load_keys(database).issuer).text}).encode()
    database.close()
    port = _free_port()
    command = ("neologue", "serve", "--database", url, "--port", str(port))
    with _start_server(command, f"http://127.0.0.1:{port}/readyz") as server:
        yield port, psutil.Process(server), body, digest.hex()


def measure(requests: int, kinds: list[str]) -> None:
    """Measure all kinds one after the other, and print a line for each."""
    with TemporaryDirectory() as name, _service(Path(name)) as (port, server, body, document):
        honest = Honest(port, body)
        alone_for = max(200, requests // 10)
        honest.latencies(lambda done: done < 200)  # warms up
        before = honest.latencies(lambda done: done < alone_for)
        print(f"{requests:,} requests of each kind, {RATE:,} a second; load {os.getloadavg()[0]:.1f}")
        print(f"{'':22}{'alone p99':>12}{'attacked p99':>14}{'ratio':>8}{'memory':>10}")
        print(f"{'':22}{'':34}{server.memory_info().rss / 1e6:>8.0f}MB")
        for kind in kinds or list(attacks("")):
            command = [sys.executable, "-m", "benchmarks.strangers", "--port", str(port), "--document", document]
            with subprocess.Popen([*command, "--requests", str(requests), "--kind", kind]) as strangers:
                memory: list[int] = []

                def goes_on(
                    done: int, strangers: "subprocess.Popen[bytes]" = strangers, held: list[int] = memory
                ) -> bool:
                    if done % 50 == 0:
                        held.append(server.memory_info().rss)
                    return done < 200 or strangers.poll() is None

                attacked = _p99(honest.latencies(goes_on))
            after = honest.latencies(lambda done: done < alone_for)
            alone, before = _p99(before + after), after
            print(
                f"{kind:22}{1e3 * alone:>10.2f}ms{1e3 * attacked:>12.2f}ms{attacked / alone:>8.2f}"
                f"{max(memory) / 1e6:>8.0f}MB",
                flush=True,
            )
        print(f"goal: a ratio of at most {GOAL:g}; load {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Measure; or attack, in the process of the strangers."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.strangers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000, help="hostile requests of each kind (%(default)s)")
    parser.add_argument("--kind", action="append", default=[], help="this kind, and others given likewise")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--document", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.port is None:
        measure(options.requests, options.kind)
    else:
        asyncio.run(attack(options.port, options.kind[0], options.document, options.requests))


if __name__ == "__main__":
    main()
