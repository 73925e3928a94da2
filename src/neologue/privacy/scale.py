"""One scale on which every page and command judges a central ε, in the same words and colours.

docs/privacy/scale.md has the sources of its bounds, and what each means for a person.
"""

import math
from dataclasses import dataclass

ASKED_ABOVE = 10.0
"""A campaign that costs a whole user more central ε than this is run only if its operator says so."""

SLACK = 0.1
"""By how much the loss of a release exceeds its ε only rarely; that it exceeds ε itself may be far likelier than δ."""


@dataclass(frozen=True)
class Grade:
    """How much a central ε up to a bound protects."""

    most: float
    """The largest ε of this grade."""
    name: str
    """As style sheets call it."""
    words: str
    colour: str


SCALE = (
    Grade(1.0, "strong", "strong protection", "#1a7f4b"),
    Grade(4.0, "moderate", "moderate protection", "#8a6d00"),
    Grade(10.0, "weak", "weak protection", "#b5531a"),
    Grade(math.inf, "none", "no meaningful protection", "#c9302c"),
)
"""By bound, the best first."""


def grade(epsilon: float) -> Grade:
    """How much a central ε protects."""
    return next(each for each in SCALE if epsilon <= each.most)


def certainty(epsilon: float) -> float:
    """How certain somebody becomes, at most, who began with even odds, but for the chance of an exception."""
    return 1 / (1 + math.exp(-(epsilon + SLACK)))


def chance_of_exception(delta: float) -> float:
    """The chance, at most, that somebody becomes more certain.

    δ is the mean of max(0, 1 - e^(ε - loss)), so at least 1 - e^-SLACK times the chance of a loss above ε + SLACK.
    """
    return delta / -math.expm1(-SLACK)
