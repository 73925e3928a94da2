"""What sums of unary reports give away if it is not known in which layer a user was.

A user is in layer i with probability π_i, by a slot drawn independently of everything else, and every layer counts a
planned number of reports: what is missing to it is made up by reports of devices that hold nothing. With words x the
likelihood of all sums is then U = Σ π_i·ℓ_i times what it is with a device that holds nothing, where ℓ_i is the ratio
of layer i alone, and with other words x' it is V. So δ(ε) = E[max(0, U - e^ε·V)], and averages of independent ratios
are closer to 1 than each of them: where losses are small, ε is smaller by the root of the number of layers.

The ratios that we use are largest in convex order among all that may occur, whatever others hold, whatever earlier sums
made later layers ask, and whether or not the user answers. `docs/privacy/allocation.md` has the theorem and its proof;
amplification by random allocation is due to Feldman and Shenfeld (2025, arXiv:2502.08202).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from neologue.privacy.allocation.excess_law import DOTS, ExcessLaw
from neologue.privacy.allocation.planned_layers import Allocation
from neologue.privacy.allocation.ratio_law import DROPPED, RatioLaw
from neologue.privacy.bound import Bound, smallest_epsilon
from neologue.privacy.sums import CANDIDATES, Sums, sums_only
from neologue.randomizers.unary import Unary

ALLOCATED_WORD = "Theorem 2 of docs/privacy/allocation.md: the layer of a user is not known, their other words are"
ALLOCATED_USER = "Theorem 1 of docs/privacy/allocation.md: the layer of a user is not known"

LARGEST_LOSS = 600.0
"""With larger losses, ratios are no numbers in range; there is no privacy to be proved then."""
BRACKET = (0.9, 1.15)
"""Where the ε of a word is sought first, as shares of what it is if all losses are small."""


def allocated_user(unary: Unary, allocation: Allocation, delta: float) -> Bound:
    """The bound for a whole user: all words replaced by others."""
    if reason := _reason(allocation, delta):
        return Bound.none(ALLOCATED_USER, reason)
    most, factors = unary.statement.user_epsilon, rounded_laws(unary, allocation)
    return Bound(ALLOCATED_USER, smallest_epsilon(user_delta(unary, allocation), delta, most, laws=factors))


def allocated_word(unary: Unary, allocation: Allocation, delta: float) -> Bound:
    """The bound for one word, where all other words of its user may be known; never above that of a known layer."""
    if reason := _reason(allocation, delta):
        return Bound.none(ALLOCATED_WORD, reason)
    known = sums_only(unary, min(layer.reports for layer in allocation.layers), delta - allocation.overflow).epsilon
    assert known is not None
    averaged = known * math.sqrt(sum(layer.share**2 for layer in allocation.layers))
    found = smallest_epsilon(
        word_delta(unary, allocation),
        delta,
        known,
        laws=rounded_laws(unary, allocation),
        near=[averaged * share for share in BRACKET],
    )
    return Bound(ALLOCATED_WORD, found)


def user_delta(unary: Unary, allocation: Allocation) -> Callable[[float], float]:
    """δ(ε) when all words of a user are replaced."""
    laws = _laws(unary, allocation)
    if laws is None:
        return lambda epsilon: 1.0
    parts = [law.held.power(law.words).scaled(law.share).multiple(law.times) for law in laws]
    if allocation.unasked:
        parts.append(RatioLaw.constant(allocation.unasked))
    average = reduce(RatioLaw.plus, parts)

    def delta_of(epsilon: float) -> float:
        return average.excess_over(average, _factor(epsilon)) + DROPPED + allocation.overflow

    return delta_of


def word_delta(unary: Unary, allocation: Allocation) -> Callable[[float], float]:
    """δ(ε) when one word is replaced."""
    laws = _laws(unary, allocation)
    if laws is None:
        return lambda epsilon: 1.0
    thin = [(law, law.held.thinned(DOTS), law.held.power(law.words - 1).thinned(DOTS)) for law in laws]

    def delta_of(epsilon: float) -> float:
        factor = _factor(epsilon)
        parts = [
            ExcessLaw.between(held, factor).times(others).scaled(law.share).multiple(law.times)
            for law, held, others in thin
        ]
        if allocation.unasked:
            parts.append(ExcessLaw.constant(allocation.unasked * (1 - factor)))
        return reduce(ExcessLaw.plus, parts).positive_part + DROPPED + allocation.overflow

    return delta_of


def rounded_laws(unary: Unary, allocation: Allocation) -> int:
    """How many laws of candidates, each with its rounding, are multiplied."""
    return CANDIDATES * unary.bound * len(allocation.layers)


def _reason(allocation: Allocation, delta: float) -> str | None:
    """Why nothing can be claimed, if so."""
    if not allocation.reason and delta <= allocation.overflow:
        return f"planned numbers are exceeded with a chance of {allocation.overflow:g}, which is not below δ"
    return allocation.reason


@dataclass(frozen=True)
class _LayerLaw:
    """What is known of some equal layers."""

    share: float
    words: int
    times: int
    held: RatioLaw
    """The ratio of a candidate that the user holds there."""


def _laws(unary: Unary, allocation: Allocation) -> list[_LayerLaw] | None:
    """Each different layer; None if the losses of a whole user are too large to say anything."""
    laws = []
    for layer, times in allocation.different:
        asked = layer.asked_by(unary)
        held = RatioLaw.of_candidate(Sums.of(asked, layer.reports))
        if asked.bound * math.log(held.values[-1]) > LARGEST_LOSS:
            return None
        laws.append(_LayerLaw(layer.share, asked.bound, times, held))
    return laws


def _factor(epsilon: float) -> float:
    """e^ε, or less where that is no number in range: δ(ε) is not smaller then."""
    return math.exp(min(epsilon, LARGEST_LOSS))
