"""Counts of the words that users report, in memory that does not grow with the number of users."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neologue.populations.streams import Stream, generator
from neologue.simulation.votes.samples import Sampler
from neologue.studies.method import Advance, Task

Integers = NDArray[np.int64]


def one_word(
    task: Task,
    users: tuple[int, int],
    seed: int,
    advance: Advance,
    *,
    by_use: bool,
    eligible: NDArray[np.bool_] | None = None,
) -> Integers:
    """How many users of a range report each of the task's words, if each user picks one.

    They pick among their `eligible` words: uniformly, or with `by_use` in proportion to how often they typed each.
    """
    may_pick = np.zeros(len(task.population.words), np.bool_)
    may_pick[task.word_indices] = True if eligible is None else eligible
    speakers = np.zeros(len(may_pick), np.int64)
    for start, stop in task.population.spans(*users):
        held = task.population.draw(start, stop, counted=by_use)
        weights = np.where(may_pick[held.words], held.counts if by_use else 1, 0)
        edges = np.concatenate([[0], np.cumsum(weights, dtype=np.int64)])
        lows, highs = edges[held.starts[:-1]], edges[held.starts[1:]]
        able = highs > lows
        typing = generator(Stream.SAMPLES, seed, start).integers(lows[able], highs[able])
        picked = held.words[np.searchsorted(edges, typing, side="right") - 1]
        speakers += np.bincount(picked, minlength=len(speakers))
        advance(held.users)
    return speakers[task.word_indices]


def several_words(task: Task, bound: int | None, seed: int, advance: Advance) -> Integers:
    """How many users report each of the task's words, if each user picks up to `bound` of them; None means all."""
    speakers = np.zeros(len(task.word_indices), np.int64)
    for _, words in samples(task, bound, seed, advance):
        speakers += np.bincount(words, minlength=len(speakers))
    return speakers


def samples(
    task: Task, bound: int | None, seed: int, advance: Advance, eligible: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Integers, NDArray[np.int32]]]:
    """For blocks of users, up to `bound` words that each reports: where each user's begin, and the words."""
    count = len(task.word_indices)
    group_of_word = np.full(len(task.population.words), -1, np.int32)
    group_of_word[task.word_indices] = (
        np.arange(count) if eligible is None else np.where(eligible, np.arange(count), -1)
    )
    sampler = Sampler(count, group_of_word, bound or count or 1, False, seed)
    for start, stop in task.population.spans(0, task.users):
        held = task.population.draw(start, stop, counted=False)
        yield sampler.samples(start, held)
        advance(held.users)
