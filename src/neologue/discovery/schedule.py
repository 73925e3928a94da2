"""Which layer comes next in a pass: its prefixes' extension and its share of the users left."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from neologue.language.candidates import Strings
from neologue.privacy.planning import longest_extension, next_cohort
from neologue.protocol.campaign import Campaign
from neologue.protocol.layer import Layer


@dataclass
class Schedule:
    """The layers of one pass, decided one at a time."""

    campaign: Campaign
    passage: int
    found: frozenset[str]
    number: int = 0
    users_left: int = field(init=False)

    def __post_init__(self) -> None:
        self.users_left = self.campaign.users // self.campaign.parameters.passes

    def next(self, frontier: Strings) -> Layer | None:
        """The next layer, unless the trie is complete: no prefix is left, or none that a word could still end."""
        depth, parameters = self.campaign.parameters.depth, self.campaign.parameters
        length = frontier.dtype.itemsize // 4
        if not len(frontier) or length > depth:
            return None
        extension = self._extension(len(frontier), length)
        cohort = self._cohort(length, extension)
        if cohort < 1:
            return None
        self.number += 1
        self.users_left -= cohort
        return Layer(
            passage=self.passage,
            number=self.number,
            cohort=cohort,
            alphabet=self.campaign.alphabet,
            frontier=frontier,
            extension=extension,
            depth=depth,
            mechanism=parameters.randomizer,
            epsilon=self.campaign.epsilon,
            bound=parameters.words_per_user,
            sampler=parameters.sampler,
            known=self.campaign.known,
            found=self.found,
            targets=self.campaign.targets,
        )

    def _extension(self, prefixes: int, length: int) -> int:
        parameters = self.campaign.parameters
        if not parameters.adaptive:
            return 1
        characters = self.campaign.alphabet.size - 1
        return longest_extension(prefixes, characters, parameters.candidates, parameters.depth + 1 - length)

    def _cohort(self, length: int, extension: int) -> int:
        parameters = self.campaign.parameters
        if not parameters.adaptive:
            return self.campaign.users // (parameters.passes * parameters.depth)
        starts = range(length + extension, parameters.depth + 1)
        return next_cohort(self.users_left, [self._weight(length), *map(self._weight, starts)])

    def _weight(self, length: int) -> float:
        return float(self._reach[length] ** POWER)

    @cached_property
    def _reach(self) -> np.ndarray:
        """The share of known words with at least so many characters."""
        depth = self.campaign.parameters.depth
        lengths = np.array([min(len(w), depth) for w in self.campaign.known.words] or [depth])
        return np.array([(lengths >= n).mean() for n in range(depth + 1)])


POWER = 1.0
