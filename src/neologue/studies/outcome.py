"""Scores of the words that a method found, if the truth is known; the same for every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neologue.studies.method import Task


@dataclass(frozen=True)
class Outcome:
    """The scores of one run; coverage and precision as in `neologue.simulation.scoring`."""

    words: int
    coverage: float
    """The share of pairs of a user and a countable word they hold whose word was found."""
    precision: float
    """The share of words found that at least one user holds; 1 if none was found."""
    recall: float
    """The share of countable words that somebody holds that were found."""
    f1: float
    """F1 of the first K words found against the K most widely held words (the score of Zhu et al. 2020)."""


def truth_of(task: Task) -> dict[str, int]:
    """The number of users in the whole population who hold each countable word that somebody holds."""
    holders = task.population.holders()[task.word_indices].tolist()
    return {word: users for word, users in zip(task.words.tolist(), holders, strict=True) if users}


def outcome(found: Sequence[str], truth: Mapping[str, int], top: int) -> Outcome:
    """Score words, given in the order in which a method ranks them."""
    total = sum(truth.values())
    return Outcome(
        words=len(found),
        coverage=sum(truth.get(word, 0) for word in found) / total if total else 0.0,
        precision=sum(word in truth for word in found) / len(found) if found else 1.0,
        recall=sum(word in truth for word in found) / len(truth) if truth else 0.0,
        f1=_f1(found[:top], truth, top),
    )


def _f1(first: Sequence[str], truth: Mapping[str, int], top: int) -> float:
    """F1 of the first words found; ties in the truth are broken alphabetically."""
    wanted = set(sorted(truth, key=lambda word: (-truth[word], word))[:top])
    hits = len(wanted.intersection(first))
    return 2 * hits / (len(wanted) + len(first)) if hits else 0.0
