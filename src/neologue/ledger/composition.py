"""What several collections cost together.

Users who took part in all of them, one after the other, spend in sequence: what each collection shows of them adds up,
and we compose laws of losses, which costs far less than the sum of the ε. A user is in one batch of each collection,
nobody says which, so a collection has the pointwise largest profile of its batches; or a smaller one, where it is
proved that nobody can tell which. Users who took part in one of them each spend in parallel: the ε is that of the
costliest.

`docs/ledger.md` says which batches can be left out, and why.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.ledger.budget import Budget, decimal
from neologue.privacy.allocation.bounds import rounded_laws, user_delta, word_delta
from neologue.privacy.allocation.planned_layers import Allocation
from neologue.privacy.bound import log_group_delta, round_up, smallest_epsilon
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.levels import check_delta
from neologue.privacy.losses import Losses
from neologue.privacy.privacy_profile import PrivacyProfile
from neologue.privacy.shuffling import SMALLEST_TAIL, blanket_delta
from neologue.privacy.sums import CANDIDATES, Sums
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.thresholds import LARGEST_EPSILON
from neologue.randomizers.unary import Unary
from neologue.table import Table

Floats = NDArray[np.float64]

FINENESS = 50
"""Steps of the grid in one standard deviation of a loss: rounding to it widens the sum by a part in 10,000."""
MOST_STEPS = 10_000
"""The most steps from no loss to the largest."""
TAIL_SHARE = 1e-8
"""The share of δ that each convolution may set aside for the largest losses."""
LEFT_OUT = 1e-24
"""The chance of what is left out of the sums for Subset Selection; it is part of δ."""
DEEPEST = 1e-20
"""Where δ is smaller than this, a profile of Subset Selection has its last dot."""
CENTRAL_DOT, OUTER_DOT = 0.2, 0.03
"""How far dots are apart: in standard deviations near ε = 0, farther out as a share of ε."""
HUNDREDTHS = 100
TRIES = 6
"""How often what would fit is guessed, before it is searched for by halves."""
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LossPart:
    """What one collection shows of a user: so many times what a profile says."""

    profile: PrivacyProfile
    times: int
    local: float
    """The ε that holds for it once anyway."""
    laws: int
    """How many laws, each with its rounding, were multiplied for it."""


def composed_epsilon(collections: Iterable[Collection], delta: float, unit: str) -> float:
    """The central ε of collections that the same users took part in, at one δ for all; rounded up.

    At most the sum of their ε at δ/k each, and at most the sum of their local ε.

    >>> from neologue import Batch, Collection, composed_epsilon
    >>> spring = Collection("unary", epsilon=7.0, words_per_user=60, batches=(Batch(200_000, 500_000),) * 5)
    >>> composed_epsilon([spring, spring], delta=1e-10, unit="item")
    0.42071
    """
    check_delta(delta)
    repeated = Counter(costliest(collection) for collection in collections if happened(collection))
    parts = [replace(part, times=part.times * n) for facts, n in repeated.items() for part in (_part(facts, unit),)]
    if not parts:
        return 0.0
    most = sum(part.times * part.local for part in parts)
    laws = sum(part.times * part.laws for part in parts)
    return round_up(smallest_epsilon(_composed(parts, delta).delta, delta, most, laws=laws))


def local_sum(collections: Iterable[Collection]) -> Decimal:
    """The local ε of one word in all collections together, whatever becomes of the reports.

    A batch is enough, even one without a report: its users were invited, and what they sent may have been seen.
    """
    return sum((decimal(collection.epsilon) for collection in collections if collection.batches), Decimal(0))


def fits(collections: Sequence[Collection], budget: Budget) -> bool:
    """Whether so much may be collected from the same users."""
    # The sum first: it is known at once.
    return budget.allows_locally(local_sum(collections)) and budget.allows(
        composed_epsilon(collections, budget.delta, budget.unit), local_sum(collections)
    )


def largest_fitting(spent: Sequence[Collection], planned: Collection, budget: Budget) -> float | None:
    """The largest local ε, in hundredths, with which a planned collection still fits; None if none does."""
    most = int(LARGEST_EPSILON * HUNDREDTHS)
    if budget.local_epsilon is not None:
        most = min(most, int((decimal(budget.local_epsilon) - local_sum(spent)) * HUNDREDTHS))
    before = composed_epsilon(spent, budget.delta, budget.unit)
    if most < 1 or before >= budget.epsilon:
        return None
    fitting, too_much = 0, most + 1
    guess = min(most, round(planned.epsilon * HUNDREDTHS))
    for tried in itertools.count(1):
        collection = replace(planned, epsilon=guess / HUNDREDTHS)
        after = composed_epsilon([*spent, collection], budget.delta, budget.unit)
        fitting, too_much = (guess, too_much) if after <= budget.epsilon else (fitting, guess)
        if too_much - fitting == 1:
            return fitting / HUNDREDTHS or None
        # Squares of ε nearly add up, and that of a collection nearly grows with e^(local ε); if not, halving will do.
        wanted = math.log((budget.epsilon**2 - before**2) / max(after**2 - before**2, TINY))
        aim = guess + math.floor(wanted * HUNDREDTHS) if tried < TRIES else (fitting + too_much) // 2
        guess = min(too_much - 1, max(fitting + 1, aim))
    raise AssertionError("halving ends")


def happened(collection: Collection) -> bool:
    """Whether any report was counted."""
    return any(batch.reports > 0 for batch in collection.batches)


def costliest(collection: Collection) -> Collection:
    """The same without batches that show no more than others do, and without those in which nobody took part."""
    batches = sorted({batch for batch in collection.batches if batch.reports > 0})
    return replace(collection, batches=COMPOSITIONS[collection.mechanism].costliest(collection, batches))


def _costliest_unary(collection: Collection, batches: list[Batch]) -> tuple[Batch, ...]:
    """Fewer reports hide less, and the number of candidates does not matter."""
    return tuple(Batch(batch.reports, 1) for batch in batches[:1])


def _costliest_selections(collection: Collection, batches: list[Batch]) -> tuple[Batch, ...]:
    shown = {batch: _shown(collection.randomizer(batch), batch) for batch in batches}
    front = [
        batch
        for batch in batches
        if not any(
            other != batch and all(more >= less for more, less in zip(shown[other], shown[batch], strict=True))
            for other in batches
        )
    ]
    # The costliest first: its standard deviation is about √(U/n).
    return tuple(sorted(front, key=lambda batch: -shown[batch][1] / batch.reports))


def _shown(selection: Any, batch: Batch) -> tuple[float, ...]:  # noqa: ANN401
    """Four numbers of a Subset Selection batch; one that is as large in all shows as much, by docs/ledger.md.

    The reports, the fewer the more; the chances that a report contains its word and not a given other one, and both;
    and the share of reports that depend on the word.
    """
    p, d, s = float(selection.channel.p), selection.subset_size, selection.domain
    return -batch.reports, p * (s - d) / (s - 1), p * (d - 1) / (s - 1), -(1 - p) * s / (s - d)


@functools.lru_cache(maxsize=256)
def _part(collection: Collection, unit: str) -> LossPart:
    """What a collection shows of one word, or of all words of a user."""
    asked = [(collection.randomizer(batch), batch.reports) for batch in collection.batches]
    local = max(mechanism.statement.enforced_epsilon for mechanism, _ in asked)
    words = collection.words_per_user if unit == "user" else 1
    composition = COMPOSITIONS[collection.mechanism]
    if composition.allocated_part and not collection.allocation.reason:
        return composition.allocated_part(asked[0][0], collection.allocation, unit, words * local)
    return composition.part(asked, words, local)


def _unary_part(asked: list[tuple[Unary, int]], words: int, local: float) -> LossPart:
    """Each word of a user is a loss of its own; the batch with the fewest reports is the only one."""
    unary, reports = asked[0]
    return LossPart(_of_word(Sums.of(unary, reports), local), words, local, CANDIDATES)


def _allocated_part(unary: Unary, allocation: Allocation, unit: str, local: float) -> LossPart:
    """The layer of a user is not known: one profile for all words that are replaced.

    Whoever knew the layer would learn at least as much, so where that bound is smaller, it holds too.
    """
    smallest = Sums.of(unary, min(layer.reports for layer in allocation.layers))
    hidden = (user_delta if unit == "user" else word_delta)(unary, allocation)
    known = smallest.user_delta(unary.bound) if unit == "user" else smallest.word_delta

    def delta_of(epsilon: float) -> float:
        return min(hidden(epsilon), known(epsilon) + allocation.overflow)

    deepest = max(DEEPEST, allocation.overflow * (1 + TINY))
    epsilons, deltas = _dots(delta_of, local, deepest)
    if epsilons[-1] < local:
        epsilons, deltas = [*epsilons, local], [*deltas, 0.0]
    return LossPart(_through(np.array(epsilons), np.array(deltas), local), 1, local, rounded_laws(unary, allocation))


def _selection_part(asked: list[tuple[SubsetSelection, int]], words: int, local: float) -> LossPart:
    return LossPart(_of_selections(asked, words, local), 1, words * local, words)


@dataclass(frozen=True)
class Composition:
    """How the losses of several collections by one randomizer add up."""

    costliest: Callable[[Collection, list[Batch]], tuple[Batch, ...]]
    """Those of some batches, in ascending order, that show as much as all of them."""
    part: Callable[[list[tuple[Any, int]], int, float], LossPart]
    """What randomizers, each with its reports, show of so many words replaced, given the local ε of one."""
    allocated_part: Callable[[Any, Allocation, str, float], LossPart] | None = None
    """What planned layers show of a unit if nobody knows in which one a user was, given its local ε; None if that is
    not proved."""


COMPOSITIONS: Table[Composition] = Table(
    "composition of losses for the randomizer",
    "neologue.ledger.composition",
    {
        Unary.name: Composition(_costliest_unary, _unary_part, _allocated_part),
        SubsetSelection.name: Composition(_costliest_selections, _selection_part),
    },
)


def _of_word(sums: Sums, local: float) -> PrivacyProfile:
    """The profile of one word in the sums of unary reports: dots on the grid of its law."""
    law = sums.word
    epsilons = np.append(sums.step * np.arange(min(law.size // 2 + 1, math.ceil(local / sums.step))), local)
    return _through(epsilons, np.asarray(law.get_delta_for_epsilon(epsilons)), local)


def _of_selections(asked: list[tuple[SubsetSelection, int]], words: int, local: float) -> PrivacyProfile:
    """The profile of so many words replaced one after the other, among the reports of any of the batches."""
    (selection, reports), *others = asked
    epsilons, deltas = _dots(functools.partial(_group_delta, selection, reports, words), words * local, DEEPEST)
    for selection, reports in others:
        # δ never grows with ε: as long as the largest so far covers the last one computed, no other is needed.
        known = 1.0
        for index, epsilon in enumerate(epsilons):
            if known > deltas[index]:
                known = _group_delta(selection, reports, words, epsilon)
                deltas[index] = max(deltas[index], known)
    return _through(np.array(epsilons), np.array(deltas), words * local)


def _dots(delta_of: Callable[[float], float], local: float, deepest: float) -> tuple[list[float], list[float]]:
    """Where the profile of δ(ε) has its dots, from 0 until it is deep enough or the local ε is reached, and its δ."""
    at_no_loss = delta_of(0.0)
    spread = max(at_no_loss * math.sqrt(2 * math.pi), local / MOST_STEPS)
    epsilons, deltas = [0.0], [at_no_loss]
    while deltas[-1] > deepest and epsilons[-1] < local:
        epsilons.append(min(local, epsilons[-1] + max(CENTRAL_DOT * spread, OUTER_DOT * epsilons[-1])))
        deltas.append(delta_of(epsilons[-1]))
    return epsilons, deltas


def _group_delta(selection: SubsetSelection, reports: int, words: int, epsilon: float) -> float:
    """δ(ε) of so many words replaced one after the other: Σ e^(i·ε/words)·δ(ε/words) over the steps i."""
    each = epsilon / words
    contributions = selection.channel.trials(reports)
    tail = max(SMALLEST_TAIL, LEFT_OUT * math.exp(-words))
    delta = blanket_delta(selection, contributions, each, tail)
    if words == 1 or delta <= 0:
        return min(1.0, delta)
    return math.exp(min(0.0, log_group_delta(delta, words, epsilon)))


def _through(epsilons: Floats, deltas: Floats, local: float) -> PrivacyProfile:
    """The profile through dots; δ is 0 where the local ε is reached, and never above what that says."""
    return PrivacyProfile.through(epsilons, np.minimum(deltas, PrivacyProfile.of_local(local).at(epsilons)))


def _composed(parts: Sequence[LossPart], delta: float) -> Losses:
    """The law of the losses of all parts, on one grid."""
    number = sum(part.times for part in parts)
    tail = delta * TAIL_SHARE
    profiles = [(part.profile.cut(tail / number), part.times) for part in parts]
    variance = sum(times * profile.variance for profile, times in profiles)
    reach = max(profile.reach for profile, _ in profiles)
    step = max(math.sqrt(variance / number) / FINENESS, reach / MOST_STEPS)
    laws = sorted((profile.losses(step).times(times, tail) for profile, times in profiles), key=lambda law: law.size)
    return functools.reduce(lambda whole, law: whole.and_then(law, tail), laws)
