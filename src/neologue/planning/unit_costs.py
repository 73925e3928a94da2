"""What a service spends on each thing that a device asks of it, as measured; docs/scale.md shows this table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_SERVICE: Final = "benchmarks/service_costs.py"
_ASSUMED: Final = "assumed"


@dataclass(frozen=True)
class UnitCost:
    """A constant of the law, and where it comes from."""

    what: str
    value: float
    unit: str
    source: str
    """The program that measures it, the page that has it, or that it is assumed."""


UNIT_COSTS: Final[Mapping[str, UnitCost]] = {
    "waiting": UnitCost("check-in of a device that waits, worker", 190, "µs", _SERVICE),
    "invited": UnitCost("check-in of a device that is invited, worker", 520, "µs", _SERVICE),
    "invited_database": UnitCost("the same, database", 75, "µs", _SERVICE),
    "document": UnitCost("document of a layer, worker", 245, "µs", _SERVICE),
    "report": UnitCost("report on a million candidates, worker", 145, "µs", _SERVICE),
    "report_database": UnitCost("report on a million candidates, database", 29, "µs", _SERVICE),
    "candidates": UnitCost("report, for each million candidates more, worker", 37, "µs", _SERVICE),
    "candidates_database": UnitCost("report, for each million candidates more, database", 17, "µs", _SERVICE),
    "connection": UnitCost("new connection with TLS and one request, proxy", 415, "µs", _SERVICE),
    "request": UnitCost("one more request on a connection, proxy", 36, "µs", _SERVICE),
    "masked": UnitCost("device of a group of 100 under masks, worker", 53, "ms", "benchmarks/masked_service.py"),
    "masked_growth": UnitCost("power of a group's size with which this grows", 0.8, "", "docs/secure-aggregation.md"),
    "kept": UnitCost("a counted report, kept by the database", 128, "bytes", _SERVICE),
    "written": UnitCost("a counted report on a million candidates, told to the database", 2749, "bytes", _SERVICE),
    "candidates_written": UnitCost("the same, for each million candidates more", 3756, "bytes", _SERVICE),
    "memory": UnitCost("a counted report, in the memory of a worker", 16, "bytes", "docs/service.md"),
    "answer": UnitCost("answer of a check-in, with headers", 560, "bytes", _SERVICE),
    "handshake": UnitCost("what a new connection with TLS sends to a device", 4_000, "bytes", _ASSUMED),
    "spelling": UnitCost("document of likely strings without roots, packed", 107_000, "bytes", "docs/protocol.md"),
    "root": UnitCost("each prefix that a layer extends, packed", 11, "bytes", "docs/device.md"),
    "peak": UnitCost("requests at the busiest time of a day, over the average", 2, "times", _ASSUMED),
    "busy": UnitCost("share of a core that is used at that time", 0.5, "", _ASSUMED),
    "largest_machine": UnitCost("cores of the largest machine for a database", 96, "cores", _ASSUMED),
}


def unit_cost(name: str) -> float:
    """The value of a constant: times in seconds, all else in its unit."""
    constant = UNIT_COSTS[name]
    return constant.value * _SECONDS.get(constant.unit, 1.0)


_SECONDS: Final = {"µs": 1e-6, "ms": 1e-3}
