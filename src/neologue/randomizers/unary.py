"""One-report unary encoding: the whole sample of a device as one noisy bit vector.

The device holds a set of at most B candidates. Bit z of its report is 1 with probability p = 1/2 if it holds
z and with probability q if it does not, all bits independent.

Theorem (local, item level). Replacing one held candidate by another changes the law of two bits, and the
likelihood ratio of any report is at most (p/q)·((1-q)/(1-p)) = (1-q)/q. Adding or dropping one changes a
single bit, by at most 1/(2q) or 2(1-q), both smaller for q ≤ 1/2. With q = k/2^64 ≥ 1/(e^ε+1) the ratio is
at most e^ε. A whole user, who may swap all B candidates at once, has B·ε.

The vector is drawn in work proportional to its ones: first how many bits the noise sets, exactly
binomial, then which, uniformly; the bits of held candidates are then replaced by fair coins.

Theorem (most ones). A report on h candidates has Bin(s-h, q) + Bin(h, 1/2) ones, which grows with h as q ≤ 1/2, so the
tail at h = B is the largest. What it exceeds with a chance of at most 2^-40 is found in integers that round up. That is
no more than the ones that the usual length has room for: a report that is read has this length.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import ONE, Entropy
from neologue.randomizers.binomial import draw_binomial, most_of_sum
from neologue.randomizers.channel import Channel
from neologue.randomizers.randomizer import RARE_BITS, Randomizer
from neologue.randomizers.rice import RiceCode
from neologue.randomizers.thresholds import exp_below, log_above, numerator_up


@dataclass(frozen=True, eq=False)
class Ones:
    """What a unary report says: the sorted positions of its set bits."""

    positions: NDArray[np.int64]


@dataclass(frozen=True)
class Unary(Randomizer[Ones]):
    """The unary randomizer of one layer.

    >>> from neologue import Unary
    >>> asked = Unary(candidates=1000, epsilon=6.0, bound=10)
    >>> float(asked.channel.p), round(float(asked.channel.q), 5)  # votes for what is held, and for what is not
    (0.5, 0.00247)
    >>> asked.statement.enforced_epsilon
    6.0
    """

    name: ClassVar[str] = "unary"

    @cached_property
    def noise(self) -> int:
        """The numerator of q: 2^64 / (e^ε + 1), rounded up."""
        return numerator_up(1 / (exp_below(self.epsilon) + 1))

    @cached_property
    def channel(self) -> Channel:
        """The p = 1/2 and the q that the sampler uses."""
        return Channel(Fraction(1, 2), Fraction(self.noise, ONE), contributions=1)

    @property
    def worst_ratio(self) -> Fraction:
        """The largest likelihood ratio between two sets that differ in one candidate."""
        return (1 - self.channel.q) / self.channel.q

    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Ones:
        """A report on the distinct candidates held. The randomness used does not depend on them."""
        self.check_held(held)
        count = draw_binomial(self.candidates, self.noise, entropy)
        noise = entropy.subset(self.candidates, count)
        coins = entropy.chances(ONE // 2, self.bound)[: len(held)]
        # The noise is in order: where a held candidate would be in it, it is, or the next one is there.
        found = np.searchsorted(noise, held)
        replaced = found[noise[np.minimum(found, count - 1)] == held] if count else found[:0]
        return Ones(np.sort(np.concatenate((np.delete(noise, replaced), held[coins]))))

    def votes(self, report: Ones) -> NDArray[np.int64]:
        """The candidates that the report votes for."""
        return report.positions

    @cached_property
    def code(self) -> RiceCode:
        """The code of a report on the wire, sized so that almost every report has the same length."""
        return RiceCode.of(self.candidates, self.noise, self.bound)

    @property
    def payload_bytes(self) -> int:
        """The length of a report, but for one in 2^40."""
        return self.code.usual_bytes

    @cached_property
    def most_votes(self) -> int:
        """The ones that a report exceeds with a chance of at most 2^-40, even if it holds B candidates."""
        held = min(self.bound, self.candidates)
        return most_of_sum((self.candidates - held, self.noise), (held, ONE // 2), RARE_BITS)

    @cached_property
    def likeliest(self) -> float:
        """An empty report of a device that holds nothing: (1-q)^s."""
        return math.nextafter(self.candidates * log_above(1 - self.channel.q), math.inf)

    def encode(self, report: Ones) -> bytes:
        """The gaps between the ones, padded to the length of the layer."""
        return self.code.encode(report.positions)

    def decode(self, payload: bytes) -> Ones:
        """The report in a payload, or a ReportError."""
        return Ones(self.code.decode(payload, self.most_votes))
