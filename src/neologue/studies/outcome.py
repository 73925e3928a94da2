"""Scores of the words that a method found, if the truth is known; the same for every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

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
    missing_mass: float
    """Of all times that a user typed a countable word, the share that were of words which were not found."""
    f1: float
    """F1 of the first K words found against the K most widely held words (the score of Zhu et al. 2020)."""


class WordUse(NamedTuple):
    """How widely a word is used in the whole population."""

    users: int
    typings: int


def truth_of(task: Task) -> dict[str, WordUse]:
    """The use of each countable word that somebody holds."""
    words = len(task.population.words)
    holders, typings = np.zeros(words, np.int64), np.zeros(words, np.int64)
    for start, stop in task.population.spans(0, task.population.users):
        held = task.population.draw(start, stop)
        holders += np.bincount(held.words, minlength=words)
        typings += np.bincount(held.words, weights=held.counts, minlength=words).astype(np.int64)
    uses = zip(holders[task.word_indices].tolist(), typings[task.word_indices].tolist(), strict=True)
    return {
        word: WordUse(users, times) for word, (users, times) in zip(task.words.tolist(), uses, strict=True) if users
    }


def outcome(found: Sequence[str], truth: Mapping[str, WordUse], top: int) -> Outcome:
    """Score words, given in the order in which a method ranks them."""
    held = [truth[word] for word in found if word in truth]
    pairs, typings = sum(use.users for use in truth.values()), sum(use.typings for use in truth.values())
    return Outcome(
        words=len(found),
        coverage=sum(use.users for use in held) / pairs if pairs else 0.0,
        precision=len(held) / len(found) if found else 1.0,
        recall=len(held) / len(truth) if truth else 0.0,
        missing_mass=1 - sum(use.typings for use in held) / typings if typings else 0.0,
        f1=_f1(found[:top], truth, top),
    )


def _f1(first: Sequence[str], truth: Mapping[str, WordUse], top: int) -> float:
    """F1 of the first words found; ties in the truth are broken alphabetically."""
    wanted = set(sorted(truth, key=lambda word: (-truth[word].users, word))[:top])
    hits = len(wanted.intersection(first))
    return 2 * hits / (len(wanted) + len(first)) if hits else 0.0
