"""The table of aggregation modes, by the name that a campaign's definition gives."""

from collections.abc import Callable
from typing import Final

from neologue.aggregation.aggregator import AggregationSettings, Aggregator
from neologue.aggregation.ephemeral import EphemeralAggregator
from neologue.aggregation.masked_aggregator import MaskedAggregator
from neologue.errors import ParameterError
from neologue.table import Table

MODES: Final[Table[Callable[[AggregationSettings], Aggregator]]] = Table(
    "aggregation mode is called",
    "neologue.aggregation.modes",
    {"ephemeral": EphemeralAggregator.of, "secure": MaskedAggregator.of},
)


class UnknownModeError(ParameterError, ValueError):
    """No aggregation mode has that name. As a ValueError it is what msgspec expects of a field out of its range."""


def check_mode(name: str) -> None:
    """Refuse a mode that is not in the table."""
    if name not in MODES:
        raise UnknownModeError(f"aggregation must be one of {', '.join(MODES)}, not {name[:80]!r}")


def aggregator_of(name: str, settings: AggregationSettings) -> Aggregator:
    """The aggregator of a campaign."""
    return MODES[name](settings)
