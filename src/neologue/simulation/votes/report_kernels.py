"""Every report of a cohort, drawn one by one and added to its counters at once.

Nothing is kept of a report but its votes, and no step is taken that only the bytes of a report need. The law is that of
the device code.

**Subset Selection.** A report on the word z takes d different elements of the s-1 others and, with probability p, puts
z in the place of the last. That is Subset Selection's law: the first d-1 are a uniform (d-1)-subset of the others, all
d a uniform d-subset.

There are two ways to take different elements, and both draw from the whole domain and repair. Element by element, a
draw that equals z or an earlier one of its report is drawn again until it equals none of them. So each is uniform on
what z and the earlier ones left, every order of every subset is as likely as any other, and the subset is uniform.

- *By pairs*, if repeats are rare: 128 reports at once, all their draws first. A filter then compares all pairs of each
  report by their last 16 bits, and only reports that it flags are repaired. It never overlooks a repeat, and the repair
  leaves a report without one as it is, so it makes no difference to the outcome which of those it flags.
- *By marks*, if they are not: one bit for each element of the domain says whether it is taken.

**Unary.** The elements held are marked, then a binomial number of the others is taken by marks, as the noise; for each
element held a fair coin is thrown. The binomial is drawn in floating point, which is good enough for simulation and is
not what devices do.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.count_kernel import Ids, Ints, count_ids
from neologue.populations.counting import Counters
from neologue.populations.random64 import Halves, Random64, biased_below, fill, next_below, next_random, seed_generators
from neologue.populations.streams import Stream, generator
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

BATCH = 128
"""How many reports are drawn together by pairs; two numbers of every generator fill a row, one draw of each report."""
SHORT = 1 << 16
BLOCK = 8
"""How many rows are compared with another one in one go."""
POOL = 16 * BATCH
"""How many elements are drawn ahead by marks."""
VOTES_AT_ONCE = 1 << 26
"""So many votes, a fraction of a second, may pass before somebody who wants to interrupt is heard."""


class Reports(Protocol):
    """Draws the reports of users one by one."""

    @property
    def size(self) -> int:
        """How many counters their votes need."""

    def add(self, first_user: int, starts: Ints, held: Ids, counters: Counters) -> Iterator[None]:
        """Add the votes of the users from `position` of the population on, in steps that take a moment each."""


class SubsetReports:
    """Draws the Subset Selection reports of users."""

    def __init__(self, randomizer: SubsetSelection, seed: int) -> None:
        self.size = randomizer.domain
        self._randomizer = randomizer
        self._seed = seed

    def add(self, first_user: int, starts: Ints, held: Ids, counters: Counters) -> Iterator[None]:
        """Add the votes of the users from `first_user` of the population on, γ's included, in short steps.

        Each user holds `held[starts[user]:starts[user + 1]]`; which words are whose does not matter to the sum.
        """
        state = seed_generators(Stream.EXACT, self._seed, first_user)
        size, truth = self._randomizer.subset_size, np.uint64(self._randomizer.truth)
        draw = add_by_pairs if repeats_are_rare(size, self.size) else add_by_marks
        reports = (len(starts) - 1) * self._randomizer.bound
        step = max(1, VOTES_AT_ONCE // (size * BATCH)) * BATCH
        for first in range(0, reports, step):
            words = np.full(min(step, reports - first), self._randomizer.candidates, np.int32)
            real = held[first : first + len(words)]
            words[: len(real)] = real
            draw(state, words, self.size, size, truth, counters.room_for(len(words)))
            yield


class UnaryReports:
    """Draws the unary reports of users."""

    def __init__(self, randomizer: Unary, seed: int) -> None:
        self.size = randomizer.candidates
        self._noise = float(randomizer.channel.q)
        self._seed = seed

    def add(self, first_user: int, starts: Ints, held: Ids, counters: Counters) -> Iterator[None]:
        """Add the votes of the users from `first_user` of the population on, in steps that take a moment each.

        Each user holds `held[starts[user]:starts[user + 1]]`.
        """
        state = seed_generators(Stream.EXACT, self._seed, first_user)
        source = generator(Stream.EXACT, self._seed, first_user, 1)
        users = len(starts) - 1
        step = max(1, int(VOTES_AT_ONCE / (1 + self.size * self._noise)))
        for first in range(0, users, step):
            rows = starts[first : first + step + 1]
            add_unary(state, source, rows, held, self.size, self._noise, counters.room_for(len(rows) - 1))
            yield


REPORTS: Table[Callable[[Any, int], Reports]] = Table(
    "compiled sampler of reports, as the fidelity `exact` draws them, for the randomizer",
    "neologue.simulation.votes.report_kernels",
    {Unary.name: UnaryReports, SubsetSelection.name: SubsetReports},
)


def repeats_are_rare(size: int, domain: int) -> bool:
    """Whether so few reports are flagged, a twelfth by chance or a sixth for repeats, that pairs are the faster way."""
    return 3 * size * (size + 1) <= min(domain, SHORT // 2)


@compiled
def add_by_pairs(state: Random64, words: Ids, domain: int, size: int, truth: np.uint64, counts: Halves) -> None:
    """Add a report on each word, for subsets so small that repeats are rare.

    A batch is a table with a column for each report: its word on top, then its draws. So all rows are worked on with
    vector instructions.
    """
    random = np.empty((size + 2) * BATCH // 2, np.uint64)
    draws, decisions = random[: size * BATCH // 2], random[size * BATCH // 2 :]
    table = np.zeros((size + 1) * BATCH, np.uint32)
    short = np.zeros((size + BLOCK) * BATCH, np.uint16)
    flags = np.empty(BATCH, np.uint16)
    column = np.empty(size + 1, np.uint32)
    last = table[size * BATCH :]
    for start in range(0, len(words), BATCH):
        reports = min(BATCH, len(words) - start)
        for report in range(reports):
            table[report] = words[start + report]
        fill(state, random)
        bring_below(state, draws.view(np.uint32), domain, table[BATCH:])
        flag_repeats(table, short, flags)
        for report in range(BATCH):
            if flags[report] != 0:
                repair(state, domain, table[report:], column)
        for report in range(BATCH):
            if decisions[report] < truth:
                last[report] = table[report]
        if reports == BATCH:
            count_ids(table[BATCH:], counts)
        else:
            for row in range(BATCH, len(table), BATCH):
                count_ids(table[row : row + reports], counts)


@compiled
def bring_below(state: Random64, halves: Halves, bound: int, rows: Halves) -> None:
    """Make uniform integers below a bound; what Lemire's method rejects is drawn again, one by one."""
    least = biased_below(bound)
    for start in range(0, len(rows), BATCH):
        row = rows[start : start + BATCH]
        if scale(halves[start : start + BATCH], np.uint64(bound), row) < least:
            for report in range(BATCH):
                if np.uint32(np.uint64(halves[start + report]) * np.uint64(bound)) < least:
                    row[report] = next_below(state, bound)


@compiled
def scale(halves: Halves, bound: np.uint64, row: Halves) -> np.uint32:
    """Bring a row of 32-bit words below a bound, and say what the smallest lower half of the products is."""
    smallest = np.uint32(0xFFFFFFFF)
    for report in range(BATCH):
        product = np.uint64(halves[report]) * bound
        row[report] = np.uint32(product >> np.uint64(32))
        smallest = min(smallest, np.uint32(product))
    return smallest


@compiled
def flag_repeats(table: Halves, short: NDArray[np.uint16], flags: NDArray[np.uint16]) -> None:
    """Flag every report of a batch that has two elements with the same last 16 bits.

    Each row is compared with the rows before it, eight at a time, written out so that a flag is loaded once for all
    of them. `short` has some rows more than the table, of zeros, which flag a few reports more.
    """
    for position in range(len(table)):
        short[position] = np.uint16(table[position])
    flags[:] = 0
    for first in range(BATCH, len(table), BATCH):
        block = short[first : first + BLOCK * BATCH]
        for earlier in range(first - BATCH, -1, -BLOCK * BATCH):
            row = short[earlier : earlier + BATCH]
            for report in range(BATCH):
                value = row[report]
                flags[report] |= np.uint16(
                    (block[report] == value)
                    | (block[BATCH + report] == value)
                    | (block[2 * BATCH + report] == value)
                    | (block[3 * BATCH + report] == value)
                    | (block[4 * BATCH + report] == value)
                    | (block[5 * BATCH + report] == value)
                    | (block[6 * BATCH + report] == value)
                    | (block[7 * BATCH + report] == value)
                )


@compiled
def repair(state: Random64, bound: int, table: Halves, column: Halves) -> None:
    """Make the elements of one report, which lie a row apart, different from its word and from each other."""
    column[0] = table[0]
    for position in range(1, len(column)):
        element = table[position * BATCH]
        while contains(column[:position], element):
            element = next_below(state, bound)
        column[position] = element
        table[position * BATCH] = element


@compiled
def contains(column: Halves, wanted: np.uint32) -> bool:
    """Whether an element is there; all are looked at, which is quicker than stopping."""
    found = np.uint32(0)
    for element in column:
        found |= np.uint32(element == wanted)
    return bool(found != 0)


@compiled
def add_by_marks(state: Random64, words: Ids, domain: int, size: int, truth: np.uint64, counts: Halves) -> None:
    """Add a report on each word, for subsets of any size."""
    marks = np.zeros(domain // 64 + 1, np.uint64)
    pool = np.empty(POOL, np.uint32)
    used = POOL
    taken = np.empty(size, np.uint32)
    for word in words:
        mark(marks, np.uint32(word))
        missing = size
        if next_random(state, 0) < truth:
            counts[word] += np.uint32(1)
            missing -= 1
        used = take_others(state, pool, used, domain, marks, taken[:missing])
        marks[word >> 6] = 0
        count_ids(taken[:missing], counts)


@compiled
def add_unary(
    state: Random64, source: Generator, starts: Ints, held: Ids, domain: int, noise: float, counts: Halves
) -> None:
    """Add a report of each user on the elements that they hold."""
    marks = np.zeros(domain // 64 + 1, np.uint64)
    pool = np.empty(POOL, np.uint32)
    used = POOL
    taken = np.empty(domain, np.uint32)
    for user in range(len(starts) - 1):
        own = held[starts[user] : starts[user + 1]]
        coins = np.uint64(0)
        for position in range(len(own)):
            mark(marks, np.uint32(own[position]))
            coins = coins >> np.uint64(1) if position % 64 else next_random(state, 0)
            counts[own[position]] += np.uint32(coins & np.uint64(1))
        ones = source.binomial(domain - len(own), noise)
        used = take_others(state, pool, used, domain, marks, taken[:ones])
        for element in own:
            marks[element >> 6] = 0
        count_ids(taken[:ones], counts)


@compiled
def take_others(state: Random64, pool: Halves, used: int, domain: int, marks: Random64, taken: Halves) -> int:
    """Take different elements that are not marked, and say how much of the pool of drawn elements is used.

    Marks of the elements taken are cleared. Each draw is written at the next position, which a repeat leaves to the
    draw after it: without a branch nothing is mispredicted.
    """
    found = 0
    while found < len(taken):
        if used == POOL:
            random = np.empty(POOL // 2, np.uint64)
            fill(state, random)
            bring_below(state, random.view(np.uint32), domain, pool)
            used = 0
        drawn = pool[used : used + len(taken) - found]
        for element in drawn:
            taken[found] = element
            found += int(mark(marks, element))
        used += len(drawn)
    for element in taken:
        marks[element >> np.uint32(6)] = 0
    return used


@compiled
def mark(marks: Random64, element: np.uint32) -> bool:
    """Mark an element, and say whether it was not marked before."""
    bit = np.uint64(1) << np.uint64(element & np.uint32(63))
    before = marks[element >> np.uint32(6)]
    marks[element >> np.uint32(6)] = before | bit
    return bool(before & bit == 0)
