"""What the sums of unary reports give away, when nothing but the sums is seen.

The votes of different candidates are independent, so each candidate stands for itself: it has X + Bern(p) votes if
the user in question holds it and X + Bern(q) if not, where X are the votes of the others. A replaced word is two such
candidates, one each way; a replaced user is B times two.

How much X hides depends on how many of the other n-1 hold the candidate: with h holders X is Bin(h, 1/2) +
Bin(n-1-h, q). Nobody knows h, so we take the worst of all. Between a and b holders, X contains a fair coins and n-1-b
noisy ones for sure, and the rest is independent of the user: leaving it away can only show more. A few such ranges
cover all h, and the pointwise largest of their privacy profiles is a profile again. Where q is close to 1/2 it is
simpler: Bern(q) is a fair coin with probability 2q, whoever holds what.

A profile becomes a law of privacy losses on a grid by connecting its dots (Doroshenko et al. 2022), which never
understates it, and independent candidates compose by convolution. `docs/privacy/sums.md` has the proofs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.privacy.binomial_pair import plausible_range
from neologue.privacy.bound import Bound, group_epsilon, smallest_epsilon, surely_below
from neologue.privacy.shuffling import GROUP
from neologue.randomizers.unary import Unary

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import DensePLDPmf

Floats = NDArray[np.float64]

SUMS_ONLY = "Theorem 1 of docs/privacy/sums.md: independent sums, for any number of other holders"
JOINT = "Theorem 2 of docs/privacy/sums.md: independent sums, all words of a user at once"

LEFT_OUT = 1e-30
"""The chance of values that are left out of a law; it is added to δ."""
FIRST_RANGE = 1e-3
"""The range of the fewest holders, as a share of the reports: the price of not knowing their number."""
SLOWEST_GROWTH, FASTEST_GROWTH = 1.1, 1.5
"""By how much the next range may reach farther than the one before."""
MOST_VOTES = 60_000
"""With more votes from noise than this, two ranges have to do: fair and noisy coins are not added up."""
SAFETY = 1.05
"""How much wider the coins of the second of these ranges spread than the noise of the first."""
NEGLIGIBLE = 1e-26
"""Losses whose chance is below this are beyond the grid; it is added to δ."""
FINENESS = 100
"""Steps of the grid in one standard deviation of a candidate's loss."""
COARSEST_STEP = 5e-3
VANISHING = 1e-100
"""Chances below this are no part of a law, so that no product of two is too small for a float."""
CANDIDATES = 2
"""How many candidates change when a word is replaced."""
TILTS = (1e-4, 300.0, 101)
"""Which θ are tried, times the largest loss: from the smallest to the largest, and how many."""
CHERNOFF_TILTS = 20
"""How many θ are tried on each side of a sum; beyond one over the number of its values, none does better."""
TRANSFORM_ROUNDING = 2.0**-50
"""The rounding of a Fourier transform, per doubling of its length: 7 units of roundoff, and some for the power."""


@dataclass(frozen=True)
class Sums:
    """The sums of one layer's reports, and what they show of one of the users."""

    p: float
    q: float
    reports: int

    @classmethod
    def of(cls, unary: Unary, reports: int) -> "Sums":
        """The sums of so many honest reports."""
        return cls(float(unary.channel.p), float(unary.channel.q), reports)

    @cached_property
    def step(self) -> float:
        """The step of the grid of losses."""
        spread = math.sqrt(max(self.reports - 1, 1) * self.q * (1 - self.q))
        return min(COARSEST_STEP, (self.p - self.q) / spread / FINENESS)

    @cached_property
    def word(self) -> "DensePLDPmf":
        """The law of the loss when one word is replaced: a candidate is given up, another taken up."""
        from dp_accounting.pld.pld_pmf import DensePLDPmf

        lowest = -(len(self._losses) // 2)
        return DensePLDPmf(self.step, lowest, self._losses, 2 * self._candidate[2], pessimistic_estimate=True)

    @cached_property
    def _losses(self) -> Floats:
        given_up, taken_up, _ = self._candidate
        return np.convolve(given_up, taken_up)

    @property
    def held_candidate(self) -> tuple[Floats, Floats, float]:
        """The losses of a candidate that the user holds, their chances if so, and the mass beyond them on each side."""
        given_up, _, beyond = self._candidate
        losses = self.step * (np.arange(len(given_up), dtype=np.float64) - len(given_up) // 2)
        return losses, given_up, beyond

    def word_delta(self, epsilon: float) -> float:
        """δ(ε) of one word."""
        return float(self.word.get_delta_for_epsilon(epsilon))

    def user_delta(self, words: int) -> Callable[[float], float]:
        """δ(ε) when so many words are replaced."""
        beyond = -math.expm1(words * math.log1p(-min(0.5, CANDIDATES * self._candidate[2])))
        finite = composed(self._losses, self.step, words)
        return lambda epsilon: finite(epsilon) + beyond

    def floor(self, delta: float) -> float:
        """An ε that no analysis of one word can go below: what the sums show if nobody else holds it."""
        holds, lacks = self.alone
        ratio = holds / lacks

        def delta_of(epsilon: float) -> float:
            # One candidate is given up; what it does not show of ε has to be seen in the one taken up.
            left = math.exp(epsilon) / ratio
            seen = float((holds * left * _below(holds, lacks, ratio, 1 / left)).sum())
            # Values left out may have stood against those seen.
            return seen - math.exp(epsilon) * LEFT_OUT

        return surely_below(smallest_epsilon(delta_of, delta, math.log((1 - self.q) / self.q), laws=CANDIDATES))

    @cached_property
    def alone(self) -> tuple[Floats, Floats]:
        """The law of the votes of a candidate that nobody else holds, if the user holds it and if not."""
        return self._law(0, self.reports - 1)

    def _noises(self) -> Iterator[tuple[int, int]]:
        """How many fair and how many noisy coins hide a candidate at least, range by range of its holders."""
        others = self.reports - 1
        worth = 1 / (4 * self.q * (1 - self.q))  # so many noisy coins spread as much as a fair one
        few = others * self.q <= MOST_VOTES
        if (1 + worth) / 2 < SLOWEST_GROWTH or (not few and self.q > 1 / 8):
            yield plausible_range(others, 2 * self.q, LEFT_OUT / 4)[0], 0
        elif not few:
            enough = min(others, int(SAFETY * others / worth))
            yield from ((0, others - enough), (enough, 0))
        else:
            first, last = 0, int(others * FIRST_RANGE)
            yield first, others - last
            while last < others:
                first = last + 1
                last = min(others, int(first * min(FASTEST_GROWTH, (1 + worth) / 2)))
                yield first, others - last

    def _law(self, fair: int, noisy: int) -> tuple[Floats, Floats]:
        """The law of the votes of a candidate behind such noise, if the user holds it and if not."""
        votes = _sum_law(fair, noisy, self.q)
        here, one_less = np.append(votes, 0.0), np.insert(votes, 0, 0.0)
        return (1 - self.p) * here + self.p * one_less, (1 - self.q) * here + self.q * one_less

    @cached_property
    def _candidate(self) -> tuple[Floats, Floats, float]:
        """The laws of the loss of a candidate given up and of one taken up, on one grid, and the mass beyond it."""
        laws = [self._law(fair, noisy) for fair, noisy in self._noises()]
        ratios = [holds / lacks for holds, lacks in laws]
        reach = max(self._reach(law, ratio) for law, ratio in zip(laws, ratios, strict=True))
        factors = np.exp(self.step * np.arange(reach + 1))
        above = np.full(reach + 1, LEFT_OUT)
        below = np.full(reach + 1, LEFT_OUT)
        for (holds, lacks), ratio in zip(laws, ratios, strict=True):
            above = np.maximum(above, _above(holds, lacks, ratio, factors) + LEFT_OUT)
            below = np.maximum(below, _below(holds, lacks, ratio, 1 / factors) + LEFT_OUT)
        # Σ max(lacks - α·holds, 0) = α·Σ max(lacks/α - holds, 0): the other way round is the same, mirrored.
        given_up = connected(factors, above, below)
        taken_up = connected(factors, below * factors, above / factors)
        return given_up, taken_up, float(max(above[-1], below[-1] * factors[-1]))

    def _reach(self, law: tuple[Floats, Floats], ratio: Floats) -> int:
        """How many steps of the grid the losses of a candidate reach, but for a negligible chance."""
        likely = np.flatnonzero(np.minimum(np.cumsum(law[1]), np.cumsum(law[0][::-1])[::-1]) > NEGLIGIBLE)
        return math.ceil(max(abs(math.log(ratio[likely[0]])), abs(math.log(ratio[likely[-1]]))) / self.step) + 1


def sums_only(unary: Unary, reports: int, delta: float) -> Bound:
    """The item-level bound of one word among so many reports of which only the sums are seen."""
    sums = Sums.of(unary, reports)
    most = unary.statement.enforced_epsilon
    return Bound(SUMS_ONLY, smallest_epsilon(sums.word_delta, delta, most, laws=CANDIDATES))


def joint(unary: Unary, reports: int, delta: float) -> Bound:
    """The user-level bound, all B words replaced at once."""
    sums = Sums.of(unary, reports)
    user_delta, most = sums.user_delta(unary.bound), unary.statement.user_epsilon
    return Bound(JOINT, smallest_epsilon(user_delta, delta, most, laws=CANDIDATES * unary.bound))


def sums_group(unary: Unary, reports: int, delta: float) -> Bound:
    """All B words replaced one after the other, each hidden in the sums."""
    sums = Sums.of(unary, reports)
    most = unary.statement.user_epsilon
    return Bound(GROUP, group_epsilon(sums.word_delta, unary.bound, delta, most, laws=CANDIDATES))


def connected(factors: Floats, above: Floats, below: Floats) -> Floats:
    """The masses of the losses whose profile runs straight between the given dots.

    `above` is Σ max(P - α·Q, 0) at the factors α ≥ 1, `below` is Σ max(α·Q - P, 0) at their inverses. Q has as much
    mass at a dot as the slope of the profile changes there, and P has α times that.
    """
    alphas = np.concatenate([1 / factors[:0:-1], factors])
    heights = np.concatenate([below[:0:-1], above])
    slopes = np.diff(heights) / np.diff(alphas)
    masses = np.diff(np.concatenate([[heights[0] / alphas[0]], slopes, [0.0]]))
    # The slopes of the two parts differ by 1, added here alone: elsewhere it would drown the smallest of them.
    masses[len(factors) - 1] += 1.0
    return np.asarray(np.maximum(masses, 0.0) * alphas)


def composed(losses: Floats, step: float, times: int) -> Callable[[float], float]:
    """δ(ε) of so many independent losses on a grid with 0 in its middle.

    The chance of a loss is multiplied by e^(θ·loss) before the Fourier transforms, and divided by it afterwards: with
    a θ that goes with ε their rounding is small beside δ(ε), and not only beside 1.
    """
    grid = step * (np.arange(len(losses), dtype=np.float64) - len(losses) // 2)
    tilts = np.append(0.0, np.geomspace(*TILTS) / grid[-1])
    masses = log_moments(grid, losses, tilts)

    @cache
    def power(index: int) -> tuple[Floats, Floats, float]:
        tilted = losses * np.exp(tilts[index] * grid - masses[index])
        first, chances = sum_law(tilted, times, NEGLIGIBLE)
        totals = step * (np.arange(len(chances), dtype=np.float64) + first - times * (len(losses) // 2))
        return totals, chances, transform_error(tilted, times, len(chances)) + NEGLIGIBLE

    def delta_of(epsilon: float) -> float:
        # Markov's inequality: no total above ε is likelier than e to this, and neither is the rounding that counts.
        exponents = times * masses - tilts * epsilon
        best = int(np.argmin(exponents))
        totals, chances, error = power(best)
        larger = totals > epsilon
        over = totals[larger] - epsilon
        seen = float(chances[larger] @ (np.exp(-tilts[best] * over) * -np.expm1(-over)))
        return (seen + error) * math.exp(exponents[best])

    return delta_of


def log_moments(values: Floats, chances: Floats, tilts: Floats) -> Floats:
    """The logarithm of E e^(θ·value) for each of some θ.

    Terms are taken relative to the largest one, so that no sum underflows.
    """
    possible = chances > 0
    values, logs = values[possible], np.log(chances[possible])
    found = np.empty(len(tilts))
    for number, tilt in enumerate(tilts.tolist()):
        exponents = tilt * values + logs
        largest = float(exponents.max())
        found[number] = largest + math.log(np.exp(exponents - largest).sum())
    return found


def sum_law(chances: Floats, times: int, tail: float) -> tuple[int, Floats]:
    """The law of the sum of so many independent whole numbers from 0 on: its first value, and the chances from there.

    Values on both sides that have a chance of at most `tail` together, by Chernoff's bound, are left out.
    """
    from scipy.fft import fft, ifft, next_fast_len

    tilts = np.arange(1, CHERNOFF_TILTS + 1) / len(chances)
    numbers, room = np.arange(len(chances), dtype=np.float64), math.log(2 / tail)
    most, least = ((times * log_moments(numbers, chances, sign * tilts) + room) / tilts for sign in (1, -1))
    last = min((len(chances) - 1) * times, math.ceil(most.min()))
    first = max(0, math.floor(-least.min()))
    length = next_fast_len(max(last - first + 1, len(chances)))
    # Whatever is beyond the length wraps around, so that the first value is somewhere in the middle.
    wrapped = np.real(ifft(fft(chances, length) ** times))
    return first, np.roll(wrapped, -first)[: last - first + 1]


def transform_error(losses: Floats, times: int, size: int) -> float:
    """How much a power by Fourier transforms in floating point may be off in all, by the usual bound on the 2-norm."""
    from scipy.fft import next_fast_len

    spread = float(np.linalg.norm(losses))
    length = next_fast_len(max(size, len(losses)))
    return (times + 1) * TRANSFORM_ROUNDING * math.log2(length) * spread * math.sqrt(length)


def _above(holds: Floats, lacks: Floats, ratio: Floats, factors: Floats) -> Floats:
    """Σ max(P - α·Q, 0): the ratio grows, so it is a sum over all values from some on."""
    held, lacking = (np.append(np.cumsum(law[::-1])[::-1], 0.0) for law in (holds, lacks))
    first = np.searchsorted(ratio, factors, side="right")
    return np.asarray(np.maximum(held[first] - factors * lacking[first], 0.0))


def _below(holds: Floats, lacks: Floats, ratio: Floats, factors: Floats) -> Floats:
    """Σ max(α·Q - P, 0): a sum over all values up to some."""
    held, lacking = (np.insert(np.cumsum(law), 0, 0.0) for law in (holds, lacks))
    end = np.searchsorted(ratio, factors, side="left")
    return np.maximum(factors * lacking[end] - held[end], 0.0)


def _sum_law(fair: int, noisy: int, q: float) -> Floats:
    """The law of so many fair and so many noisy coins, over its plausible values in a row."""
    laws = []
    for trials, chance in ((fair, 0.5), (noisy, q)):
        low, high = plausible_range(trials, chance, LEFT_OUT / 4)
        law = binom.pmf(np.arange(low, high + 1), trials, chance)
        laws.append(law[law > VANISHING])
    return laws[0] if noisy == 0 else laws[1] if fair == 0 else np.convolve(laws[0], laws[1])
