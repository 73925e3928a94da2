"""Metrics for Prometheus: of the service and of whole layers, never of a device."""

import collections
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class Counts(Collector):
    """Counters by labels, as cheap as numbers in a dictionary; used on the event loop alone."""

    def __init__(self, name: str, documentation: str, labels: tuple[str, ...], registry: CollectorRegistry) -> None:
        self._described = (name, documentation, labels)
        self.counted: collections.Counter[tuple[object, ...]] = collections.Counter()
        """The counts so far, by label values."""
        registry.register(self)

    def add(self, *labels: object) -> None:
        """Increment a counter."""
        self.counted[labels] += 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        """All counters."""
        name, documentation, labels = self._described
        family = CounterMetricFamily(name, documentation, labels=labels)
        for values, count in self.counted.items():
            family.add_metric([str(value) for value in values], count)
        yield family


class Metrics:
    """The metrics of one worker."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._traffic = CollectorRegistry()
        """What tells how many devices came, and when."""
        self.requests = Counts(
            "neologue_requests", "Requests, by route and status.", ("route", "status"), self._traffic
        )
        self.check_ins = Counts("neologue_check_ins", "Check-ins, by answer.", ("answer",), self._traffic)
        self.reports = Counts("neologue_reports", "Reports, by what became of them.", ("outcome",), self._traffic)
        self.groups = Counts(
            "neologue_cohorts", "Groups of secure aggregation, by how they ended.", ("outcome",), self._registry
        )
        self.alarms = Counts(
            "neologue_alarms",
            "Groups that ended as only hostile or broken devices make them, by campaign and kind.",
            ("campaign", "kind"),
            self._registry,
        )
        self.limits = Counts(
            "neologue_limits",
            "How many times each limit refused a request or closed a connection.",
            ("limit",),
            self._registry,
        )
        self.log_lines = Gauge(
            "neologue_log_lines_left_out",
            "Warnings and errors that were not logged, as too many came.",
            registry=self._registry,
        )
        self.connections = Gauge("neologue_connections", "Open connections.", registry=self._traffic)
        self.waiting = Gauge("neologue_waiting_reports", "Reports that wait for their batch.", registry=self._traffic)
        self.faults = Counter("neologue_faults", "Faults of the service itself.", registry=self._registry)

    def text(self, *, traffic: bool = True) -> bytes:
        """All metrics in the text format of Prometheus, or those alone that do not tell how many devices came."""
        return generate_latest(self._registry) + (generate_latest(self._traffic) if traffic else b"")
