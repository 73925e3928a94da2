"""The documents of a discovery by simulation: its `release.json`, and the `truth.json` that it compares with."""

from collections.abc import Mapping
from dataclasses import asdict

from neologue.release.codec import Provenance, release_document
from neologue.simulation.discovery_run import DiscoveryRun

TRUTH_FORMAT = 1
CONFIDENTIAL = "As confidential as the data: exact figures of what users hold, which no privacy statement covers."
MADE_UP = "Exact figures of what users hold, which no privacy statement covers; these users are simulated."


def discovery_document(discovery: DiscoveryRun) -> dict[str, object]:
    """The release of the discovery as plain values."""
    provenance = Provenance(discovery.public_population, discovery.fidelity, discovery.seed)
    return release_document(discovery.release, provenance)


def truth_document(discovery: DiscoveryRun, release: Mapping[str, object]) -> dict[str, object]:
    """What is known exactly, as plain values; `release` is the document that it belongs to."""
    return {
        "format": TRUTH_FORMAT,
        "notice": CONFIDENTIAL if discovery.real_people else MADE_UP,
        "release": release["digest"],
        "population": discovery.population,
        "score": asdict(discovery.score),
        "left_out": {
            **asdict(discovery.left_out),
            "share": discovery.left_out.share,
            "old_share": discovery.left_out.old_share,
        },
    }
