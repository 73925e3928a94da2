"""Which layer comes next in a pass: its prefixes' extension and its share of the users left."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from neologue.language.candidates import Strings
from neologue.language.vocabulary import Vocabulary
from neologue.privacy.planning import Shape
from neologue.protocol.campaign import Campaign
from neologue.protocol.layer import Layer


@dataclass
class Schedule:
    """The layers of one pass, decided one at a time."""

    campaign: Campaign
    passage: int
    found: Vocabulary
    """The words of earlier passes."""
    users_left: int
    number: int = 0

    def next(self, frontier: Strings) -> Layer | None:
        """The next layer, unless the trie is complete: no prefix is left, or none that a word could still end."""
        parameters = self.campaign.parameters
        length = frontier.dtype.itemsize // 4
        if not len(frontier) or length > parameters.depth:
            return None
        size = self.size(len(frontier), length)
        if size is None:
            return None
        extension, cohort = size
        return Layer(
            passage=self.passage,
            number=self.number,
            cohort=cohort,
            alphabet=self.campaign.alphabet,
            frontier=frontier,
            extension=extension,
            depth=parameters.depth,
            mechanism=parameters.randomizer,
            epsilon=self.campaign.epsilon,
            bound=parameters.words_per_user,
            sampler=parameters.sampler,
            known=self.campaign.known,
            found=self.found,
            targets=self.campaign.targets,
        )

    def size(self, prefixes: int, length: int) -> tuple[int, int] | None:
        """By how many symbols so many prefixes are extended, and how many users are asked, who are then spent."""
        cohort = self._cohort(prefixes, length)
        if cohort < self.campaign.parameters.smallest_layer:
            return None
        self.number += 1
        self.users_left -= cohort
        return self._extension(prefixes, length), cohort

    def _extension(self, prefixes: int, length: int) -> int:
        return self._shape.extension(prefixes, length) if self.campaign.parameters.adaptive else 1

    def _cohort(self, prefixes: int, length: int) -> int:
        parameters = self.campaign.parameters
        if parameters.adaptive:
            planned = self._shape.cohort(self.users_left, prefixes, length)
            return min(self.users_left, max(planned, parameters.smallest_layer))
        return self.campaign.users // (parameters.passes * parameters.depth)

    @cached_property
    def _shape(self) -> Shape:
        return Shape(
            characters=self.campaign.alphabet.size - 1,
            candidates=self.campaign.largest_layer,
            depth=self.campaign.parameters.depth,
            known_lengths=Counter(map(len, self.campaign.known.words)),
        )
