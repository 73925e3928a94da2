"""Which layers a campaign plans that hides from readers in which one a user was, and whether they keep its promise."""

from functools import lru_cache

from neologue.campaign.parameters import Parameters
from neologue.errors import ParameterError
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation, planned_in_batches
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon

TRIE = "a trie has as many layers, and as large ones, as the votes make it"
NOT_PROVED = "nothing is proved of it for reports of {randomizer}, so that layers end when they have enough reports"


def planned_allocation(parameters: Parameters, asked: int, measuring: int) -> Allocation:
    """All layers that are planned with so many users each, and the measurement if anybody is to measure."""
    if parameters.allocation != "drawn":
        return UNCLAIMED
    if parameters.layers is None:
        return Allocation.none(TRIE)
    if not parameters.drawn:
        return Allocation.none(NOT_PROVED.format(randomizer=parameters.randomizer))
    layers = range(1, parameters.layers + 1)
    words = [parameters.words_in(layer) for layer in layers] * parameters.passes
    users = [asked] * len(words)
    if measuring:
        users, words = [*users, measuring], [*words, parameters.words_per_user]
    return Allocation.plan(users, parameters.delta, words)


def expected_users(parameters: Parameters, devices: int, reserve: float, measuring: int) -> int:
    """For how many users a campaign is laid out that expects so many devices, of which some measure.

    Where layers are planned, no layer relies on a reserve.
    """
    expected = devices if parameters.drawn else int(devices * (1 - reserve))
    return max(1, expected - measuring)


def counted_in_batches(parameters: Parameters, asked: int, batch: int | None) -> int:
    """How many reports a layer counts that asks so many users by slots, written in batches if there is a service."""
    return planned_in_batches(parameters.counted_reports(asked), asked, batch if parameters.drawn else None)


def check_planned_promise(parameters: Parameters, users: int, measuring: int = 0) -> None:
    """Refuse a promised central ε that planned layers of so many users can't keep."""
    promised, unit = parameters.promised_epsilon, parameters.promised_unit
    if promised is None or not parameters.drawn or parameters.epsilon is None or parameters.layers is None:
        return
    asked = users // (parameters.passes * parameters.layers)
    spent = planned_cost(parameters, asked, measuring)
    if spent > promised:
        raise ParameterError(
            f"{users:,} users are too few to promise a central ε of {promised:g} for one {unit} with a local ε of "
            f"{parameters.epsilon:g}: it would be {spent:.3g}; take more users, a smaller local ε or fewer words per "
            "user",
            parameter="users",
        )


@lru_cache(maxsize=256)
def planned_cost(parameters: Parameters, asked: int, measuring: int) -> float:
    """The central ε, of the unit that is promised, of all layers that are planned with so many users each."""
    assert parameters.epsilon is not None
    allocation = planned_allocation(parameters, asked, measuring)
    batches = tuple(Batch(layer.reports, 1) for layer in allocation.layers)
    planned = Collection(parameters.randomizer, parameters.epsilon, parameters.words_per_user, batches, allocation)
    return central_epsilon(planned.in_sums_of(None, parameters.colluders), parameters.delta, parameters.promised_unit)
