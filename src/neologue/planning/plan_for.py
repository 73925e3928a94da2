"""A plan from a campaign and a language: the one way in which plans are put together."""

from collections.abc import Callable, Sequence

from neologue.campaign.privacy_level import PrivacyLevel
from neologue.planning.plan import FIRST_USERS, TRADEOFF, Campaigns, EpsilonLimits, Plan, plan
from neologue.planning.typing_shape import TypingShape
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
    shape: TypingShape | None = None,
    chooses_words: bool = False,
    tradeoff: Sequence[float] = TRADEOFF,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """What a campaign will find and cost among users who write a language as its word frequencies have it.

    A shape says how many words each of them holds. A plan that `chooses_words` chooses B, too. Without `users` it is
    planned for the fewest that keep to both limits, or for a million.
    """
    if users is None and (limits.local_epsilon is None or limits.central_epsilon is None):
        users = FIRST_USERS
    first = campaigns(FIRST_USERS if users is None else users, limits.local_epsilon)
    population = Population.embedded(language, first.users, known=first.known, days=first.parameters.days)
    lexicon = Lexicon.of(population, first)
    if shape:
        lexicon = lexicon.held_by(shape.held, shape.shares)
    return plan(
        campaigns,
        lexicon,
        users,
        limits,
        exposure,
        level=level,
        chooses_words=chooses_words,
        on_progress=on_progress,
        tradeoff=tradeoff,
    )
