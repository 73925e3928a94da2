"""A trickle of real devices that take part one after another, so that a newcomer is never alone in a batch."""

import shutil
import threading
from collections import deque
from pathlib import Path

from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network.transport import HttpTransport
from neologue.device.sending_time import SendingTime
from neologue.errors import LaterError
from neologue.fleet.fleet import SENDING_WINDOW, Squad, peek


class Trickle:
    """Devices of a campaign, with their files in a folder; each takes part when its turn has come."""

    def __init__(self, squad: Squad, folder: Path) -> None:
        self._squad, self._folder = squad, folder
        self._turns = deque(range(len(squad.credentials)))
        self._sent: list[int] = []
        self._library = Library()

    def accompany(self, every: float, ended: threading.Event) -> None:
        """Have one more device take part every so many seconds, until none is left or `ended` is set."""
        with HttpTransport(self._squad.server, plain=True) as transport:
            while (self._turns or self._sent) and not ended.wait(every):
                try:
                    self._sent = [device for device in self._sent if self._takes_part(device, transport)]
                    device = self._next(transport)
                    if device is not None and self._takes_part(device, transport):
                        self._sent.append(device)
                except LaterError:
                    continue

    def _next(self, transport: HttpTransport) -> int | None:
        """The next device that is invited; those whose layer is yet to come wait, the others are out."""
        for _ in range(len(self._turns)):
            device = self._turns.popleft()
            state, _ = peek(transport, self._squad.credentials[device])
            if state == "invited":
                return device
            if state == "wait":
                self._turns.append(device)
        return None

    def _takes_part(self, device: int, transport: HttpTransport) -> bool:
        """Let a device do what it can now; whether it has to be asked again."""
        folder = self._folder / str(device)
        sending_time = SendingTime(SENDING_WINDOW)
        with Client(folder, transport, self._squad.policy, library=self._library, sending_time=sending_time) as client:
            tick = client.tick()
            if tick.state == "alone":
                client.typed_all(self._squad.typed_words(device))
                client.join(self._squad.credentials[device])
                tick = client.tick()
        if tick.again is None:
            shutil.rmtree(folder, ignore_errors=True)
        return tick.again is not None
