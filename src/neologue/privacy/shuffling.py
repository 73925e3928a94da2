"""Amplification by shuffling: what n reports of one word each hide of one of them.

Three theorems that hold for any randomizer whose law for one word is within e^ε of that for any other:
the closed form that the paper prints, the clones of Feldman, McMillan and Talwar (2021) and their stronger ones
(2023, Theorem 3.2). A report on several words is not such a randomizer: two users' reports differ in all of them.

And the privacy blanket of Subset Selection itself (Balle, Bell, Gascón and Nissim 2019). A report on y is with
probability g = (1-p)·s/(s-d) a uniform d-subset, and otherwise one that contains y. Reveal which of the other
reports are uniform, and take the rest away; of the others, all that matters is whether they contain the one word in
question, or the other one, alone. `docs/privacy/shuffling.md` has the proofs.
"""

import math
from collections.abc import Sequence

import numpy as np

from neologue import binom
from neologue.privacy.binomial_pair import COARSENESS, block_chances, pair_delta, plausible_range
from neologue.privacy.bound import Bound, group_epsilon, round_up, smallest_epsilon, surely_below
from neologue.randomizers.subset_selection import SubsetSelection

CLOSED_FORM = "Theorem 2 of Sun et al. 2024, as printed"
CLONES = "Theorem 3.1 of Feldman, McMillan and Talwar 2021, its pair of laws evaluated"
STRONGER_CLONES = "Theorem 3.2 of Feldman, McMillan and Talwar 2023, its pair of laws evaluated"
BLANKET = "the privacy blanket (Balle et al. 2019) of Subset Selection"

GROUP = "group privacy: B words replaced one after the other, each at the best item-level bound"

TAIL_SHARE = 1e-6
"""The share of δ that is set aside for what is left out of sums."""
SMALLEST_TAIL = 1e-300
BLOCKS = 24


def closed_form(epsilon: float, reports: int, delta: float) -> Bound:
    """The formula of the paper's theorem, where its condition holds."""
    room = reports / (8 * math.log(2 / delta)) - 1
    if room <= 0 or epsilon > math.log(room):
        limit = f"at most ln(n/(8 ln(2/δ)) - 1) = {math.log(room):.3g}" if room > 0 else "more reports"
        return Bound.none(CLOSED_FORM, f"its condition fails for {reports:,} reports: it needs a local ε of {limit}")
    lost = 4 * math.sqrt(2 * math.log(4 / delta)) / math.sqrt((math.exp(epsilon) + 1) * reports) + 4 / reports
    return Bound(CLOSED_FORM, min(epsilon, round_up(math.log1p(math.expm1(epsilon) * lost) * (1 + 1e-12))))


def clones_2021(epsilon: float, reports: int, delta: float) -> Bound:
    """The clones of 2021: each other report is one of the two in question with probability e^-ε."""
    return Bound(CLONES, _clones(epsilon, reports, delta, math.exp(-epsilon)))


def clones_2023(epsilon: float, reports: int, delta: float) -> Bound:
    """The clones of 2023: … with probability 2/(e^ε+1)."""
    return Bound(STRONGER_CLONES, _clones(epsilon, reports, delta, 2 / (math.exp(epsilon) + 1)))


def _clones(epsilon: float, reports: int, delta: float, chance: float) -> float:
    wrong = 1 / (math.exp(epsilon) + 1)
    tail = max(SMALLEST_TAIL, delta * TAIL_SHARE)
    return smallest_epsilon(
        lambda central: pair_delta(central, reports - 1, chance, 1 - wrong, wrong, tail), delta, epsilon
    )


def blanket(selection: SubsetSelection, reports: int, delta: float, least: float = 0.0) -> Bound:
    """The privacy blanket of Subset Selection, from the very probabilities that its sampler uses, or `least`."""
    most = selection.statement.enforced_epsilon
    tail = max(SMALLEST_TAIL, delta * TAIL_SHARE)
    # What holds at least is close to what can be proved, and costs little.
    floor = _floor(selection, reports, delta, COARSENESS)
    found = smallest_epsilon(
        lambda central: blanket_delta(selection, reports, central, tail),
        delta,
        max(most, least),
        least,
        near=[floor, 1.0003 * floor, 1.03 * floor],
    )
    return Bound(BLANKET, found)


def blanket_group(selection: SubsetSelection, reports: int, delta: float, least: float = 0.0) -> Bound:
    """All B words of a user replaced one after the other, each hidden by the blanket."""
    # What is left out of sums must stay small beside the δ of one step, which is far below that of all.
    tail = max(SMALLEST_TAIL, delta * TAIL_SHARE * math.exp(-selection.bound))
    found = group_epsilon(
        lambda central: blanket_delta(selection, reports, central, tail),
        selection.bound,
        delta,
        max(selection.statement.user_epsilon, least),
        least,
        single=_floor(selection, reports, delta, COARSENESS),
    )
    return Bound(GROUP, found)


def blanket_delta(selection: SubsetSelection, reports: int, epsilon: float, tail: float) -> float:
    """An upper bound on δ(ε) of a word among so many reports."""
    p, d, s = float(selection.channel.p), selection.subset_size, selection.domain
    both = d * (d - 1) / (s * (s - 1))
    target_both = p * (d - 1) / (s - 1)
    coin = min(1.0, 2 * d * (s - d) / (s * (s - 1)) / (1 - both))
    up, down = (chance / (1 - target_both) for chance in (p * (s - d) / (s - 1), (1 - p) * d / (s - 1)))
    uniform = min(1.0, (1 - p) * s / (s - d) * (1 - both))
    return (1 - target_both) * hidden_delta(epsilon, reports - 1, uniform, coin, up, down, tail)


def hidden_delta(
    epsilon: float, others: int, uniform: float, coin: float, up: float, down: float, tail: float
) -> float:
    """An upper bound on δ(ε) of a report among others of which a random number hide it: the core of every blanket.

    Each other report hides it with the chance `uniform`, and then as a coin that `pair_delta` describes.
    """
    low, high = plausible_range(others, uniform, tail)
    # More uniform reports hide more, so a block of their numbers is as good as its smallest at least.
    edges = np.unique(np.linspace(low, high + 1, BLOCKS + 1).astype(np.int64)[:-1])
    chances = block_chances(edges, high + 1, others, uniform)
    left_out = float(binom.cdf(low - 1, others, uniform) + binom.sf(high, others, uniform))
    seen = sum(
        chance * pair_delta(epsilon, edge, coin, up, down, tail) if chance > tail else chance
        for edge, chance in zip(edges.tolist(), chances.tolist(), strict=True)
    )
    return float(left_out + seen)


def blanket_floor(selection: SubsetSelection, reports: int, delta: float) -> float:
    """An ε that no analysis of shuffled reports can go below.

    All others hold one third word, and whoever looks takes away every report that contains it: what is left are
    uniform subsets, as few as the blanket has.
    """
    # Sums that are taken together stand for each other on the side that is wrong here.
    close = _floor(selection, reports, delta, COARSENESS)
    return surely_below(_floor(selection, reports, delta, 0.0, [close * (1 - COARSENESS), close]))


def _floor(
    selection: SubsetSelection, reports: int, delta: float, coarseness: float, near: Sequence[float] = ()
) -> float:
    p, d, s = float(selection.channel.p), selection.subset_size, selection.domain
    if s < 3:
        return 0.0
    alone = d * (s - 1 - d) / ((s - 1) * (s - 2))
    up, down = p * (s - d) * (s - d - 1) / ((s - 1) * (s - 2)), (1 - p) * alone
    tail = max(SMALLEST_TAIL, delta * TAIL_SHARE)
    return smallest_epsilon(
        lambda central: pair_delta(central, reports - 1, 2 * down, up, down, tail, coarseness) - tail,
        delta,
        selection.statement.enforced_epsilon,
        near=near,
    )
