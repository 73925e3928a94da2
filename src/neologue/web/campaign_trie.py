"""The trie of a campaign as far as it has grown: the prefixes that were kept, and the words, once they are released.

A prefix that was not kept is nowhere in it, and no votes are. It is read from what devices were told and what was
decided, so that it is the same for every worker.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from neologue.protocol.layer import Layer
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.stored_layers import StoredLayers
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState, LayerState
from neologue.web.released import read_release

KEPT = 4
"""How many tries are kept in memory."""
AT_ONCE = 200
"""How many continuations of a prefix are given at once; a large alphabet may have more."""


class TrieBranch(msgspec.Struct, frozen=True):
    """One more character after a prefix."""

    text: str
    below: int
    """How many longer prefixes and words that were kept begin with it."""
    estimate: float | None
    """How many users would report it, if it is a word that was released."""


class Branches(msgspec.Struct, frozen=True):
    """Some of the ways in which a prefix goes on, the fullest first."""

    prefix: str
    branches: list[TrieBranch]
    more: int
    """How many there are behind these."""


@dataclass(frozen=True, eq=False)
class Trie:
    """Everything that was kept, in code point order, so that what begins alike stands together."""

    texts: Sequence[str]
    estimates: Mapping[str, float]
    """Of the released words."""

    @classmethod
    def of(cls, prefixes: Iterable[str], estimates: Mapping[str, float]) -> "Trie":
        """The trie of these prefixes and words."""
        return cls(sorted({*prefixes, *estimates}), estimates)

    def branches(self, prefix: str, start: int = 0) -> Branches:
        """How a prefix goes on, from some layer_index in that list."""
        every = sorted(self._branches(prefix), key=lambda branch: (-branch.below, branch.text))
        some = every[start : start + AT_ONCE]
        return Branches(prefix, some, max(0, len(every) - start - len(some)))

    def _branches(self, prefix: str) -> Iterator[TrieBranch]:
        layer_index, last = self._span(prefix, 0, len(self.texts))
        if layer_index < last and self.texts[layer_index] == prefix:
            layer_index += 1
        while layer_index < last:
            text = self.texts[layer_index][: len(prefix) + 1]
            first, layer_index = self._span(text, layer_index, last)
            yield TrieBranch(text, layer_index - first - (self.texts[first] == text), self.estimates.get(text))

    def _span(self, prefix: str, low: int, high: int) -> tuple[int, int]:
        """From where to where texts begin with this prefix."""

        def begins(text: str) -> str:
            return text[: len(prefix)]

        first = bisect_left(self.texts, prefix, low, high, key=begins)
        return first, bisect_right(self.texts, prefix, first, high, key=begins)


def trie_of(database: Database, entry: CampaignRow) -> Trie:
    """The trie of a campaign as it stands."""
    with database.reading() as db:
        decided = sum(layer.state == LayerState.DECIDED for layer in campaign_store.asked(db, entry.id))
    return _grown(database, entry.id, decided, entry.state == CampaignState.RELEASED)


@lru_cache(KEPT)
def _grown(database: Database, campaign: bytes, decided: int, released: bool) -> Trie:
    words = read_release(database, campaign).words if released else ()
    prefixes = _kept(database, campaign, decided) if decided else ()
    return Trie.of(prefixes, {word.word: word.estimate for word in words})


def _kept(database: Database, campaign: bytes, decided: int) -> Iterator[str]:
    """The prefixes that the first so many layers kept; a measurement has none."""
    with database.reading() as db:
        layers = campaign_store.asked(db, campaign)[:decided]
        decisions = campaign_store.decisions(db, campaign)[:decided]
    stored = StoredLayers(database)
    for row, decision in zip(layers, decisions, strict=True):
        layer = stored.read(row.digest)
        if isinstance(layer, Layer):
            prefixes, ended = layer.candidates.prefixes(decision.index)
            yield from prefixes[~ended].tolist()
