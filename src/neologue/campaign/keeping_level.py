"""What a level of privacy makes of a campaign: the largest local ε that keeps it, and the promise of it."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from neologue.campaign.allocation import planned_cost
from neologue.campaign.largest_epsilon import largest_epsilon
from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import PrivacyLevel, weaker
from neologue.campaign.promise import WITH_DROPOUTS
from neologue.errors import ParameterError
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign


def keep_level(
    campaign: "Campaign", level: PrivacyLevel, cost: "Callable[[Campaign], float]", epsilon: float | None = None
) -> "Campaign":
    """The campaign with the largest local ε within a level, or with a smaller one, and with the level's promise.

    The cost is what a campaign may cost a whole user, against readers of the release. Later layers ask for fewer words
    if the level says so and the campaign costs too much otherwise.
    """
    fewer = fewer_later_words(campaign.parameters, level)

    def with_epsilon(chosen: float, later_words: tuple[int, ...] = fewer) -> "Campaign":
        changed = replace(
            campaign.parameters, delta=level.delta, promised_epsilon=None, epsilon=chosen, later_words=later_words
        )
        return replace(campaign, parameters=changed)

    best: Campaign | None = with_epsilon(level.local_epsilon)
    if level.user_epsilon is not None:
        best = largest_epsilon(with_epsilon, cost, level.user_epsilon, level.local_epsilon)
    if best is None:
        raise ParameterError(
            f"no local epsilon keeps {campaign.users:,} users at the level {level.name}, {level.promise}: take more "
            f"users, fewer words per user{_or_weaker(level)}",
            parameter="privacy",
        )
    if epsilon is not None:
        if epsilon > best.epsilon:
            raise ParameterError(
                f"the level {level.name} allows {campaign.users:,} users a local epsilon of at most {best.epsilon:g}, "
                f"not {epsilon:g}: leave out the epsilon, take more users{_or_weaker(level)}",
                parameter="privacy",
            )
        best = with_epsilon(epsilon)
    as_many = with_epsilon(best.epsilon, ())
    if level.user_epsilon is None or (fewer and cost(as_many) <= level.user_epsilon):
        best = as_many
    promised = replace(best.parameters, promised_epsilon=level.user_epsilon, promised_unit="user")
    return replace(best, parameters=promised)


def fewer_later_words(parameters: Parameters, level: PrivacyLevel) -> tuple[int, ...]:
    """What later layers may ask for at a level, if there are any and asking for less makes the campaign cost less."""
    if not parameters.drawn or parameters.layers == 1:
        return ()
    return tuple(math.ceil(parameters.words_per_user * share) for share in level.later_shares)


def user_cost(campaign: "Campaign") -> float:
    """The central ε of a whole user if nobody measures: of all planned layers, or of the smallest."""
    parameters = replace(campaign.parameters, promised_unit="user")
    asked = campaign.users // (parameters.passes * (parameters.layers or parameters.depth))
    if parameters.drawn:
        return planned_cost(parameters, asked, 0)
    layer = Batch(max(1, int(asked * WITH_DROPOUTS)), campaign.largest_layer)
    alone = Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, (layer,))
    return central_epsilon(alone.in_sums_of(None, parameters.colluders), parameters.delta, "user")


def _or_weaker(level: PrivacyLevel) -> str:
    """The last way out, if there is one."""
    other = weaker(level)
    return f" or the level {other.name}" if other else ""
