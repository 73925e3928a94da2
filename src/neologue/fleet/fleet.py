"""A fleet: many real clients, each with files of its own, that talk to a real service over real HTTP.

Only the weather is simulated: who falls silent, whose answers are lost, who sends twice and who is restarted. A device
with nothing to do is not started: the fleet checks in for it, as a system does that wakes apps when something has come.
"""

import heapq
import json
import multiprocessing
import os
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from multiprocessing.managers import SyncManager
from pathlib import Path

from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network.transport import JSON, SMALL_ANSWER, HttpTransport, Response, Transport
from neologue.device.policy import Policy
from neologue.device.sending_time import SendingTime, SendingWindow
from neologue.errors import LaterError, ParameterError
from neologue.fleet.check_in_line import check_in_line
from neologue.fleet.parent import BUSY, end_with_parent, is_orphan
from neologue.masking.agreement import Confirmation
from neologue.masking.messages import MaskedVector, Sharing, Unmasking
from neologue.populations.holdings import Holdings
from neologue.populations.population import Population

THREADS = 128
"""Devices of a process that talk at once: more than a batch needs, so that nobody waits for one in vain."""
GROUPS = 4
"""How many groups are under way at once, where there are any: one that gathers, while others come to their end."""
LONGEST_DELAY = 20.0
LOOK = 0.2
"""How often a process looks whether it is to end, in seconds."""
_MESSAGES = (Sharing.number, MaskedVector.number, Confirmation.number, Unmasking.number)
_MESSAGE_NUMBER = 81
"""Where the number of a message stands in the body of a request: behind its sender, the layer and a version."""
SENDING_WINDOW = SendingWindow(0.0, 0.1)
"""A fleet has words to find and nothing to hide: its devices send sooner than those of real people."""
IMPATIENCE = 2.0
"""The longest that a device of a fleet waits after a failure, in seconds: its weather changes quickly."""


@dataclass(frozen=True)
class Weather:
    """What goes wrong, as fractions of devices or of requests."""

    silent: float = 0.0
    """Devices that are invited and never heard of."""
    lost: float = 0.0
    """Requests whose answer is lost: the service may have done what was asked."""
    twice: float = 0.0
    """Requests that arrive twice."""
    restarts: float = 0.0
    """Steps after which a device is started anew from its files."""
    delay: float = 0.0
    """Up to how many seconds a request takes to get anywhere."""
    leaving: float = 0.0
    """Devices that fall silent in a group of secure aggregation, each at one of its stages."""

    def __post_init__(self) -> None:
        for name in ("silent", "lost", "twice", "restarts", "leaving"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(f"{name} must be a share from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.delay <= LONGEST_DELAY:
            raise ParameterError(f"delay must be from 0 to {LONGEST_DELAY:g} seconds, not {self.delay}")


def simulated_policy(operator: bytes) -> Policy:
    """The policy of simulated people: they answer an operator also where a person's device hides too little.

    Campaigns of a few thousand devices end with layers of few candidates, and measure with the ε of the discovery.
    """
    return Policy(
        operators=frozenset({operator}),
        largest_closed_vote_ratio=Policy.largest_vote_ratio,
        largest_silence_ratio=Policy.largest_vote_ratio,
        fewest_noise_votes=0.0,
        allow_targets=True,
        allow_unlogged_lists=True,
    )


@dataclass(frozen=True, eq=False)
class Squad:
    """The devices that one process runs."""

    server: str
    policy: Policy
    credentials: Sequence[str]
    held: Holdings
    """What the owner of each device has typed."""
    words: list[str]
    weather: Weather
    seed: int
    at_once: int = THREADS
    """How many of them talk at once."""

    def typed_words(self, device: int) -> dict[str, int]:
        """The words of one owner, and how often each was typed."""
        own = slice(self.held.starts[device], self.held.starts[device + 1])
        typed = zip(self.held.words[own].tolist(), self.held.counts[own].tolist(), strict=True)
        return {self.words[word]: times for word, times in typed}


def run(
    population: Population,
    credentials: Sequence[str],
    server: str,
    policy: Policy,
    weather: Weather,
    *,
    processes: int = 2,
    seed: int = 0,
    group: int = 0,
    over: Callable[[], bool],
    pause: float = 1.0,
) -> Counter[str]:
    """Run a device for each credential until all are done, or until `over`, which is asked from time to time.

    Devices of a `group` wait for each other, so that at least so many must be able to talk at once. Returns how the
    devices ended, by the state of their last step.
    """
    if len(credentials) > population.users:
        raise ParameterError(
            f"{len(credentials):,} devices need as many users, and there are {population.users:,}; run fewer devices"
        )
    context = multiprocessing.get_context("spawn")
    manager = SyncManager(ctx=context)
    manager.start(end_with_parent)
    ended = manager.Event()
    bounds = [len(credentials) * part // processes for part in range(processes + 1)]
    squads = [
        Squad(
            server,
            policy,
            credentials[start:stop],
            draw_users(population, start, stop),
            population.words,
            weather,
            seed + start,
            max(THREADS, -(-GROUPS * group // processes)),
        )
        for start, stop in pairwise(bounds)
    ]
    with ProcessPoolExecutor(processes, mp_context=context, initializer=end_with_parent) as pool:
        parts = [pool.submit(run_squad, squad, ended) for squad in squads]
        try:
            while not all(part.done() for part in parts):
                if over():
                    break
                time.sleep(pause)
        finally:
            # Whoever ends this may have ended all of its processes at once.
            with suppress(OSError, EOFError):
                ended.set()
        return sum((part.result() for part in parts), Counter())


def run_squad(squad: Squad, ended: threading.Event) -> Counter[str]:
    """Run the devices of one process, many at a time, each when its turn has come."""
    # A disk in memory, where there is one and nobody says where else: a real device has a disk of its own.
    shared = Path("/dev/shm")
    in_memory = shared.is_dir() and "TMPDIR" not in os.environ
    files = tempfile.TemporaryDirectory(dir=shared if in_memory else None, prefix="neologue-fleet-")
    with BUSY, files as folder:
        turns = _Turns(squad, Path(folder))
        threads = [threading.Thread(target=turns.work, daemon=True) for _ in range(squad.at_once)]
        for thread in threads:
            thread.start()
        try:
            # Broken off, or left alone by whoever started this: the devices end as they would otherwise.
            with suppress(KeyboardInterrupt, EOFError, OSError):
                while any(thread.is_alive() for thread in threads) and not is_orphan() and not ended.is_set():
                    time.sleep(LOOK)
        finally:
            turns.end()
            for thread in threads:
                thread.join()
        return turns.states()


class _Turns:
    """Whose turn it is: of all threads one has it, unless it waits for an answer.

    Many threads that want to compute at once would spend their time on who may.
    """

    def __init__(self, squad: Squad, folder: Path) -> None:
        self._squad, self._folder = squad, folder
        self._ended = False
        self._library = Library()
        self._chance = random.Random(squad.seed)
        self._state = ["asleep"] * len(squad.credentials)
        self._answering: set[int] = set()
        """Those who have made their reports; all others are started when something is asked of them."""
        devices = list(range(len(squad.credentials)))
        self._chance.shuffle(devices)
        self._due = [(index / 1e6, device) for index, device in enumerate(devices)]
        self._under_way = 0
        self._awaited = inf
        """When the device is due that a thread waits for."""
        self._turn = threading.Condition(threading.Lock())

    def states(self) -> Counter[str]:
        """How many devices are in each state."""
        return Counter(self._state)

    def end(self) -> None:
        """End all turns."""
        with self._turn:
            self._ended = True
            self._turn.notify_all()

    def work(self) -> None:
        """Take turns until nothing is left to do; for one of many threads."""
        server, weather = self._squad.server, self._squad.weather
        with HttpTransport(server, plain=True) as own, closing(check_in_line(server)) as line, self._turn:
            chance = random.Random(self._chance.random())
            transport, asking = (
                _YieldingTransport(FaultyTransport(each, weather, chance), self._turn) for each in (own, line)
            )
            while (device := self._next()) is not None:
                state, again = self._state[device], IMPATIENCE
                self._under_way += 1
                try:
                    state, again = self._step(device, transport, asking, chance)
                except LaterError:
                    pass
                except BaseException:
                    self._turn.notify_all()  # this thread ends, and others have to see what is left
                    raise
                finally:
                    self._under_way -= 1
                    self._state[device] = state
                    if again < inf:
                        heapq.heappush(self._due, (time.monotonic() + again, device))

    def _next(self) -> int | None:
        while not self._ended and (self._due or self._under_way):
            due = self._due[0][0] if self._due else inf
            if due <= time.monotonic():
                self._turn.notify()  # somebody else waits for the one behind it
                return heapq.heappop(self._due)[1]
            if due < self._awaited:
                self._awaited = due
                self._turn.wait(due - time.monotonic())
                self._awaited = inf
            else:
                self._turn.wait()
        self._turn.notify_all()
        return None

    def _wait(self, seconds: float) -> None:
        """Wait while others have the turn."""
        with _release(self._turn):
            time.sleep(seconds)

    def _leaves(self, device: int) -> int | None:
        """Before which message to its group a device falls silent, if it does: the same whenever it is asked."""
        dice = random.Random(f"{self._squad.seed} {device}")
        return dice.choice(_MESSAGES) if dice.random() < self._squad.weather.leaving else None

    def _step(self, device: int, transport: Transport, asking: Transport, chance: random.Random) -> tuple[str, float]:
        """Let a device do what it can now; its state, and after how many seconds it is to be asked again.

        `asking` checks in for a device that sleeps; one that is awake has a transport of its own.
        """
        squad, folder = self._squad, self._folder / str(device)
        if device not in self._answering:
            state, again = peek(asking, squad.credentials[device])
            if state != "invited":
                return state, again
            if not folder.exists() and chance.random() < squad.weather.silent:
                return "silent", inf
        leaves = self._leaves(device)
        leaving = None if leaves is None else LeavingTransport(transport, leaves)
        sending_time = SendingTime(SENDING_WINDOW, wait=self._wait)
        with Client(
            folder, leaving or transport, squad.policy, library=self._library, sending_time=sending_time
        ) as client:
            tick = client.tick()
            if tick.state == "alone":
                client.typed_all(squad.typed_words(device))
                client.join(squad.credentials[device])
                tick = client.tick()
            while (
                (tick.state == "received" or client.in_group)
                and not (leaving and leaving.has_left)
                and not self._ended
                and chance.random() >= squad.weather.restarts
            ):
                self._wait(min(tick.again or 0, IMPATIENCE))
                tick = client.tick()
            if client.spent:
                self._answering.add(device)
        if leaving and leaving.has_left:
            shutil.rmtree(folder, ignore_errors=True)
            return "left", inf
        if tick.again is None:
            shutil.rmtree(folder, ignore_errors=True)
            return tick.state, inf
        return tick.state, min(tick.again, IMPATIENCE) if tick.state == "later" else tick.again


class _YieldingTransport:
    """A transport that lets others have the turn while it waits."""

    def __init__(self, transport: Transport, turn: threading.Condition) -> None:
        self._transport, self._turn = transport, turn

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer."""
        if method == "GET":
            # A document: the library is locked until it is there, so that whoever had the turn would wait as well.
            return self._transport.request(method, path, body, kind, most)
        with _release(self._turn):
            return self._transport.request(method, path, body, kind, most)


@contextmanager
def _release(turn: threading.Condition) -> Iterator[None]:
    """Let others have the turn."""
    turn.release()
    try:
        yield
    finally:
        turn.acquire()


class LeavingTransport:
    """A transport of a device that falls silent before it sends one of the messages of its group."""

    def __init__(self, transport: Transport, message: int) -> None:
        self._transport, self._message = transport, message
        self.has_left = False

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer, as long as the device is there."""
        if path.startswith("/v1/cohorts/") and body[_MESSAGE_NUMBER : _MESSAGE_NUMBER + 1] >= bytes([self._message]):
            self.has_left = True
        if self.has_left:
            raise LaterError("the device has fallen silent", IMPATIENCE)
        return self._transport.request(method, path, body, kind, most)


class FaultyTransport:
    """A transport in bad weather."""

    def __init__(self, transport: Transport, weather: Weather, chance: random.Random) -> None:
        self._transport, self._weather, self._chance = transport, weather, chance

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer, unless it is lost on the way."""
        if self._weather.delay:
            time.sleep(self._weather.delay * self._chance.random())
        if self._chance.random() < self._weather.twice:
            with suppress(LaterError):
                self._transport.request(method, path, body, kind, most)
        answer = self._transport.request(method, path, body, kind, most)
        if self._chance.random() < self._weather.lost:
            raise LaterError("the answer was lost: try again later", IMPATIENCE)
        return answer


def peek(transport: Transport, credential: str) -> tuple[str, float]:
    """The state that a check-in of a device would return now, and the seconds until it may check in again."""
    sent, _, _ = credential.partition(".")  # without its signing key, if it has one
    answer = transport.request("POST", "/v1/check-in", json.dumps({"credential": sent}).encode())
    if answer.status != 200:
        raise LaterError(f"the service answers {answer.status}")
    told = json.loads(answer.body)
    return told["state"], told.get("retry_after", inf)


def draw_users(population: Population, start: int, stop: int) -> Holdings:
    """What the users of a range have typed."""
    return Holdings.concatenate([population.draw(*span) for span in population.spans(start, stop)])
