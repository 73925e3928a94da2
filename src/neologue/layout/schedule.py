"""Which layer comes next in a pass: how its prefixes go on, and its share of the users left."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from neologue.campaign.campaign import Campaign
from neologue.campaign.promise import fewest_users, too_few_users
from neologue.language.candidates import Strings, extensions
from neologue.language.spelling import Spelling
from neologue.language.vocabulary import Vocabulary
from neologue.layout.shape import Shape
from neologue.privacy.collection import Batch, Collection
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.channel import Floats


@dataclass
class Schedule:
    """The layers of one pass, decided one at a time."""

    campaign: Campaign
    pass_number: int
    found: Vocabulary
    """The words of earlier passes."""
    users_left: int
    number: int = 0

    def next(self, frontier: Strings, shares: Floats, spelling: Spelling, doubtful: Strings) -> ExtendingLayer | None:
        """The next layer, unless the trie is complete: no prefix is left, or none that a word could still end.

        Then nobody is asked about words that are in doubt still: a layer is for prefixes, and they come along.

        Where not all ways to go on fit, those are taken that `shares`, of the users who hold each prefix, and the
        spelling make likely.
        """
        parameters = self.campaign.parameters
        length = frontier.dtype.itemsize // 4
        if not len(frontier) or length > parameters.depth:
            return None
        size = self.size(len(frontier), length, len(doubtful))
        if size is None:
            return None
        extension, ways, layer_size = size
        every = extensions(self.campaign.alphabet.size - 1, extension)
        return ExtendingLayer(
            pass_number=self.pass_number,
            number=self.number,
            layer_size=layer_size,
            alphabet=self.campaign.alphabet,
            frontier=frontier,
            extension=extension,
            lists=None if ways == every else spelling.likeliest(frontier, shares, extension, ways),
            depth=parameters.depth,
            mechanism=parameters.randomizer,
            epsilon=self.campaign.epsilon,
            bound=parameters.words_per_user,
            sampler=parameters.sampler,
            known=self.campaign.known,
            found=self.found,
            targets=self.campaign.targets,
            doubtful=doubtful,
            form=self.campaign.form,
        )

    def size(self, prefixes: int, length: int, doubtful: int = 0) -> tuple[int, int, int] | None:
        """By how many symbols so many prefixes are extended, in how many ways, and how many users are asked.

        They are then spent. The words in doubt need room among the candidates.
        """
        shape = self._shape(doubtful)
        extension, ways = 1, self.campaign.alphabet.size
        if self.campaign.parameters.adaptive:
            extension = shape.extension(prefixes, length)
            ways = shape.ways(prefixes, extension)
        least = fewest_users(self.campaign.parameters, prefixes * ways)
        layer_size = self._layer_size(shape, prefixes, length, least)
        if layer_size < least:
            if self.campaign.parameters.promised_epsilon is not None and self.pass_number == 1 and not self.number:
                raise too_few_users(self.campaign.parameters, self.campaign.users, layer_size, least)
            return None
        self.number += 1
        self.users_left -= layer_size
        return extension, ways, layer_size

    def foreseen_batches(self) -> Iterator[Batch]:
        """The batches of the pass, if prefixes die out as known words do; the users in them are then spent."""
        parameters = self.campaign.parameters
        prefixes, length = self.campaign.alphabet.size - 1, 1
        while length <= parameters.depth and (size := self.size(prefixes, length)):
            extension, ways, layer_size = size
            yield Batch(layer_size, prefixes * ways)
            length += extension
            most = min(parameters.frontier, self.campaign.largest_layer // self.campaign.alphabet.size)
            prefixes = max(1, round(most * self._shape().reaching(length))) if parameters.adaptive else most

    def _layer_size(self, shape: Shape, prefixes: int, length: int, least: int) -> int:
        parameters = self.campaign.parameters
        if parameters.adaptive:
            planned = shape.layer_size(self.users_left, prefixes, length)
            return min(self.users_left, max(planned, least))
        return self.campaign.users // (parameters.passes * parameters.depth)

    def _shape(self, doubtful: int = 0) -> Shape:
        return Shape(
            characters=self.campaign.alphabet.size - 1,
            candidates=self.campaign.largest_layer - doubtful,
            depth=self.campaign.parameters.depth,
            known_lengths=self._known_lengths,
        )

    @cached_property
    def _known_lengths(self) -> Counter[int]:
        return Counter(map(len, self.campaign.known.words))


def foreseen_collection(campaign: Campaign) -> Collection:
    """What a campaign will collect, as far as can be told before any vote."""
    parameters = campaign.parameters
    batches: list[Batch] = []
    if parameters.layers is not None:
        layers = parameters.passes * parameters.layers
        reports = parameters.counted_reports(campaign.users // layers)
        batches = [Batch(reports, campaign.largest_layer)] * layers
        return Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, tuple(batches))
    for pass_number in range(1, parameters.passes + 1):
        unasked = campaign.users - sum(batch.reports for batch in batches)
        share = unasked // (parameters.passes + 1 - pass_number)
        batches.extend(Schedule(campaign, pass_number, Vocabulary.empty(), share).foreseen_batches())
    return Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, tuple(batches))
