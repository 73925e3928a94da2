"""Frequency oracles: how a device hides one value, and what the reports of many say about any value.

Either hashes the value with a function drawn for the report, so that reports stay short however many values there are.
Given a report, the values that nobody hashed are supported by it independently, each with the same chance: the law of
the votes is that of a `Channel`, and sums are drawn from it without making the reports.

Optimal Local Hashing (Wang, Blocki, Li and Jha, Locally differentially private protocols for frequency estimation,
USENIX Security 2017) hashes to g = e^ε + 1 buckets and answers truthfully with p = e^ε/(e^ε + g - 1), otherwise with
another bucket. The variance of a count is 4e^ε/(e^ε - 1)² a report.

Count Mean Sketch (Apple's Differential Privacy Team, Learning with privacy at scale, 2017) hashes to one of m columns
and flips each of the m signs of its one-hot vector with 1/(e^(ε/2) + 1). Two vectors differ in two signs, so that the
likelihood ratio is e^ε.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.randomizers.channel import Channel
from neologue.randomizers.thresholds import check_epsilon

Integers = NDArray[np.int64]
SEED_BYTES = 8


@dataclass(frozen=True, eq=False)
class Hashed:
    """A report: the hash function, and one bit for each of its values."""

    seed: int
    bits: NDArray[np.bool_]


@dataclass(frozen=True)
class LocalHashing:
    """Optimal Local Hashing."""

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @cached_property
    def buckets(self) -> int:
        """The values of a hash function (g)."""
        return round(math.exp(self.epsilon)) + 1

    @cached_property
    def truth(self) -> float:
        """The probability of the true bucket (p)."""
        return math.exp(self.epsilon) / (math.exp(self.epsilon) + self.buckets - 1)

    @cached_property
    def channel(self) -> Channel:
        """The law of votes."""
        return Channel(Fraction(self.truth), Fraction(1, self.buckets), contributions=1)

    @property
    def report_bytes(self) -> int:
        """The seed of the hash function, and a bucket."""
        return SEED_BYTES + -(-(self.buckets - 1).bit_length() // 8)

    def chances(self, seed: int, value: int) -> NDArray[np.float64]:
        """The probability of each bucket, for a value hashed with a function."""
        law = np.full(self.buckets, (1 - self.truth) / (self.buckets - 1))
        law[hash_values(seed, np.array([value]), self.buckets)] = self.truth
        return law

    def report(self, value: int, rng: Generator) -> Hashed:
        """What a device sends that holds a value."""
        seed = int(rng.integers(1 << 63))
        bits = np.zeros(self.buckets, np.bool_)
        bits[rng.choice(self.buckets, p=self.chances(seed, value))] = True
        return Hashed(seed, bits)


@dataclass(frozen=True)
class CountMeanSketch:
    """Count Mean Sketch with a hash function for each report (Apple has 65,536 in all)."""

    epsilon: float
    columns: int = 1024

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @cached_property
    def truth(self) -> float:
        """The probability that a sign is left as it is."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @cached_property
    def channel(self) -> Channel:
        """The law of votes: another value shares the column of the held one with probability 1/m."""
        p, share = Fraction(self.truth), Fraction(1, self.columns)
        return Channel(p, share * p + (1 - share) * (1 - p), contributions=1)

    @property
    def report_bytes(self) -> int:
        """The number of the hash function in 2 bytes, and the signs."""
        return 2 + -(-self.columns // 8)

    def chances(self, seed: int, value: int) -> NDArray[np.float64]:
        """The probability that each sign is positive, for a value hashed with a function; signs are independent."""
        law = np.full(self.columns, 1 - self.truth)
        law[hash_values(seed, np.array([value]), self.columns)] = self.truth
        return law

    def report(self, value: int, rng: Generator) -> Hashed:
        """What a device sends that holds a value."""
        seed = int(rng.integers(1 << 63))
        return Hashed(seed, rng.random(self.columns) < self.chances(seed, value))


def draw_votes(
    channel: Channel, size: int, index: Integers, speakers: Integers, reports: int, rng: Generator
) -> Integers:
    """Draw the votes of `size` values if `speakers[i]` reports are about the value `index[i]`, or about none if -1."""
    p, q = float(channel.p), float(channel.q)
    belongs = index >= 0
    indices, rows = np.unique(index[belongs], return_inverse=True)
    held = np.zeros(len(indices), np.int64)
    np.add.at(held, rows, speakers[belongs])
    votes = rng.binomial(reports, q, size)
    votes[indices] = rng.binomial(held, p) + rng.binomial(reports - held, q)
    return votes


def hash_values(seed: int, values: Integers, size: int) -> Integers:
    """A hash function of the family: the finalizer of SplitMix64 over the value and the seed."""
    mixed = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(size)).astype(np.int64)
