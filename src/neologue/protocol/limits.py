"""Limits that a campaign, a layer document and a device's policy share."""

from neologue.errors import ParameterError

SAMPLERS = ("greedy", "random")
DEEPEST = 64
LARGEST_LAYER = 1 << 27
MOST_KNOWN_WORDS = 1 << 20
LARGEST_KNOWN = 1 << 24
"""The known words of a layer, and their bytes, that a device takes unless its owner says otherwise."""

LARGEST_CLOSED_VOTE_RATIO = 50.0
"""The most by which a vote on a word that the operator lists may multiply the odds that it is held, likewise."""


def check_whole(what: str, value: int, least: int, most: int, *, parameter: str | None = None) -> None:
    """Refuse what is not a whole number in a range; `parameter` is the name of the field, for the error."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(
            f"{what} must be a whole number from {least} to {most:,}, not {value}", parameter=parameter
        )
