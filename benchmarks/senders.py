"""Devices that send reports over HTTP as fast as they are answered: a process that is asked for one round at a time.

Each line that it reads is a round to do, each line that it writes says what it took. How busy the server was is taken
here as well, from when all are connected until the last answer.
"""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import psutil
import uvloop

from neologue.protocol.credential import SERIAL_BYTES
from neologue.protocol.ticket import ticket

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Round:
    """What to send, and to which server."""

    port: int
    server: int
    """The server's process, whose CPU time counts."""
    others: tuple[int, ...]
    """Processes that work for the server, with their children."""
    connections: int
    reports: int
    """How many reports must become final."""
    folder: str
    """The folder of the reports, which one device after the other sends …"""
    first: int
    """… from this one on."""
    campaign: str
    digest: str
    secret: str


class Senders:
    """All sending devices, and their progress."""

    def __init__(self, round_: Round) -> None:
        self._wanted = round_.reports
        self._bodies = bodies(round_)
        self.final = 0
        self.sending = 0
        self.last = 0.0
        """When the last report became final."""
        self.done = asyncio.get_running_loop().create_future()

    def next(self) -> list[bytes] | None:
        """The next request, or None once enough reports are final."""
        if self.final >= self._wanted:
            return None
        self.sending += 1
        return next(self._bodies)

    def on_answer(self, status: bytes) -> None:
        """Count an answer; a device that should send again does not once enough reports are final."""
        self.sending -= 1
        if status == b"200":
            self.final += 1
            self.last = time.perf_counter()
        elif status != b"202":
            raise RuntimeError(f"a report was answered with {status.decode()}")
        if not self.sending and self.final >= self._wanted:
            self.done.set_result(None)


class Device(asyncio.Protocol):
    """One connection, which sends the next report when the last one was answered."""

    transport: asyncio.Transport

    def __init__(self, senders: Senders) -> None:
        self._crowd = senders
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport is one in all but name

    def send(self) -> None:
        request = self._crowd.next()
        if request is not None:
            self.transport.writelines(request)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, ended, body = self._heard.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if ended and length and len(body) == int(length[1]):
            self._heard = b""
            self._crowd.on_answer(head[9:12])
            self.send()


def bodies(round_: Round) -> Iterator[list[bytes]]:
    """Requests, each of a new device with a report of its own."""
    campaign, digest, secret = map(bytes.fromhex, (round_.campaign, round_.digest, round_.secret))
    last = round_.first + round_.reports + 2 * round_.connections
    reports = [path.read_bytes() for path in sorted(Path(round_.folder).iterdir())[round_.first : last]]
    length = len(campaign) + 2 * SERIAL_BYTES + len(reports[0])
    head = (
        f"POST /v1/reports HTTP/1.1\r\nhost: 127.0.0.1:{round_.port}\r\ncontent-type: application/octet-stream\r\n"
        f"content-length: {length}\r\n\r\n"
    ).encode()
    for report in reports:
        serial = os.urandom(SERIAL_BYTES)
        yield [head, campaign, serial, ticket(secret, campaign, digest, serial), report]


def cpu_seconds(*processes: psutil.Process) -> float:
    """The CPU time of processes so far, of all their threads."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def send(round_: Round) -> dict[str, float]:
    """Run a round."""
    loop, senders = asyncio.get_running_loop(), Senders(round_)
    devices = [
        (await loop.create_connection(lambda: Device(senders), "127.0.0.1", round_.port))[1]
        for _ in range(round_.connections)
    ]
    server = psutil.Process(round_.server)
    others = [each for other in map(psutil.Process, round_.others) for each in (other, *other.children(recursive=True))]
    began, before, before_others = time.perf_counter(), cpu_seconds(server), cpu_seconds(*others)
    for device in devices:
        device.send()
    await senders.done
    figures = {
        "final": senders.final,
        "elapsed": senders.last - began,
        "cpu": cpu_seconds(server) - before,
        "others": cpu_seconds(*(other for other in others if other.is_running())) - before_others,
    }
    for device in devices:
        device.transport.close()
    return figures


def main() -> None:
    """Run rounds until the input ends."""
    for line in sys.stdin:
        print(json.dumps(uvloop.run(send(Round(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
