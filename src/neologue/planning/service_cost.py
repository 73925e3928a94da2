"""What the service of a campaign costs: cores, bytes and money, by laws whose constants were measured.

Devices check in at times of their own, once in each interval. So all devices of a layer come within one interval after
it opened, while those of later layers come to be told to wait: the busiest interval is one in which a layer opens.
Cores are rented for the busiest time, and for as long as the campaign lasts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from neologue.errors import ParameterError
from neologue.planning.expectation import LayerForecast
from neologue.planning.masking_cost import MaskingCost
from neologue.planning.plan import Plan
from neologue.planning.unit_costs import unit_cost

HOUR: Final = 3600.0
MONTH_HOURS: Final = 730.0
GIGABYTE: Final = 1e9
MILLION: Final = 1e6
SMALL_GROUP: Final = 100
"""The group whose cost was measured."""


@dataclass(frozen=True)
class Hosting:
    """How a campaign is run, and what things cost there; prices are in one currency, whichever it is."""

    check_in_hours: float = 1.0
    layer_hours: float = 168.0
    regions: int = 1
    core_price: float = 0.05
    """Of a core for an hour."""
    traffic_price: float = 0.09
    """Of a gigabyte that leaves a region."""
    storage_price: float = 0.12
    """Of a gigabyte of the database's disk for a month."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 0 if field.name.endswith("price") else 1 if field.name == "regions" else 1 / HOUR
            if not lowest <= value < math.inf:
                raise ParameterError(
                    f"{field.name.replace('_', ' ')} must be at least {lowest:g} and finite, not {value:g}"
                )


@dataclass(frozen=True)
class Part:
    """A part of the service."""

    name: str
    cores: float
    """That it takes at the busiest time, each as busy as is assumed."""
    rented: int
    """As many whole cores, and at least one in each region."""
    most_cores: float | None
    """More it can't use, however many there are; None if there is no such limit."""

    @property
    def fits(self) -> bool:
        """Whether it can do all that it is asked."""
        return self.most_cores is None or self.cores <= self.most_cores


@dataclass(frozen=True)
class Money:
    """What is paid."""

    cores: float
    traffic: float
    storage: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.cores + self.traffic + self.storage


@dataclass(frozen=True)
class ServiceCost:
    """What the service of a campaign costs."""

    hours: float
    check_ins: float
    """Of a device, on average."""
    parts: tuple[Part, ...]
    sent_bytes: float
    """To a device, on average."""
    between_regions: float
    """Bytes of all devices together."""
    kept_bytes: float
    memory_bytes: float
    """Of all workers together, for the reports of the largest layer."""
    money: Money
    per_million_devices: float
    per_word: float | None
    """None if no word is expected."""

    @property
    def breaks_first(self) -> Part | None:
        """The part that is furthest beyond what it can do, if any is."""
        broken = [part for part in self.parts if part.most_cores is not None and not part.fits]
        return max(broken, key=lambda part: part.cores / (part.most_cores or 1), default=None)


@dataclass(frozen=True)
class _PerDevice:
    """What a device that takes part costs beside its check-ins: seconds of each part, and bytes."""

    workers: float
    leader: float
    """Of the one worker that leads the campaign."""
    proxy: float
    database: float
    sent: float
    told: float
    """What workers tell the database."""


def service_cost(plan: Plan, hosting: Hosting, masked: MaskingCost | None = None) -> ServiceCost:
    """The cost of the service for a plan's campaign; with what masks cost a device, where votes are masked."""
    layers, users = plan.expected.layers, plan.campaign.users
    interval = min(hosting.check_in_hours, hosting.layer_hours) * HOUR
    times = hosting.layer_hours * HOUR / interval
    taking_part = [_in_groups(plan, masked) if masked else _plain(plan, layer) for layer in layers]
    busiest = dict.fromkeys(("workers", "masking groups", "proxies", "database"), 0.0)
    waited = answered = sent = told = 0.0
    left = float(users)
    for index, (layer, each) in enumerate(zip(layers, taking_part, strict=True)):
        left -= layer.layer_size
        asked = float(layer.layer_size)
        now = {
            "workers": asked * (unit_cost("invited") + each.workers) + left * unit_cost("waiting"),
            "masking groups": asked * each.leader,
            "proxies": asked * each.proxy + (asked + left) * unit_cost("connection"),
            "database": asked * (unit_cost("invited_database") + each.database),
        }
        busiest = {name: max(busiest[name], seconds) for name, seconds in now.items()}
        waited += left * times
        answered += asked
        roots = layers[index - 1].kept if index else 0
        sent += asked * (each.sent + document_bytes(plan, roots))
        told += asked * each.told
    check_ins = waited + answered
    sent += check_ins * (unit_cost("answer") + unit_cost("handshake"))
    parts = _parts(busiest, interval, hosting.regions)
    hours = hosting.layer_hours * len(layers)
    kept = answered * unit_cost("kept")
    between = told * (1 - 1 / hosting.regions)
    money = Money(
        sum(part.rented for part in parts) * hours * hosting.core_price,
        (sent + between) / GIGABYTE * hosting.traffic_price,
        kept / GIGABYTE * hours / MONTH_HOURS * hosting.storage_price,
    )
    words = plan.expected.words
    return ServiceCost(
        hours=hours,
        check_ins=check_ins / users,
        parts=parts,
        sent_bytes=sent / users,
        between_regions=between,
        kept_bytes=kept,
        memory_bytes=max(layer.layer_size for layer in layers) * unit_cost("memory"),
        money=money,
        per_million_devices=money.total * MILLION / users,
        per_word=money.total / words if words >= 1 else None,
    )


def document_bytes(plan: Plan, roots: int) -> float:
    """The bytes of a layer's document, packed."""
    likely = plan.campaign.parameters.layers is not None
    return likely * unit_cost("spelling") + roots * unit_cost("root")


def _plain(plan: Plan, layer: LayerForecast) -> _PerDevice:
    """A device that sends a report; again, twice, where layers are planned and nothing is final before their end."""
    more = 2 if plan.campaign.parameters.drawn else 0
    millions = _millions_more(layer)
    return _PerDevice(
        workers=unit_cost("document")
        + unit_cost("report")
        + millions * unit_cost("candidates")
        + more * unit_cost("waiting"),
        leader=0.0,
        proxy=2 * unit_cost("request") + more * unit_cost("connection"),
        database=unit_cost("report_database") + millions * unit_cost("candidates_database"),
        sent=more * (unit_cost("answer") + unit_cost("handshake")),
        told=unit_cost("written") + millions * unit_cost("candidates_written"),
    )


def _millions_more(layer: LayerForecast) -> float:
    """How many millions of candidates a layer has beyond the first."""
    return max(0.0, layer.candidates / MILLION - 1)


def _in_groups(plan: Plan, masked: MaskingCost) -> _PerDevice:
    """A device that masks its votes: its group is in the memory of the worker that leads the campaign."""
    assert plan.masked
    return _PerDevice(
        workers=unit_cost("document"),
        leader=unit_cost("masked") * (plan.masked.size / SMALL_GROUP) ** unit_cost("masked_growth"),
        proxy=2 * unit_cost("request"),
        database=unit_cost("report_database"),
        sent=masked.received_bytes,
        told=unit_cost("written"),
    )


def _parts(busiest: Mapping[str, float], interval: float, regions: int) -> tuple[Part, ...]:
    """The parts of the service, for so many seconds of work in the busiest interval."""
    scale = unit_cost("peak") / unit_cost("busy") / interval
    most: dict[str, float | None] = {"masking groups": 1.0, "database": unit_cost("largest_machine")}
    fewest = {"workers": regions, "proxies": regions, "database": 1}
    return tuple(
        Part(name, seconds * scale, max(math.ceil(seconds * scale), fewest.get(name, 1)), most.get(name))
        for name, seconds in busiest.items()
        if seconds
    )
