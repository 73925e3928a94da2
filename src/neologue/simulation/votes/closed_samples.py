"""What users sample in a closed layer: the law of `neologue.device.contribution.held_candidates`, for many users."""

from dataclasses import dataclass

import numpy as np

from neologue.compiled import compiled
from neologue.populations.count_kernel import Ids, Ints
from neologue.populations.holdings import Holdings
from neologue.populations.streams import Stream, generator
from neologue.simulation.votes.samples import Sampler


@dataclass(frozen=True, eq=False)
class ListedSampler:
    """How users sample words and find their elements of a report; it stands in for a `Sampler` of elements."""

    sampler: Sampler
    """Samples words: every word that counts is a group of its own."""
    element_of_group: Ids
    """The element of each word on the list, -1 for one outside it."""
    listed: int
    outside: int
    """The elements behind the list: one for the first word outside it, one for the second, …; or one for all."""
    rate: float

    @property
    def groups(self) -> int:
        """How many elements there are."""
        return self.listed + self.outside

    @property
    def group_of_word(self) -> Ids:
        """What the words of the lexicon are counted by."""
        return self.sampler.group_of_word

    @property
    def greedy(self) -> bool:
        """Never: the times typed do not matter."""
        return False

    def samples(self, start: int, held: Holdings) -> tuple[Ints, Ids]:
        """The elements that the users from `start` on hold, and where each one's part begins."""
        starts, words = self.sampler.samples(start, self._drawn(start, held))
        return starts, find_elements(starts, words, self.element_of_group, self.listed, self.outside)

    def _drawn(self, start: int, held: Holdings) -> Holdings:
        """Each word with the chance of the rate."""
        if self.rate == 1:
            return held
        drawn = generator(Stream.RATES, self.sampler.seed, start).random(len(held.words)) < self.rate
        before = np.concatenate([[0], np.cumsum(drawn)])
        return Holdings(before[held.starts], held.words[drawn], held.counts[drawn])


@compiled
def find_elements(starts: Ints, words: Ids, element_of_group: Ids, listed: int, outside: int) -> Ids:
    """The element of each sampled word: its own on the list, or behind it the next that the user has not taken."""
    elements = np.empty(len(words), np.int32)
    for user in range(len(starts) - 1):
        others = 0
        for at in range(starts[user], starts[user + 1]):
            element = element_of_group[words[at]]
            if element < 0:
                element = listed + min(others, outside - 1)
                others += 1
            elements[at] = element
    return elements
