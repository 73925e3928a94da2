"""Limits that a campaign, a layer document and a device's policy share."""

from neologue.errors import ParameterError

SAMPLERS = ("greedy", "random")
DEEPEST = 64
LARGEST_LAYER = 1 << 27


def check_whole(what: str, value: int, least: int, most: int) -> None:
    """Refuse what is not a whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"{what} must be a whole number from {least} to {most:,}, not {value}")
