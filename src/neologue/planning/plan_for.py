"""A plan from a campaign and a language: the one way in which plans are put together."""

from collections.abc import Callable, Sequence

from neologue.campaign.privacy_level import PrivacyLevel
from neologue.planning.plan import FIRST_USERS, TRADEOFF, Campaigns, EpsilonLimits, Plan, plan
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import Population
from neologue.privacy.statement import Exposure


def plan_for(
    campaigns: Campaigns,
    language: str,
    users: int | None,
    limits: EpsilonLimits,
    exposure: Exposure,
    *,
    level: PrivacyLevel | None = None,
    tradeoff: Sequence[float] = TRADEOFF,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """What a campaign will find and cost among users who write a language as its word frequencies have it.

    Without `users` it is planned for the fewest that keep to both limits, or for a million.
    """
    if users is None and (limits.local_epsilon is None or limits.central_epsilon is None):
        users = FIRST_USERS
    first = campaigns(FIRST_USERS if users is None else users, limits.local_epsilon)
    population = Population.embedded(language, first.users, known=first.known, days=first.parameters.days)
    lexicon = Lexicon.of(population, first)
    return plan(campaigns, lexicon, users, limits, exposure, level=level, on_progress=on_progress, tradeoff=tradeoff)
