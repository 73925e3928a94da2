"""Devices that send reports over HTTP as fast as they are answered: a process that is asked for one round at a time.

Each line that it reads is a round to do, each line that it writes says what it took. How busy the server was is taken
here as well, from when all are connected until the last answer.
"""

import asyncio
import itertools
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
    """What is to be sent, and to whom."""

    port: int
    server: int
    """Its process, which alone is held to account."""
    others: tuple[int, ...]
    """Processes that work for it, with all that they have started."""
    connections: int
    reports: int
    """How many are to be final."""
    folder: str
    """Where the bytes of reports are, to be sent again and again by one device after the other."""
    campaign: str
    digest: str
    secret: str


class Crowd:
    """All who send, and how far they have come."""

    def __init__(self, round_: Round) -> None:
        self._wanted = round_.reports
        self._bodies = bodies(round_)
        self.final = 0
        self.sending = 0
        self.last = 0.0
        """When the last one was told that its report is final."""
        self.done = asyncio.get_running_loop().create_future()

    def next(self) -> list[bytes] | None:
        """The next request, unless enough are final."""
        if self.final >= self._wanted:
            return None
        self.sending += 1
        return next(self._bodies)

    def answered(self, status: bytes) -> None:
        """One was answered; who was told to ask again does so no more once enough are final."""
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

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._heard = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # which uvloop's is in all but name

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
            self._crowd.answered(head[9:12])
            self.send()


def bodies(round_: Round) -> Iterator[list[bytes]]:
    """Requests without end, each of a device that was never heard of before."""
    campaign, digest, secret = map(bytes.fromhex, (round_.campaign, round_.digest, round_.secret))
    reports = [path.read_bytes() for path in sorted(Path(round_.folder).iterdir())]
    length = len(campaign) + 2 * SERIAL_BYTES + len(reports[0])
    head = (
        f"POST /v1/reports HTTP/1.1\r\nhost: 127.0.0.1:{round_.port}\r\ncontent-type: application/octet-stream\r\n"
        f"content-length: {length}\r\n\r\n"
    ).encode()
    for report in itertools.cycle(reports):
        serial = os.urandom(SERIAL_BYTES)
        yield [head, campaign, serial, ticket(secret, campaign, digest, serial), report]


def cpu_seconds(*processes: psutil.Process) -> float:
    """The CPU time of processes so far, of all their threads."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def send(round_: Round) -> dict[str, float]:
    """Do a round."""
    loop, crowd = asyncio.get_running_loop(), Crowd(round_)
    devices = [
        (await loop.create_connection(lambda: Device(crowd), "127.0.0.1", round_.port))[1]
        for _ in range(round_.connections)
    ]
    server = psutil.Process(round_.server)
    others = [each for other in map(psutil.Process, round_.others) for each in (other, *other.children(recursive=True))]
    began, before, before_others = time.perf_counter(), cpu_seconds(server), cpu_seconds(*others)
    for device in devices:
        device.send()
    await crowd.done
    told = {
        "final": crowd.final,
        "elapsed": crowd.last - began,
        "cpu": cpu_seconds(server) - before,
        "others": cpu_seconds(*(other for other in others if other.is_running())) - before_others,
    }
    for device in devices:
        device.transport.close()
    return told


def main() -> None:
    """Do rounds until nobody asks for more."""
    for line in sys.stdin:
        print(json.dumps(uvloop.run(send(Round(**json.loads(line))))), flush=True)


if __name__ == "__main__":
    main()
