"""`plan` for people: what a campaign will find and cost, in one call."""

from typing import Unpack

from neologue.campaign.campaign import Campaign
from neologue.campaign.changes import Changes
from neologue.campaign.privacy_level import LEVELS, STANDARD, check_undecided, default_level
from neologue.campaign.profiles import profile as profile_named
from neologue.language import builtin
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.planning.plan import EpsilonLimits, Plan
from neologue.planning.plan_for import plan_for
from neologue.privacy.statement import Exposure


def plan(
    *,
    users: int | None = None,
    language: str = "en",
    local_epsilon: float | None = None,
    central_epsilon: float | None = None,
    unit: str = "item",
    privacy: str | None = None,
    profile: str = "neologue",
    known: Vocabulary | None = None,
    alphabet: Alphabet | None = None,
    **changes: Unpack[Changes],
) -> Plan:
    """Forecast what a campaign will find and cost, with the largest local ε within the limits; nobody is asked.

    Give any of `users`, `local_epsilon` and `central_epsilon`; the rest is chosen. `unit` is what the central ε
    protects: one word (`item`) or all words of a `user`. Without either ε the limits are those of a level of privacy,
    `standard` if `privacy` names none, and the number of words in a report is chosen too unless it is given.

    >>> from neologue import plan
    >>> found = plan(users=50_000, language="id", local_epsilon=6.0, depth=6)
    >>> found.campaign.epsilon
    6.0
    >>> 0 < found.expected.coverage < 1
    True
    """
    chosen = builtin.check_language(language)
    words = builtin.vocabulary(chosen) if known is None else known
    letters = builtin.alphabet(chosen) if alphabet is None else alphabet
    limits = EpsilonLimits(local_epsilon, central_epsilon, unit)
    given = profile_named(profile).parameters.epsilon if local_epsilon is None else local_epsilon
    decided = {"local_epsilon": local_epsilon, "central_epsilon": central_epsilon, "delta": changes.get("delta")}
    level = None
    if privacy is not None:
        level = LEVELS[privacy]
        check_undecided(level, **decided)
    elif central_epsilon is None:
        level = default_level(given, **decided)
    first = STANDARD.local_epsilon if given is None else given

    def campaign(asked: int, epsilon: float | None) -> Campaign:
        wanted = Changes(**{"epsilon": first, **changes, **({} if epsilon is None else {"epsilon": epsilon})})
        return Campaign.from_profile(profile, users=asked, alphabet=letters, known=words, **wanted)

    chooses_words = "words_per_user" not in changes
    return plan_for(campaign, chosen, users, limits, Exposure(), level=level, chooses_words=chooses_words)
