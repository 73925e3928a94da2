"""The `release.json` of a discovery in simulation, which knows its seed and how well it did."""

from dataclasses import asdict

from neologue.release.codec import release_document
from neologue.simulation.discovery_run import Discovery


def discovery_document(discovery: Discovery) -> dict[str, object]:
    """The discovery as plain values."""
    return release_document(
        discovery.release,
        population=discovery.population,
        fidelity=discovery.fidelity,
        seed=discovery.seed,
        score=asdict(discovery.score),
    )
