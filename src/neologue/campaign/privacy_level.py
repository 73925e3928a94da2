"""Levels of privacy that a campaign can be held to, each with its source.

A level is a promise, and the local ε follows from it: fewer users hide each other less, so they get a smaller local ε
and find less, and the promise stays the same.
"""

from dataclasses import dataclass

from neologue.errors import ParameterError
from neologue.table import Table


@dataclass(frozen=True)
class PrivacyLevel:
    """What no release of a campaign at this level costs more than."""

    name: str
    source: str
    local_epsilon: float
    """The largest local ε of one word."""
    user_epsilon: float | None
    """The largest central ε of a whole user against readers, which the campaign promises; None promises none."""
    delta: float
    later_shares: tuple[float, ...] = ()
    """The words of a report to the second layer, to the third, and so on, as shares of those to the first."""

    @property
    def promise(self) -> str:
        """The level in words."""
        if self.user_epsilon is None:
            return f"a local ε of at most {self.local_epsilon:g} for a word, and no bound for a whole user"
        return (
            f"a central ε of at most {self.user_epsilon:g} for a whole user at δ = {self.delta:g}, and a local one of "
            f"at most {self.local_epsilon:g} for a word"
        )


STRICT = PrivacyLevel(
    name="strict",
    source=(
        "Google's published policy for finding new words in Gboard with confidential federated analytics enforces "
        "ε ≤ ln 3 at δ ≤ 1e-8 for a user"
    ),
    local_epsilon=8.0,
    user_epsilon=1.0986,
    delta=1e-8,
    later_shares=(2 / 3, 5 / 12, 1 / 3),
)
STANDARD = PrivacyLevel(
    name="standard",
    source="This project: moderate protection of a whole user on the scale of docs/privacy/scale.md, at the paper's δ",
    local_epsilon=8.0,
    user_epsilon=3.0,
    delta=1e-10,
)
PAPER = PrivacyLevel(
    name="paper",
    source=(
        "Sun, Kairouz, Sun, Gascón and Suresh, Private federated discovery of out-of-vocabulary words for Gboard, "
        "2024: local ε = 10"
    ),
    local_epsilon=10.0,
    user_epsilon=None,
    delta=1e-10,
)

LEVELS: Table[PrivacyLevel] = Table(
    "level of privacy is called",
    "neologue.campaign.privacy_level",
    {each.name: each for each in (STRICT, STANDARD, PAPER)},
)
"""The strictest first."""
DEFAULT_LEVEL = STANDARD.name


def weaker(level: PrivacyLevel) -> PrivacyLevel | None:
    """The next weaker level, if there is one."""
    names = list(LEVELS)
    after = names.index(level.name) + 1
    return LEVELS[names[after]] if after < len(names) else None


def default_level(epsilon: float | None, **decided: float | None) -> PrivacyLevel | None:
    """The level that a campaign keeps if nobody names one: none if its local ε is known already.

    What a level decides, a δ or a promise, needs a local ε or another level beside it.
    """
    if epsilon is not None:
        return None
    check_undecided(LEVELS[DEFAULT_LEVEL], **decided)
    return LEVELS[DEFAULT_LEVEL]


def check_undecided(level: PrivacyLevel, **decided: float | None) -> None:
    """Refuse a δ or a promised ε beside a level, which says both."""
    for name, value in decided.items():
        if value is not None:
            raise ParameterError(
                f"the level of privacy {level.name} decides what {name.replace('_', ' ')} = {value:g} says: leave that "
                "out, or leave out the level and give the local epsilon",
                parameter=name,
            )
