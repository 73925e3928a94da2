"""What a collection costs in central ε, by every theorem that applies.

A user is in one cohort, and all other sums are independent of them or follow from what was published. So the cost of a
run is that of its costliest cohort.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from neologue.privacy.bound import Bound, rounded_up
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.levels import check_delta
from neologue.privacy.shuffling import (
    BLANKET,
    CLONES,
    CLOSED_FORM,
    GROUP,
    STRONGER_CLONES,
    blanket,
    blanket_floor,
    blanket_group,
    clones_2021,
    clones_2023,
    closed_form,
)
from neologue.privacy.sums import JOINT, SUMS_ONLY, Sums, joint, sums_group, sums_only
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

LOCAL = "the local promise of every report"
DEPENDENT = "the votes of Subset Selection for two candidates are not independent"


@dataclass(frozen=True)
class Cost:
    """The central ε of a run at one δ: for one word replaced, and for a whole user."""

    delta: float
    item: Mapping[str, Bound]
    user: Mapping[str, Bound]
    item_local: float
    user_local: float
    item_floor: float
    """What a word surely costs: of Subset Selection, if reports are seen one by one, shuffled; of unary, the sums."""

    @property
    def item_best(self) -> Bound:
        """The smallest ε that is proved for a word."""
        return _best(self.item.values(), self.item_local)

    @property
    def user_best(self) -> Bound:
        """The smallest ε that is proved for a whole user."""
        return _best(self.user.values(), self.user_local)

    def best(self, unit: str) -> float:
        """The smallest ε that is proved for a unit, `item` or `user`."""
        return (self.item_best if unit == "item" else self.user_best).epsilon or 0.0


@lru_cache(maxsize=64)
def cost(collection: Collection, delta: float) -> Cost:
    """The bounds of a run: of its costliest cohort, each."""
    check_delta(delta)
    asked = _asked(collection)
    if not asked:
        return _of_nothing(delta)
    item, user, floor = (
        (_unary_item, _unary_user, _unary_floor)
        if isinstance(asked[0][0], Unary)
        else (_selection_item, _selection_user, _selection_floor)
    )
    local = _local(asked)
    return Cost(
        delta,
        item(asked, delta),
        user(asked, delta),
        rounded_up(local),
        rounded_up(collection.words_per_user * local),
        floor(asked, delta),
    )


def central_epsilon(collection: Collection, delta: float, unit: str) -> float:
    """The smallest ε that is proved for a unit, `item` or `user`: as of `cost`, without the work for the other."""
    check_delta(delta)
    asked = _asked(collection)
    if not asked:
        return 0.0
    unary = isinstance(asked[0][0], Unary)
    if unit == "item":
        bounds, words = (_unary_item if unary else _selection_item)(asked, delta), 1
    else:
        bounds, words = (_unary_user if unary else _selection_user)(asked, delta), collection.words_per_user
    return _best(bounds.values(), rounded_up(words * _local(asked))).epsilon or 0.0


AskedBatch = tuple[Randomizer[Any], Batch]


def _asked(collection: Collection) -> list[AskedBatch]:
    return [(collection.randomizer(batch), batch) for batch in sorted(set(collection.batches)) if batch.reports]


def _local(asked: list[AskedBatch]) -> float:
    return max(mechanism.statement.enforced_epsilon for mechanism, _ in asked)


def _of_nothing(delta: float) -> Cost:
    """Nothing was collected, so nothing was given away."""
    nothing = Bound("nothing was collected", 0.0)
    items = ("closed_form", "fmt2021", "fmt2023", "blanket", "sums_only")
    return Cost(delta, dict.fromkeys(items, nothing), dict.fromkeys(("group", "joint"), nothing), 0.0, 0.0, 0.0)


def _unary_item(asked: list[AskedBatch], delta: float) -> dict[str, Bound]:
    """One-report unary: the fewest reports hide the least, whatever the candidates."""
    unary, reports = _fewest(asked)
    several = f"a unary report speaks of up to {unary.bound} words, and the theorem is about reports on one word"
    apart = unary.bound == 1
    return {
        "closed_form": closed_form(unary.epsilon, reports, delta) if apart else Bound.none(CLOSED_FORM, several),
        "fmt2021": clones_2021(unary.epsilon, reports, delta) if apart else Bound.none(CLONES, several),
        "fmt2023": clones_2023(unary.epsilon, reports, delta) if apart else Bound.none(STRONGER_CLONES, several),
        "blanket": Bound.none(BLANKET, "it is made for Subset Selection"),
        "sums_only": sums_only(unary, reports, delta),
    }


def _unary_user(asked: list[AskedBatch], delta: float) -> dict[str, Bound]:
    unary, reports = _fewest(asked)
    return {"group": sums_group(unary, reports, delta), "joint": joint(unary, reports, delta)}


def _unary_floor(asked: list[AskedBatch], delta: float) -> float:
    return Sums.of(*_fewest(asked)).floor(delta)


def _fewest(asked: list[AskedBatch]) -> tuple[Unary, int]:
    unary, batch = asked[0]
    assert isinstance(unary, Unary)
    return unary, batch.reports


def _selection_item(asked: list[AskedBatch], delta: float) -> dict[str, Bound]:
    """Subset Selection: every word is a report of its own."""
    epsilon, fewest = asked[0][0].epsilon, asked[0][1].reports * asked[0][0].bound
    hidden = Bound(BLANKET, 0.0)
    for selection, words in _selections(asked):
        # What holds for the cohorts before is tried first: most cohorts cost no more.
        hidden = blanket(selection, words, delta, least=hidden.epsilon or 0.0)
    return {
        "closed_form": closed_form(epsilon, fewest, delta),
        "fmt2021": clones_2021(epsilon, fewest, delta),
        "fmt2023": clones_2023(epsilon, fewest, delta),
        "blanket": hidden,
        "sums_only": Bound.none(SUMS_ONLY, DEPENDENT),
    }


def _selection_user(asked: list[AskedBatch], delta: float) -> dict[str, Bound]:
    hidden = Bound(GROUP, 0.0)
    for selection, words in _selections(asked):
        hidden = blanket_group(selection, words, delta, least=hidden.epsilon or 0.0)
    return {"group": hidden, "joint": Bound.none(JOINT, DEPENDENT)}


def _selection_floor(asked: list[AskedBatch], delta: float) -> float:
    return max(blanket_floor(selection, words, delta) for selection, words in _selections(asked))


def _selections(asked: list[AskedBatch]) -> Iterator[tuple[SubsetSelection, int]]:
    """The mechanism of each cohort, and the words in its reports."""
    for selection, batch in asked:
        assert isinstance(selection, SubsetSelection)
        yield selection, batch.reports * selection.bound


def _best(bounds: Iterable[Bound], local: float) -> Bound:
    proved = [bound for bound in bounds if bound.epsilon is not None]
    return min([*proved, Bound(LOCAL, local)], key=lambda bound: bound.epsilon or 0.0)
