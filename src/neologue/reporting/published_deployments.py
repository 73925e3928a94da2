"""What others have published about deployments of differential privacy, to read a release beside it.

The figures are those of the public registry of deployments (OpenDP, as of July 2026), which names the sources. They
protect different units against different observers, so that they can't be ordered by ε.
"""

from dataclasses import dataclass

REGISTRY = "https://github.com/opendp/deployments-registry-data"


@dataclass(frozen=True)
class Deployment:
    """One published deployment."""

    name: str
    against: str
    """Whom it protects against."""
    unit: str
    """What is protected."""
    parameters: str
    source: str


DEPLOYMENTS = (
    Deployment(
        "Apple, popular emojis (2017)",
        "everyone, the server included (local)",
        "one event: one typed emoji",
        "ε = 4",
        "https://docs-assets.developer.apple.com/ml-research/papers/learning-with-privacy-at-scale.pdf",
    ),
    Deployment(
        "Microsoft, Windows telemetry (2017)",
        "everyone, the server included (local)",
        "a user in six hours",
        "ε = 1.672",
        "https://www.microsoft.com/en-us/research/publication/collecting-telemetry-data-privately/",
    ),
    Deployment(
        "US Census, redistricting data, person tables (2021)",
        "readers of the release (central)",
        "a person",
        "ε = 17.14 at δ = 1e-10",
        "https://www2.census.gov/library/publications/decennial/2020/2020-census-disclosure-avoidance-handbook.pdf",
    ),
    Deployment(
        "Google, Gboard’s Spanish next words (2022)",
        "readers of the model (central)",
        "a device",
        "ρ = 0.81 (zCDP), which is ε ≤ 9.45 at δ = 1e-10",
        "https://research.google/blog/federated-learning-with-formal-differential-privacy-guarantees/",
    ),
    Deployment(
        "Wikimedia, current page views (2023)",
        "readers of the release (central)",
        "a device on one day",
        "ρ = 0.015 (zCDP)",
        "https://arxiv.org/pdf/2308.16298",
    ),
)
