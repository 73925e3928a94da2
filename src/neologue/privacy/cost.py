"""What a collection costs in central ε, by every theorem that applies.

A user is in one batch, and all other sums are independent of them or follow from what was published. So the cost of a
run is that of its costliest batch; or less, where it is hidden in which batch a user was.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from neologue.privacy.allocation.bounds import ALLOCATED_USER, ALLOCATED_WORD, allocated_user, allocated_word
from neologue.privacy.allocation.floor import word_floor
from neologue.privacy.allocation.planned_layers import Allocation
from neologue.privacy.bound import Bound, round_up
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
from neologue.table import Table

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
    """The bounds of a run: of its costliest batch, each."""
    check_delta(delta)
    asked = _asked(collection)
    if not asked:
        return _of_nothing(delta)
    accounting, local = ACCOUNTING[collection.mechanism], _local(asked)
    hidden, claimed = accounting.hidden_layer, collection.allocation
    return Cost(
        delta,
        accounting.item(asked, delta) | {"allocation": hidden.item(asked[0][0], claimed, delta)},
        accounting.user(asked, delta) | {"allocation": hidden.user(asked[0][0], claimed, delta)},
        round_up(local),
        round_up(collection.words_per_user * local),
        accounting.floor(asked, delta) if claimed.reason else hidden.floor(asked[0][0], claimed, delta),
    )


def central_epsilon(collection: Collection, delta: float, unit: str) -> float:
    """The smallest central ε that is proved for a unit: an `item` or a whole `user`.

    >>> from neologue import Batch, Collection, central_epsilon
    >>> five_layers = Collection("unary", epsilon=7.0, words_per_user=60, batches=(Batch(200_000, 500_000),) * 5)
    >>> central_epsilon(five_layers, delta=1e-10, unit="item"), central_epsilon(five_layers, delta=1e-10, unit="user")
    (0.29386, 2.48121)
    """
    check_delta(delta)
    asked = _asked(collection)
    if not asked:
        return 0.0
    accounting = ACCOUNTING[collection.mechanism]
    if unit == "item":
        bounds, words, hidden = accounting.item(asked, delta), 1, accounting.hidden_layer.item
    else:
        bounds, words, hidden = accounting.user(asked, delta), collection.words_per_user, accounting.hidden_layer.user
    proved = [*bounds.values(), hidden(asked[0][0], collection.allocation, delta)]
    return _best(proved, round_up(words * _local(asked))).epsilon or 0.0


def candidates_matter(mechanism: str) -> bool:
    """Whether what a batch costs depends on the number of its candidates, and not on that of its reports alone."""
    return ACCOUNTING[mechanism].density is not None


def hides_layers(mechanism: str) -> bool:
    """Whether anything is proved of its reports if nobody who looks knows in which layer a user was."""
    return mechanism in ACCOUNTING and ACCOUNTING[mechanism].hidden_layer is not NOT_PROVED


def density(mechanism: Randomizer[Any]) -> float:
    """Of batches with as many reports, one with a larger density costs more, but for rounding."""
    of = ACCOUNTING[mechanism.name].density
    return 1.0 if of is None else of(mechanism)


def _asked(collection: Collection) -> list[tuple[Randomizer[Any], Batch]]:
    return [(collection.randomizer(batch), batch) for batch in sorted(set(collection.batches)) if batch.reports]


def _local(asked: list[tuple[Randomizer[Any], Batch]]) -> float:
    return max(mechanism.statement.enforced_epsilon for mechanism, _ in asked)


def _of_nothing(delta: float) -> Cost:
    """Nothing was collected, so nothing was given away."""
    nothing = Bound("nothing was collected", 0.0)
    items = ("closed_form", "fmt2021", "fmt2023", "blanket", "sums_only", "allocation")
    users = ("group", "joint", "allocation")
    return Cost(delta, dict.fromkeys(items, nothing), dict.fromkeys(users, nothing), 0.0, 0.0, 0.0)


def _unary_item(asked: list[tuple[Unary, Batch]], delta: float) -> dict[str, Bound]:
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


def _unary_user(asked: list[tuple[Unary, Batch]], delta: float) -> dict[str, Bound]:
    unary, reports = _fewest(asked)
    return {"group": sums_group(unary, reports, delta), "joint": joint(unary, reports, delta)}


def _unary_floor(asked: list[tuple[Unary, Batch]], delta: float) -> float:
    return Sums.of(*_fewest(asked)).floor(delta)


def _fewest(asked: list[tuple[Unary, Batch]]) -> tuple[Unary, int]:
    unary, batch = asked[0]
    return unary, batch.reports


def _selection_item(asked: list[tuple[SubsetSelection, Batch]], delta: float) -> dict[str, Bound]:
    """Subset Selection: every word is a report of its own."""
    epsilon, fewest = asked[0][0].epsilon, asked[0][1].reports * asked[0][0].bound
    hidden = Bound(BLANKET, 0.0)
    for selection, words in _selections(asked):
        # What holds for the batches before is tried first: most batches cost no more.
        hidden = blanket(selection, words, delta, least=hidden.epsilon or 0.0)
    return {
        "closed_form": closed_form(epsilon, fewest, delta),
        "fmt2021": clones_2021(epsilon, fewest, delta),
        "fmt2023": clones_2023(epsilon, fewest, delta),
        "blanket": hidden,
        "sums_only": Bound.none(SUMS_ONLY, DEPENDENT),
    }


def _selection_user(asked: list[tuple[SubsetSelection, Batch]], delta: float) -> dict[str, Bound]:
    hidden = Bound(GROUP, 0.0)
    for selection, words in _selections(asked):
        hidden = blanket_group(selection, words, delta, least=hidden.epsilon or 0.0)
    return {"group": hidden, "joint": Bound.none(JOINT, DEPENDENT)}


def _selection_floor(asked: list[tuple[SubsetSelection, Batch]], delta: float) -> float:
    return max(blanket_floor(selection, words, delta) for selection, words in _selections(asked))


def _selections(asked: list[tuple[SubsetSelection, Batch]]) -> Iterator[tuple[SubsetSelection, int]]:
    """The mechanism of each batch, and the words in its reports."""
    for selection, batch in asked:
        yield selection, batch.reports * selection.bound


@dataclass(frozen=True)
class HiddenLayer:
    """What is proved if nobody who looks knows in which layer a user was, given a randomizer, the layers and δ."""

    item: Callable[[Any, Allocation, float], Bound]
    user: Callable[[Any, Allocation, float], Bound]
    floor: Callable[[Any, Allocation, float], float]
    """What a word surely costs."""


def _not_proved(theorem: str) -> Callable[[Any, Allocation, float], Bound]:
    def bound(mechanism: Randomizer[Any], allocation: Allocation, delta: float) -> Bound:
        return Bound.none(theorem, f"it is proved for unary reports, and these are {mechanism.name}")

    return bound


NOT_PROVED = HiddenLayer(_not_proved(ALLOCATED_WORD), _not_proved(ALLOCATED_USER), lambda mechanism, layers, delta: 0.0)
"""For randomizers without a proof: whoever looks may know the layer."""


@dataclass(frozen=True)
class Accounting:
    """What is proved about the sums of one randomizer's reports.

    The first three functions are given the batches with their randomizers, the fewest reports first, and δ.
    """

    item: Callable[[list[tuple[Any, Batch]], float], dict[str, Bound]]
    """The bounds on the ε of a word, by the name that they have in a statement."""
    user: Callable[[list[tuple[Any, Batch]], float], dict[str, Bound]]
    """The bounds on the ε of a whole user."""
    floor: Callable[[list[tuple[Any, Batch]], float], float]
    """What a word surely costs."""
    density: Callable[[Any], float] | None
    """Of batches with as many reports, one with a larger density costs more, but for rounding; None if all cost alike.
    """
    hidden_layer: HiddenLayer = NOT_PROVED


ACCOUNTING: Table[Accounting] = Table(
    "central accounting for the randomizer",
    "neologue.privacy.cost",
    {
        Unary.name: Accounting(
            _unary_item,
            _unary_user,
            _unary_floor,
            density=None,
            hidden_layer=HiddenLayer(allocated_word, allocated_user, word_floor),
        ),
        SubsetSelection.name: Accounting(
            _selection_item,
            _selection_user,
            _selection_floor,
            lambda selection: selection.subset_size / selection.domain,
        ),
    },
)


def _best(bounds: Iterable[Bound], local: float) -> Bound:
    proved = [bound for bound in bounds if bound.epsilon is not None]
    return min([*proved, Bound(LOCAL, local)], key=lambda bound: bound.epsilon or 0.0)
