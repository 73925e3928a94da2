"""The consent that a campaign needs whose release could protect no whole user."""

from functools import lru_cache

import msgspec

from neologue.errors import ParameterError
from neologue.privacy.cost import central_epsilon
from neologue.privacy.digits import shown
from neologue.privacy.scale import ASKED_ABOVE, grade
from neologue.privacy.statement import PrivacyFacts
from neologue.release.foreseen import foreseen_facts
from neologue.service.campaigns.definition import Definition


def require_consent(definition: Definition) -> None:
    """Raise a ParameterError that names the ε, the limit and the remedy, unless the definition accepts it."""
    if definition.accept_weak_privacy:
        return
    epsilon = foreseen_user_epsilon(definition)
    if epsilon > ASKED_ABOVE:
        raise ParameterError(
            f"the release would have a central ε of {shown(epsilon)} for a whole user, above {ASKED_ABOVE:g}: "
            f"{grade(epsilon).words}; ask more devices, choose a smaller local ε or fewer words a user, or accept it "
            "(accept_weak_privacy)",
            parameter="accept_weak_privacy",
        )


def foreseen_facts_of(definition: Definition) -> PrivacyFacts:
    """The facts of the campaign if it collects all that it may."""
    return foreseen_facts(definition.campaign, definition.measuring, definition.aggregator.exposure)


def foreseen_user_epsilon(definition: Definition) -> float:
    """The central ε that the release may cost a whole user, if the campaign collects all that it may."""
    return _foreseen_user_epsilon(msgspec.json.encode(definition))


@lru_cache(maxsize=32)
def _foreseen_user_epsilon(text: bytes) -> float:
    facts = foreseen_facts_of(msgspec.json.decode(text, type=Definition))
    return central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, "user")
