"""What a cohort answers, counted in one of three fidelities: real devices, reports drawn, or samples alone.

Each work counts votes, and behind them the holders of every word: the truth comes along with what is asked, and nobody
is drawn twice for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.device.contribution import contribute
from neologue.discovery.tally import Tally
from neologue.entropy import SecureEntropy, SeededEntropy
from neologue.populations.count_kernel import Ids, count_ids
from neologue.populations.counting import Counters, Users
from neologue.populations.holdings import Holdings
from neologue.populations.streams import SecretSeed, Stream
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.simulation.votes.closed_samples import ListedSampler
from neologue.simulation.votes.report_kernels import Reports
from neologue.simulation.votes.samples import Sampler

DEVICES_AT_ONCE = 128
"""So many devices, a fraction of a second, may pass before somebody who wants to interrupt is heard."""


@dataclass(frozen=True, eq=False)
class Held:
    """Counts the holders of each word."""

    words: int

    @property
    def size(self) -> int:
        """One counter for each word."""
        return self.words

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        """Count the words of a piece."""
        held = users.draw(start, stop, counted=False)
        count_ids(held.words, counters.room_for(held.users))
        yield


@dataclass(frozen=True, eq=False)
class Sampled:
    """Counts the users who sample each group of words, then the holders of each word."""

    sampler: Sampler | ListedSampler

    @property
    def votes(self) -> int:
        """How many of the counters are for samples."""
        return self.sampler.groups

    @property
    def size(self) -> int:
        """Counters for groups and words."""
        return self.votes + len(self.sampler.group_of_word)

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        """Count the samples of a piece."""
        held = users.draw(start, stop, counted=self.sampler.greedy)
        _, samples = self.sampler.samples(start, held)
        counts = counters.room_for(max(held.users, len(samples)))
        count_ids(samples, counts[: self.votes])
        count_ids(held.words, counts[self.votes :])
        yield


@dataclass(frozen=True, eq=False)
class Reported:
    """Counts the votes for each candidate in reports drawn one by one, then the holders of each word."""

    sampler: Sampler | ListedSampler
    candidates: Ids
    """The candidate of each group."""
    reports: Reports

    @property
    def votes(self) -> int:
        """How many of the counters are for votes."""
        return self.reports.size

    @property
    def size(self) -> int:
        """Counters for candidates and words."""
        return self.votes + len(self.sampler.group_of_word)

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        """Count the reports of a piece."""
        held = users.draw(start, stop, counted=self.sampler.greedy)
        starts, samples = self.sampler.samples(start, held)
        count_ids(held.words, counters.room_for(held.users)[self.votes :])
        yield from self.reports.add(start, starts, self.candidates[samples], counters)


@dataclass(frozen=True, eq=False)
class Made:
    """Counts the votes in reports that the real device core makes, bytes and all, and a server reads; then holders."""

    layer: Layer | ClosedLayer
    lexicon: list[str]
    seed: int
    """A secret seed is not used: then devices draw from the system's entropy, as real ones do."""

    @property
    def votes(self) -> int:
        """How many of the counters are for votes."""
        return self.layer.randomizer.candidates

    @property
    def size(self) -> int:
        """Counters for candidates and words."""
        return self.votes + len(self.lexicon)

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        """Count the reports of a piece."""
        drawn = users.draw(start, stop)
        for first in range(0, drawn.users, DEVICES_AT_ONCE):
            held = drawn.rows(first, min(first + DEVICES_AT_ONCE, drawn.users))
            tally = Tally.of(self.votes, self._reports(held, start + first))
            counts = counters.room_for(held.users * self.layer.bound)
            counts[: self.votes] += tally.votes.astype(np.uint32)
            count_ids(held.words, counts[self.votes :])
            yield

    def made_up(self, reports: int, first_user: int) -> NDArray[np.int64]:
        """The votes of so many devices that hold nothing, for the layer that begins with this user."""
        secure = SecureEntropy() if isinstance(self.seed, SecretSeed) else None
        made = (
            contribute({}, self.layer, secure or SeededEntropy(Stream.MADE_UP, self.seed, first_user, number))
            for number in range(reports)
        )
        return Tally.of(self.votes, (read_report(self.layer, report) for report in made)).votes

    def _reports(self, held: Holdings, start: int) -> Iterator[NDArray[np.int64]]:
        secure = SecureEntropy() if isinstance(self.seed, SecretSeed) else None
        for row in range(held.users):
            own = slice(held.starts[row], held.starts[row + 1])
            typed = zip(held.words[own].tolist(), held.counts[own].tolist(), strict=True)
            entropy = secure or SeededEntropy(Stream.REPORTS, self.seed, start + row)
            report = contribute({self.lexicon[word]: times for word, times in typed}, self.layer, entropy)
            yield read_report(self.layer, report)
