"""The consent that a campaign needs whose release would protect no whole user: the option `--yes`."""

from typing import TYPE_CHECKING

import click

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.privacy.statement import PrivacyFacts

YES = click.option("--yes", is_flag=True, help="Accept a central ε above 10 for a whole user.")


def require_consent(user_epsilon: float) -> None:
    """Raise a ParameterError that names the remedy if a release with this central ε of a user needs consent."""
    from neologue.privacy.digits import shown
    from neologue.privacy.scale import ASKED_ABOVE, grade

    if user_epsilon > ASKED_ABOVE:
        raise ParameterError(
            f"the release would have a central ε of {shown(user_epsilon)} for a whole user, above {ASKED_ABOVE:g}: "
            f"{grade(user_epsilon).words}; ask more users, choose a smaller local ε or fewer words a user, or accept "
            "it with --yes"
        )


def require_consent_to(facts: "PrivacyFacts") -> None:
    """The same for a run with these facts."""
    from neologue.privacy.cost import central_epsilon

    require_consent(central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, "user"))
