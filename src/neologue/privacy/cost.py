"""What a collection costs in central ε, by every theorem that applies.

A user is in one cohort, and all other sums are independent of them or follow from what was published. So the cost of a
run is that of its costliest cohort.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from neologue.privacy.bound import Bound, rounded_up
from neologue.privacy.collection import Cohort, Collection
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


@dataclass(frozen=True)
class Cost:
    """The central ε of a run at one δ: for one word replaced, and for a whole user."""

    delta: float
    item: Mapping[str, Bound]
    user: Mapping[str, Bound]
    item_local: float
    user_local: float
    item_floor: float
    """No analysis could state less for a word."""

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
        found = (self.item_best if unit == "item" else self.user_best).epsilon
        assert found is not None
        return found


def cost(collection: Collection, delta: float) -> Cost:
    """The bounds of a run: of its costliest cohort, each."""
    check_delta(delta)
    cohorts = sorted(set(collection.cohorts))
    if not cohorts:
        return _of_nothing(collection, delta)
    asked = [(collection.randomizer(cohort), cohort) for cohort in cohorts]
    local = max(mechanism.statement.enforced_epsilon for mechanism, _ in asked)
    item, user, floor = (_unary if isinstance(asked[0][0], Unary) else _selection)(asked, delta)
    return Cost(delta, item, user, rounded_up(local), rounded_up(collection.words_per_user * local), floor)


def _of_nothing(collection: Collection, delta: float) -> Cost:
    """Nothing was collected, so nothing was given away."""
    nothing = Bound("nothing was collected", 0.0)
    items = ("closed_form", "fmt2021", "fmt2023", "blanket", "sums_only")
    return Cost(delta, dict.fromkeys(items, nothing), dict.fromkeys(("group", "joint"), nothing), 0.0, 0.0, 0.0)


Asked = tuple[Randomizer[Any], Cohort]


def _unary(asked: list[Asked], delta: float) -> tuple[dict[str, Bound], dict[str, Bound], float]:
    """One-report unary: the fewest reports hide the least, whatever the candidates."""
    unary, cohort = asked[0]
    assert isinstance(unary, Unary)
    several = f"a unary report speaks of up to {unary.bound} words, and the theorem is about reports on one word"
    apart = unary.bound == 1
    item = {
        "closed_form": closed_form(unary.epsilon, cohort.reports, delta) if apart else Bound.none(CLOSED_FORM, several),
        "fmt2021": clones_2021(unary.epsilon, cohort.reports, delta) if apart else Bound.none(CLONES, several),
        "fmt2023": clones_2023(unary.epsilon, cohort.reports, delta) if apart else Bound.none(STRONGER_CLONES, several),
        "blanket": Bound.none(BLANKET, "it is made for Subset Selection"),
        "sums_only": sums_only(unary, cohort.reports, delta),
    }
    user = {"group": sums_group(unary, cohort.reports, delta), "joint": joint(unary, cohort.reports, delta)}
    return item, user, Sums.of(unary, cohort.reports).floor(delta)


def _selection(asked: list[Asked], delta: float) -> tuple[dict[str, Bound], dict[str, Bound], float]:
    """Subset Selection: every word is a report of its own."""
    epsilon, fewest = asked[0][0].epsilon, asked[0][1].reports * asked[0][0].bound
    hidden, all_hidden = Bound(BLANKET, 0.0), Bound(GROUP, 0.0)
    floor = 0.0
    for selection, cohort in asked:
        assert isinstance(selection, SubsetSelection)
        words = cohort.reports * selection.bound
        # What holds for the cohorts before is tried first: most cohorts cost no more.
        hidden = blanket(selection, words, delta, least=hidden.epsilon or 0.0)
        all_hidden = blanket_group(selection, words, delta, least=all_hidden.epsilon or 0.0)
        floor = max(floor, blanket_floor(selection, words, delta))
    dependent = "the votes of Subset Selection for two candidates are not independent"
    item = {
        "closed_form": closed_form(epsilon, fewest, delta),
        "fmt2021": clones_2021(epsilon, fewest, delta),
        "fmt2023": clones_2023(epsilon, fewest, delta),
        "blanket": hidden,
        "sums_only": Bound.none(SUMS_ONLY, dependent),
    }
    return item, {"group": all_hidden, "joint": Bound.none(JOINT, dependent)}, floor


def _best(bounds: Iterable[Bound], local: float) -> Bound:
    proved = [bound for bound in bounds if bound.epsilon is not None]
    return min([*proved, Bound(LOCAL, local)], key=lambda bound: bound.epsilon or 0.0)
