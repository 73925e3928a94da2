"""A campaign that is held to a level of privacy: the largest local ε that keeps it, and the promise of it."""

from dataclasses import replace

from neologue.campaign.campaign import Campaign
from neologue.campaign.largest_epsilon import largest_epsilon
from neologue.campaign.measuring import Measuring
from neologue.campaign.privacy_level import PrivacyLevel, weaker
from neologue.errors import ParameterError
from neologue.privacy.statement import Exposure
from neologue.release.foreseen import foreseen_facts
from neologue.release.foreseen_cost import reader_epsilon, with_dropouts


def at_level(
    campaign: Campaign,
    level: PrivacyLevel,
    measuring: Measuring | None,
    exposure: Exposure,
    epsilon: float | None = None,
) -> Campaign:
    """The campaign with the largest local ε within a level, or with a smaller one, and with the level's promise."""
    parameters = replace(campaign.parameters, delta=level.delta, promised_epsilon=None)

    def with_epsilon(chosen: float) -> Campaign:
        return replace(campaign, parameters=replace(parameters, epsilon=chosen))

    def cost(asked: Campaign) -> float:
        # Users who measure hide the others, too, but the promise is the campaign's own.
        return max(
            reader_epsilon(with_dropouts(foreseen_facts(asked, counting, exposure)), "user")
            for counting in {None, measuring}
        )

    if level.user_epsilon is None:
        best: Campaign | None = with_epsilon(level.local_epsilon)
    else:
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
    promised = replace(best.parameters, promised_epsilon=level.user_epsilon, promised_unit="user")
    return replace(best, parameters=promised)


def _or_weaker(level: PrivacyLevel) -> str:
    """The last way out, if there is one."""
    other = weaker(level)
    return f" or the level {other.name}" if other else ""
