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
from collections.abc import Awaitable, Callable, Iterator
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
    """Processes that work for the server, with their children …"""
    without: tuple[int, ...]
    """… but for these, which measure."""
    connections: int
    addresses: int
    """From how many addresses of this machine they come: a service allows each only so many."""
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
        if self.over:
            return None
        self.sending += 1
        return next(self._bodies)

    @property
    def over(self) -> bool:
        """Whether enough reports are final."""
        return self.final >= self._wanted

    def on_answer(self, final: bool) -> None:
        """Count an answer to a report that is not sent again."""
        self.sending -= 1
        if final:
            self.final += 1
            self.last = time.perf_counter()
        if not self.sending and self.over and not self.done.done():
            self.done.set_result(None)


class Device(asyncio.Protocol):
    """One connection, which sends the next report when the last one is final.

    A service that asks for the same bytes again closes the connection: they go over another one.
    """

    transport: asyncio.Transport

    def __init__(self, senders: Senders, connect: Callable[[asyncio.Protocol], Awaitable[object]]) -> None:
        self._crowd, self._connect = senders, connect
        self._heard = b""
        self._request: list[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport is one in all but name
        if self._request is not None:
            self.transport.writelines(self._request)

    def connection_lost(self, error: Exception | None) -> None:
        self._heard = b""
        if self._request is not None:
            if self._crowd.over:
                self._request = None
                self._crowd.on_answer(final=False)
            else:
                self._reconnecting = asyncio.ensure_future(self._connect(self))

    def send(self) -> None:
        self._request = self._crowd.next()
        if self._request is not None:
            self.transport.writelines(self._request)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, ended, body = self._heard.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not (ended and length and len(body) == int(length[1])):
            return
        status, self._heard = head[9:12], b""
        if status == b"200":
            self._request = None
            self._crowd.on_answer(final=True)
            self.send()
        elif status != b"202":
            raise RuntimeError(f"a report was answered with {status.decode()}")


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


def with_children(*processes: int) -> list[psutil.Process]:
    """Processes and all that they have started: the workers of a service, the connections of a database."""
    return [each for one in map(psutil.Process, processes) for each in (one, *one.children(recursive=True))]


def cpu_seconds(*processes: psutil.Process) -> float:
    """The CPU time of processes so far, of all their threads."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def send(round_: Round) -> dict[str, float]:
    """Run a round."""
    loop, senders = asyncio.get_running_loop(), Senders(round_)
    devices = []
    for number in range(round_.connections):
        address = (f"127.0.0.{1 + number % round_.addresses}", 0)

        def connect(device: asyncio.Protocol, address: tuple[str, int] = address) -> Awaitable[object]:
            return loop.create_connection(lambda: device, "127.0.0.1", round_.port, local_addr=address)

        devices.append(Device(senders, connect))
        await connect(devices[-1])
    servers = with_children(round_.server)
    others = [each for each in with_children(*round_.others) if each.pid not in round_.without]
    began, before, before_others = time.perf_counter(), cpu_seconds(*servers), cpu_seconds(*others)
    for device in devices:
        device.send()
    await senders.done
    figures = {
        "final": senders.final,
        "elapsed": senders.last - began,
        "cpu": cpu_seconds(*servers) - before,
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
