"""The option `--privacy`: the level of privacy that a campaign is held to."""

from typing import TYPE_CHECKING, Any

import click

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.privacy_level import PrivacyLevel

NAMES = ("strict", "standard", "paper")
"""Of the levels in `neologue.campaign.privacy_level`, which takes a moment to import."""
PRIVACY = click.option(
    "--privacy",
    type=click.Choice(NAMES),
    help="The level of privacy: strict (whole user, central ε ≤ 1.0986 at δ = 1e-8), standard (≤ 3 at 1e-10, local ε ≤ "
    "8) or paper (local ε = 10). The local ε follows from it and from the number of users  [default: standard, "
    "unless an ε is given or the profile has one]",
)


def asked_level(options: dict[str, Any], *others: str) -> "PrivacyLevel | None":
    """The level that the options ask for, or the default; None if they or the profile give an ε.

    A level decides δ, and the other options that are named here.
    """
    from neologue.campaign.privacy_level import DEFAULT_LEVEL, LEVELS
    from neologue.campaign.profiles import profile

    level = options["privacy"]
    if level is None:
        given = any(options[name] is not None for name in (*others, "epsilon") if name in options)
        if given or profile(options["profile"]).parameters.epsilon is not None:
            return None
    for name in ("delta", *others):
        if options[name] is not None:
            option = {"promised_epsilon": "central-epsilon"}.get(name, name.replace("_", "-"))
            if level is None:
                raise ParameterError(
                    f"--{option} {options[name]:g} is decided by the level of privacy, {DEFAULT_LEVEL} if none is "
                    f"named: leave out --{option}, or give a local ε, too"
                )
            raise ParameterError(f"--privacy {level} says what --{option} {options[name]:g} says: give one of them")
    return LEVELS[level or DEFAULT_LEVEL]


def first_epsilon(options: dict[str, Any], level: "PrivacyLevel | None") -> dict[str, float]:
    """The local ε of a campaign before its level is kept, or if only a promise is asked for; none if it is given."""
    from neologue.campaign.privacy_level import STANDARD
    from neologue.campaign.profiles import profile

    if options.get("epsilon") is not None or (level is None and profile(options["profile"]).parameters.epsilon):
        return {}
    return {"epsilon": (level or STANDARD).local_epsilon}


def level_lines(campaign: "Campaign", options: dict[str, Any]) -> list[str]:
    """What the level of a discovery makes of its users, and where its price is told; nothing without a level."""
    level = asked_level(options, "promised_epsilon")
    if level is None:
        return []
    return [
        f"Level of privacy {level.name}: {level.promise}. {campaign.users:,} users keep it with a local ε of "
        f"{campaign.epsilon:g}; `neologue plan --users {campaign.users} --privacy {level.name}` says what they would "
        "find at weaker levels, and what that means."
    ]


def pilot_line(epsilon: float) -> str:
    """What a trial with made-up people says of its level."""
    from neologue.campaign.privacy_level import PAPER

    return (
        f"This is a pilot at the level of privacy {PAPER.name}, {PAPER.promise}; its local ε is {epsilon:g}. "
        "`neologue campaign create` keeps the level standard unless it is told otherwise."
    )
