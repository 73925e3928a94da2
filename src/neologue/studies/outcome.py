"""How good a finding is, where the truth is known: the figures of every method in one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neologue.studies.method import Task


@dataclass(frozen=True)
class Outcome:
    """Figures of one finding; coverage and precision as `neologue.simulation.scoring` has them."""

    words: int
    coverage: float
    """Of all pairs of a user and a word they hold that counts, the share whose word was found."""
    precision: float
    """Of all words found, the share that at least one user holds; 1 if none was found."""
    recall: float
    """Of all words that count and that somebody holds, the share that was found."""
    f1: float
    """F1 of the first K words found against the K that most users hold (Zhu et al. 2020 score by it)."""


def truth_of(task: Task) -> dict[str, int]:
    """How many users of the whole population hold each word that counts and that somebody holds."""
    holders = task.population.holders()[task.word_indices].tolist()
    return {word: users for word, users in zip(task.words.tolist(), holders, strict=True) if users}


def outcome(found: Sequence[str], truth: Mapping[str, int], top: int) -> Outcome:
    """Score words in the order in which a method ranks them."""
    total = sum(truth.values())
    return Outcome(
        words=len(found),
        coverage=sum(truth.get(word, 0) for word in found) / total if total else 0.0,
        precision=sum(word in truth for word in found) / len(found) if found else 1.0,
        recall=sum(word in truth for word in found) / len(truth) if truth else 0.0,
        f1=_f1(found[:top], truth, top),
    )


def _f1(first: Sequence[str], truth: Mapping[str, int], top: int) -> float:
    """Words that equally many hold are ranked by their letters."""
    wanted = set(sorted(truth, key=lambda word: (-truth[word], word))[:top])
    hits = len(wanted.intersection(first))
    return 2 * hits / (len(wanted) + len(first)) if hits else 0.0
