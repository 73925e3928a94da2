"""How good a release is, where the truth is known."""

from dataclasses import dataclass

from neologue.discovery.release import Release
from neologue.protocol.layer import Layer
from neologue.simulation.population import Population


@dataclass(frozen=True)
class Score:
    """Coverage and precision of a release."""

    coverage: float
    """Of all pairs of a user and a word they hold that counts, the share whose word was released."""
    precision: float
    """Of all released words, the share that at least one user holds."""
    words_true: int
    """Words that count and that at least one user holds."""
    words_released: int


def score(release: Release, population: Population, first_layer: Layer) -> Score:
    """Compare a release with what the users hold; the first layer says which words count."""
    holders = {word: int(users) for word, users in zip(population.words, population.holders(), strict=True) if users}
    true = {word: users for word, users in holders.items() if first_layer.counts(word)}
    released = [word.word for word in release.words]
    total = sum(true.values())
    covered = sum(true.get(word, 0) for word in released)
    return Score(
        coverage=covered / total if total else 0.0,
        precision=sum(word in holders for word in released) / len(released) if released else 1.0,
        words_true=len(true),
        words_released=len(released),
    )
