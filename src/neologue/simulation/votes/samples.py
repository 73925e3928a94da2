"""What users sample of the words they hold: the law of `neologue.device.sampling`, for many users at once."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from neologue.compiled import compiled
from neologue.populations.count_kernel import Ids, Ints
from neologue.populations.holdings import Holdings
from neologue.populations.streams import Stream, generator


@dataclass(frozen=True, eq=False)
class Sampler:
    """How the users of a layer sample candidates; words belong to groups, one for each candidate that is held."""

    groups: int
    group_of_word: Ids
    """The group of each word of the lexicon, -1 for a word that does not count or leads to no candidate."""
    bound: int
    greedy: bool
    seed: int

    def samples(self, start: int, held: Holdings) -> tuple[Ints, Ids]:
        """The groups that the users from `start` on sample, and where each one's part begins."""
        source = generator(Stream.SAMPLES, self.seed, start)
        words = (held.starts, held.words, held.counts, self.group_of_word)
        return sample_users(source, *words, self.groups, self.bound, self.greedy)


@compiled
def sample_users(
    source: Generator,
    starts: Ints,
    words: Ids,
    counts: Ids,
    group_of_word: Ids,
    groups: int,
    bound: int,
    greedy: bool,
) -> tuple[Ints, Ids]:
    """All users' samples, at most `bound` different groups of words, the most typed or any: starts, groups."""
    users = len(starts) - 1
    sample_starts = np.zeros(users + 1, np.int64)
    samples = np.empty(min(len(words), users * bound), np.int32)
    # Where a group was put last, counted from 1 over all users: at a place of the same user, or before.
    latest = np.zeros(groups, np.int32)
    widest = 0
    for user in range(users):
        widest = max(widest, starts[user + 1] - starts[user])
    held = np.empty(widest, np.int32)
    times = np.empty(widest, np.int64)
    before = end = 0
    for user in range(users):
        distinct = 0
        for index in range(starts[user], starts[user + 1]):
            group = group_of_word[words[index]]
            if group < 0:
                continue
            if latest[group] > before:
                times[latest[group] - before - 1] += counts[index]
            else:
                held[distinct] = group
                times[distinct] = counts[index]
                distinct += 1
                latest[group] = before + distinct
        before += distinct
        eligible, missing = distinct, min(distinct, bound)
        if greedy and distinct > bound:
            # All that was typed more than the last one taken is taken; of those typed as much, some at random.
            least = np.partition(times[:distinct], distinct - bound)[distinct - bound]
            eligible = 0
            for index in range(distinct):
                if times[index] > least:
                    samples[end] = held[index]
                    end += 1
                    missing -= 1
                elif times[index] == least:
                    held[eligible] = held[index]
                    eligible += 1
        for index in range(missing):
            other = index + source.integers(0, eligible - index) if eligible > missing else index
            samples[end] = held[other]
            held[other] = held[index]
            end += 1
        sample_starts[user + 1] = end
    return sample_starts, samples[:end]
