"""The option `--privacy`: the level of privacy that a campaign is held to."""

from typing import TYPE_CHECKING, Any

import click

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.privacy_level import PrivacyLevel

NAMES = ("strict", "standard", "paper")
"""Of the levels in `neologue.campaign.privacy_level`, which takes a moment to import."""
PRIVACY = click.option(
    "--privacy",
    type=click.Choice(NAMES),
    help="The level of privacy: strict (whole user, central ε ≤ 1.0986 at δ = 1e-8), standard (≤ 3 at 1e-10, local ε ≤ "
    "8) or paper (local ε = 10). The local ε follows from it and from the number of users.",
)


def asked_level(options: dict[str, Any], *others: str) -> "PrivacyLevel | None":
    """The level that the options ask for, if any; δ and some other options say what a level says."""
    from neologue.campaign.privacy_level import LEVELS

    if options["privacy"] is None:
        return None
    for name in ("delta", *others):
        if options[name] is not None:
            option = {"promised_epsilon": "central-epsilon"}.get(name, name.replace("_", "-"))
            raise ParameterError(
                f"--privacy {options['privacy']} says what --{option} {options[name]:g} says: give one of them"
            )
    return LEVELS[options["privacy"]]
