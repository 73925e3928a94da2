"""The figures that the paper reports, each with its section.

Sun, Kairouz, Sun, Gascón and Suresh, Private federated discovery of out-of-vocabulary words for Gboard, 2024. Its
figure is a picture without numbers: what its text says of it is among the orderings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PAPER = "Sun, Kairouz, Sun, Gascón and Suresh, Private federated discovery of out-of-vocabulary words for Gboard, 2024"


@dataclass(frozen=True)
class Published:
    """A figure, and the section of the paper that has it."""

    value: float
    section: str


TABLE_SECTION = "section 4, the table of samplers and passes"
PRODUCTION_SECTION = "section 4, OOV discovery in the production population"
COVERAGE: Mapping[str, Published] = MappingProxyType(
    {
        "greedy-1": Published(0.771, TABLE_SECTION),
        "random-1": Published(0.831, TABLE_SECTION),
        "random-2": Published(0.921, TABLE_SECTION),
    }
)
PRODUCTION: Mapping[str, Published] = MappingProxyType(
    {
        "held_out_coverage": Published(0.168, PRODUCTION_SECTION),
        "item_central_epsilon": Published(0.315, PRODUCTION_SECTION),
        "delta": Published(1e-10, PRODUCTION_SECTION),
        "k": Published(45, PRODUCTION_SECTION),
        "alpha": Published(0.95, PRODUCTION_SECTION),
    }
)
