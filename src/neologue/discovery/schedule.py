"""Which layer comes next in a pass: its prefixes' extension and its share of the users left."""

from dataclasses import dataclass, field
from functools import cached_property

from neologue.language.candidates import Strings
from neologue.privacy.planning import layer_weights, longest_extension, next_cohort
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
        return longest_extension(prefixes, characters, self.campaign.largest_layer, parameters.depth + 1 - length)

    def _cohort(self, length: int, extension: int) -> int:
        parameters = self.campaign.parameters
        if not parameters.adaptive:
            return self.campaign.users // (parameters.passes * parameters.depth)
        coming = (length, *range(length + extension, parameters.depth + 1))
        return next_cohort(self.users_left, layer_weights(self._known_lengths, coming))

    @cached_property
    def _known_lengths(self) -> list[int]:
        return [len(word) for word in self.campaign.known.words]
