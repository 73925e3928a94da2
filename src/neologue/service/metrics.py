"""Figures for Prometheus: of the service and of whole layers, never of a device."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What one worker counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "neologue_requests", "Requests, by route and status.", ("route", "status"), registry=self._registry
        )
        self.check_ins = Counter("neologue_check_ins", "Check-ins, by answer.", ("answer",), registry=self._registry)
        self.reports = Counter(
            "neologue_reports", "Reports, by what became of them.", ("outcome",), registry=self._registry
        )
        self.waiting = Gauge("neologue_waiting_bytes", "Memory of reports that wait.", registry=self._registry)
        self.batches = Histogram(
            "neologue_batch_reports",
            "Reports that were counted together.",
            buckets=(100, 200, 500, 1000, 2000, 5000, 10_000),
            registry=self._registry,
        )
        self.faults = Counter("neologue_faults", "Faults of the service itself.", registry=self._registry)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self._registry)
