"""The ways to go on that a layer asks about, where there is no room for all.

For each different last character of the prefixes there is one list of extensions, the likeliest first, and each prefix
is asked about as many from the start of its list as it deserves: an unusual way to go on from a prefix that many hold
is as good a candidate as a usual one from a prefix that few do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

MOST_LISTED = 1 << 19
"""The most numbers in all lists of a layer together: devices have to be told them."""
MOST_EXTENSIONS = 1 << 53
"""Among more extensions than these none are listed: not every language has larger whole numbers in its JSON."""
MOST_NUMBERED = 1 << 62
"""The same for the extensions after all characters together, which are numbered one after the other."""
LONGEST = 8
"""A prefix that many hold is asked about at most so many times as many extensions as prefixes are on average."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of the numbers of extensions, and how many of its list each prefix is asked about."""

    rows: tuple[Integers, ...]
    """One for each last character, in their order; each as long as the most that one of its prefixes is asked about."""
    ways: Integers
    """One for each prefix of the frontier, in order."""

    @classmethod
    def cut(cls, rows: Sequence[Integers], ways: Integers, members: NDArray[np.intp]) -> "Lists":
        """Only as much of some lists as prefixes are asked about, `members` being the list of each."""
        return cls(
            tuple(row[:most] for row, most in zip(rows, _longest_needed(len(rows), ways, members), strict=True)), ways
        )

    @cached_property
    def numbers(self) -> Integers:
        """All lists, one after the other."""
        return np.concatenate(self.rows)

    @cached_property
    def starts(self) -> Integers:
        """Where each list begins among them."""
        return np.cumsum([0, *map(len, self.rows[:-1])])

    def positions(self, members: NDArray[np.intp]) -> Integers:
        """For each candidate that extends a prefix, where its extension is listed; `members` is the list of each."""
        ends = np.cumsum(self.ways)
        return np.repeat(self.starts[members] - ends + self.ways, self.ways) + np.arange(self.ways.sum())

    def serve(self, members: NDArray[np.intp]) -> bool:
        """Whether there is just what prefixes need of which these have the lists: a place in it for each."""
        if len(members) != len(self.ways) or self.ways.min(initial=1) < 1 or members.max(initial=0) >= len(self.rows):
            return False
        return bool(
            np.array_equal([len(row) for row in self.rows], _longest_needed(len(self.rows), self.ways, members))
        )


def longest_list(characters: int, ways: int, every: int) -> int:
    """The most that a prefix is asked about, of every extension there is, where prefixes are of so many on average."""
    return min(LONGEST * ways, MOST_LISTED // characters, every)


def allocate_ways(
    chances: Sequence[NDArray[np.float64]],
    members: NDArray[np.intp],
    shares: NDArray[np.float64],
    numbers: NDArray[np.float64],
    most: float,
) -> Integers:
    """How many from its list each prefix is asked about: those whose chance, times its share, is among the largest.

    `chances` are those of the lists, falling, and `numbers` how many prefixes each prefix stands for. There is one for
    each, and together just the `most` there may be, unless the lists end before. Shares count by their power of
    two, so that many prefixes have the same number and documents are easy to compress.
    """
    powers = np.frexp(shares)[1]
    kinds, kind = np.unique(members * np.int64(1 << 16) + powers, return_inverse=True)
    examples = np.zeros(len(kinds), np.intp)
    examples[kind] = np.arange(len(kind))
    worth = [np.ldexp(chances[members[example]], powers[example]) for example in examples]
    for row in worth:
        row[0] = np.inf
    owners = np.repeat(np.arange(len(kinds)), list(map(len, worth)))
    order = owners[np.argsort(-np.concatenate(worth), kind="stable")]
    total = np.cumsum(np.bincount(kind, numbers)[order])
    fitting = int(np.searchsorted(total, most, side="right"))
    ways = np.bincount(order[:fitting], minlength=len(kinds))[kind]
    if fitting < len(order):
        # What is left is not enough for one more to every prefix of the next kind.
        left = int(most - (total[fitting - 1] if fitting else 0))
        ways[np.flatnonzero(kind == order[fitting])[:left]] += 1
    return ways


def _longest_needed(lists: int, ways: Integers, members: NDArray[np.intp]) -> Integers:
    """The most that a prefix of each list is asked about."""
    most = np.zeros(lists, np.int64)
    np.maximum.at(most, members, ways)
    return most


def can_be_listed(characters: int, extension: int) -> bool:
    """Whether the numbers of extensions by so many symbols are small enough; without counting on where they are not."""
    every = 1
    for _ in range(extension):
        every = 1 + characters * every
        if every > MOST_EXTENSIONS or every * characters > MOST_NUMBERED:
            return False
    return True
