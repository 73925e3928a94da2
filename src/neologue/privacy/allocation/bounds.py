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
from collections import Counter
from functools import reduce

from neologue.privacy.allocation.excess_law import DOTS, ExcessLaw
from neologue.privacy.allocation.planned_layers import Allocation, PlannedLayer
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
    most = unary.statement.user_epsilon
    laws = _laws(unary, allocation)
    if laws is None:
        return Bound(ALLOCATED_USER, most)
    parts = [held.power(unary.bound).scaled(layer.share).multiple(times) for layer, times, held in laws]
    if allocation.unasked:
        parts.append(RatioLaw.constant(allocation.unasked))
    average = reduce(RatioLaw.plus, parts)

    def delta_of(epsilon: float) -> float:
        return average.excess_over(average, _factor(epsilon)) + DROPPED

    return Bound(
        ALLOCATED_USER, smallest_epsilon(delta_of, delta - allocation.overflow, most, laws=_factors(unary, allocation))
    )


def allocated_word(unary: Unary, allocation: Allocation, delta: float) -> Bound:
    """The bound for one word, where all other words of its user may be known; never above that of a known layer."""
    left = delta - allocation.overflow
    most = sums_only(unary, min(layer.reports for layer in allocation.layers), left).epsilon
    assert most is not None
    laws = _laws(unary, allocation)
    if laws is None:
        return Bound(ALLOCATED_WORD, most)
    thin = [
        (layer, times, held.thinned(DOTS), held.power(unary.bound - 1).thinned(DOTS)) for layer, times, held in laws
    ]

    def delta_of(epsilon: float) -> float:
        factor = _factor(epsilon)
        parts = [
            ExcessLaw.between(held, factor).times(others).scaled(layer.share).multiple(times)
            for layer, times, held, others in thin
        ]
        if allocation.unasked:
            parts.append(ExcessLaw.constant(allocation.unasked * (1 - factor)))
        return reduce(ExcessLaw.plus, parts).positive_part + DROPPED

    averaged = most * math.sqrt(sum(layer.share**2 for layer in allocation.layers))
    near = [averaged * share for share in BRACKET]
    factors = _factors(unary, allocation)
    return Bound(ALLOCATED_WORD, smallest_epsilon(delta_of, left, most, laws=factors, near=near))


def _laws(unary: Unary, allocation: Allocation) -> list[tuple[PlannedLayer, int, RatioLaw]] | None:
    """Each different layer, how many there are of it, and the ratio of a candidate that the user holds there.

    None if the losses of a whole user are too large to say anything.
    """
    laws = []
    for layer, times in sorted(Counter(allocation.layers).items()):
        held = RatioLaw.of_candidate(Sums.of(unary, layer.reports))
        if unary.bound * math.log(held.values[-1]) > LARGEST_LOSS:
            return None
        laws.append((layer, times, held))
    return laws


def _factor(epsilon: float) -> float:
    """e^ε, or less where that is no number in range: δ(ε) is not smaller then."""
    return math.exp(min(epsilon, LARGEST_LOSS))


def _factors(unary: Unary, allocation: Allocation) -> int:
    """How many laws of candidates, each with its rounding, were multiplied."""
    return CANDIDATES * unary.bound * len(allocation.layers)
