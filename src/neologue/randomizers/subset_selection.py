"""Subset Selection, the randomizer of the paper (Algorithm 1; Wang et al. 2016, Ye and Barg 2017).

Each of the B words of a sample, padded with the null element γ, becomes a random d-subset of the s candidates
(γ included): one that contains the word with probability p, and otherwise does not.

Theorem (local, item level). With d = ⌈s/(e^ε+1)⌉, a subset S has probability p/C(s-1,d-1) if it contains the
word and (1-p)/C(s-1,d) if not, a ratio of p(s-d)/((1-p)d), which is at most e^ε because p = k/2^64 is rounded
down from d·e^ε/(d·e^ε+s-d). The order of the words in a report is a fresh uniform permutation, so replacing
one word changes one of B independent subsets and no other. A whole user has B·ε.

A subset travels as a translate. The device draws a seed and expands it into base subsets D_1, …, D_B; word j
sends c so that its subset is D_j + c mod s. With probability p, c is uniform on the d values
{z - x : x in D_j}, else on the other s-d. For every base subset the ratio of the laws of c is exactly the one
above, so privacy does not rest on the expansion; and as D_j is a uniform subset, D_j + c has the law of
Subset Selection.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import ONE, Entropy
from neologue.errors import ReportError
from neologue.randomizers.bit_fields import pack, unpack
from neologue.randomizers.channel import Channel
from neologue.randomizers.expansion import SEED_BYTES, base_subsets
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.thresholds import exp_below, numerator_down


@dataclass(frozen=True, eq=False)
class Translates:
    """What a Subset Selection report says: the seed of its base subsets and how far each one is moved."""

    seed: bytes
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class SubsetSelection(Randomizer[Translates]):
    """The Subset Selection randomizer of one layer.

    >>> from neologue import SubsetSelection
    >>> asked = SubsetSelection(candidates=1000, epsilon=6.0, bound=10)
    >>> asked.subset_size, asked.statement.enforced_epsilon
    (3, 6.0)
    """

    name: ClassVar[str] = "subset-selection"
    assumptions: ClassVar[tuple[str, ...]] = (
        "AES-128 in counter mode, keyed by a device's secret seed, is as good as random subsets",
    )

    @property
    def domain(self) -> int:
        """s: the candidates and γ, which is the last."""
        return self.candidates + 1

    @cached_property
    def subset_size(self) -> int:
        """The size of a subset, d = ⌈s/(e^ε+1)⌉."""
        return math.ceil(self.domain / (exp_below(self.epsilon) + 1))

    @cached_property
    def truth(self) -> int:
        """The numerator of p: 2^64 · d·e^ε/(d·e^ε + s - d), rounded down."""
        weight = self.subset_size * exp_below(self.epsilon)
        return numerator_down(weight / (weight + self.domain - self.subset_size))

    @cached_property
    def channel(self) -> Channel:
        """The p that the sampler uses, and q = (d-p)/(s-1), which follows from it."""
        p = Fraction(self.truth, ONE)
        return Channel(p, (self.subset_size - p) / (self.domain - 1), contributions=self.bound)

    @property
    def worst_ratio(self) -> Fraction:
        """The largest likelihood ratio between two samples that differ in one word."""
        p, d, s = self.channel.p, self.subset_size, self.domain
        return p * (s - d) / ((1 - p) * d)

    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Translates:
        """A report on the distinct candidates held, padded with γ to exactly B words."""
        self.check_held(held)
        padded = np.full(self.bound, self.candidates, np.int64)
        padded[: len(held)] = held
        words = padded[entropy.permutation(self.bound)]
        seed = entropy.octets(SEED_BYTES)
        bases = self.expand(seed)
        hits = (words - bases[np.arange(self.bound), entropy.below(self.subset_size, self.bound)]) % self.domain
        offsets = np.where(entropy.chances(self.truth, self.bound), hits, self._misses(words, bases, entropy))
        return Translates(seed, offsets)

    def _misses(self, words: NDArray[np.int64], bases: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """For each word a uniform offset whose translate does not contain it."""
        offsets = entropy.below(self.domain, self.bound)
        while True:
            hit = (bases == ((words - offsets) % self.domain)[:, None]).any(axis=1)
            if not hit.any():
                return offsets
            offsets[hit] = entropy.below(self.domain, int(hit.sum()))

    def votes(self, report: Translates) -> NDArray[np.int64]:
        """The candidates that the report votes for, once for each word that does; votes for γ are dropped."""
        chosen = ((self.expand(report.seed) + report.offsets[:, None]) % self.domain).ravel()
        return chosen[chosen < self.candidates]

    def expand(self, seed: bytes) -> NDArray[np.int64]:
        """The B base subsets of a seed, one a row."""
        return base_subsets(seed, self.domain, self.bound, self.subset_size)

    @property
    def offset_bits(self) -> int:
        """The bits of one offset on the wire."""
        return (self.domain - 1).bit_length()

    @property
    def payload_bytes(self) -> int:
        """The length of every report."""
        return SEED_BYTES + -(-self.bound * self.offset_bits // 8)

    @property
    def most_votes(self) -> int:
        """Every report has B subsets of d candidates."""
        return self.bound * self.subset_size

    @property
    def likeliest(self) -> float:
        """The seed is uniform, whatever is held, and the offsets make a report less likely still."""
        return -8 * SEED_BYTES * math.log(2)  # which is a float just below ln 2

    def encode(self, report: Translates) -> bytes:
        """The seed, then the offsets in fields of equal width."""
        return report.seed + pack(report.offsets, self.offset_bits)

    def decode(self, payload: bytes) -> Translates:
        """The report in a payload, or a ReportError."""
        if len(payload) != self.payload_bytes:
            raise ReportError(f"{len(payload)} bytes where this layer's reports have {self.payload_bytes}")
        offsets = unpack(payload[SEED_BYTES:], self.offset_bits, self.bound)
        if offsets.max() >= self.domain:
            raise ReportError("an offset lies outside the domain of the layer")
        return Translates(payload[:SEED_BYTES], offsets)
