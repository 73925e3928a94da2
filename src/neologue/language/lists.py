"""The extensions that a layer asks about if it has no room for all.

For each distinct last character of the prefixes there is one list of extensions, the most likely first. Each prefix is
asked about the beginning of its list, the longer the more users hold the prefix: a rare extension of a prefix that many
hold is as good a candidate as a common extension of a prefix that few hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

MOST_LISTED = 1 << 19
"""The most numbers in all lists of a layer together: they are sent to devices."""
MOST_EXTENSIONS = 1 << 53
"""With more extensions than this there are no lists: not every JSON reader has larger exact integers."""
MOST_NUMBERED = 1 << 62
"""The same for the extensions of all lists together, which are numbered consecutively."""
LONGEST = 8
"""A prefix gets at most this many times the average number of extensions."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of extension numbers, and how much of its list each prefix is asked about."""

    rows: tuple[Integers, ...]
    """One for each last character, in order; each as long as the most that one of its prefixes needs."""
    ways: Integers
    """One for each prefix of the frontier, in order."""

    @classmethod
    def cut(cls, rows: Sequence[Integers], ways: Integers, members: NDArray[np.intp]) -> "Lists":
        """Cut lists to what their prefixes need; `members` is the list of each prefix."""
        return cls(
            tuple(row[:most] for row, most in zip(rows, _longest_needed(len(rows), ways, members), strict=True)), ways
        )

    @cached_property
    def numbers(self) -> Integers:
        """All lists, one after the other."""
        return np.concatenate(self.rows)

    @cached_property
    def starts(self) -> Integers:
        """Where each list begins in `numbers`."""
        return np.cumsum([0, *map(len, self.rows[:-1])])

    def positions(self, members: NDArray[np.intp]) -> Integers:
        """The position in `numbers` of each candidate's extension; `members` is the list of each prefix."""
        ends = np.cumsum(self.ways)
        return np.repeat(self.starts[members] - ends + self.ways, self.ways) + np.arange(self.ways.sum())

    def serve(self, members: NDArray[np.intp]) -> bool:
        """Whether the lists have exactly what these prefixes need; `members` is the list of each prefix."""
        if len(members) != len(self.ways) or self.ways.min(initial=1) < 1 or members.max(initial=0) >= len(self.rows):
            return False
        return bool(
            np.array_equal([len(row) for row in self.rows], _longest_needed(len(self.rows), self.ways, members))
        )


def longest_list(characters: int, ways: int, every: int) -> int:
    """The most extensions of one prefix, out of `every`, if prefixes have `ways` on average."""
    return min(LONGEST * ways, MOST_LISTED // characters, every)


def allocate_ways(
    chances: Sequence[NDArray[np.float64]],
    members: NDArray[np.intp],
    shares: NDArray[np.float64],
    numbers: NDArray[np.float64],
    most: float,
) -> Integers:
    """How much of its list each prefix is asked about: the extensions with the largest chance times share.

    `chances` are those of the lists, in descending order, and `numbers` is how many prefixes each prefix stands for.
    Every prefix gets at least one, and together they get exactly `most`, unless the lists are too short. Shares are
    rounded to powers of two, so that many prefixes get the same number and documents compress well.
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
        # The rest is too little for one more extension to every prefix of the next kind.
        left = int(most - (total[fitting - 1] if fitting else 0))
        ways[np.flatnonzero(kind == order[fitting])[:left]] += 1
    return ways


def _longest_needed(lists: int, ways: Integers, members: NDArray[np.intp]) -> Integers:
    """The most extensions of a prefix, for each list."""
    most = np.zeros(lists, np.int64)
    np.maximum.at(most, members, ways)
    return most


def can_be_listed(characters: int, extension: int) -> bool:
    """Whether the numbers of extensions are small enough for lists; stops counting as soon as they are not."""
    every = 1
    for _ in range(extension):
        every = 1 + characters * every
        if every > MOST_EXTENSIONS or every * characters > MOST_NUMBERED:
            return False
    return True
