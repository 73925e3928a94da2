"""The trie of a campaign so far: the prefixes that were kept, and the words, once they are released.

It has no votes and no prefix that was dropped. It is read from the documents of the layers and from the decisions, so
it is the same for every worker. Where a campaign asks about what is likely, a prefix was kept because people go on from
it in ways that were not asked about, and it has their share of all users, of which devices are told as well.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from neologue.protocol.layer import Layer, LikelyLayer
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.stored_layers import StoredLayers
from neologue.service.review.released import read_release
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState, LayerState

CACHED_TRIES = 4
"""How many tries are kept in memory."""
MOST_BRANCHES = 200
"""How many continuations of a prefix are listed at once; a large alphabet may have more."""


class TrieBranch(msgspec.Struct, frozen=True):
    """One more character after a prefix."""

    text: str
    below: int
    """How many longer kept prefixes and words begin with it."""
    estimate: float | None
    """How many users would report it, if it is a released word."""
    share: float | None
    """The share of users who go on from it in ways that were not asked about, if it was kept for them."""


class Branches(msgspec.Struct, frozen=True):
    """Some of the continuations of a prefix, those with the most below them first."""

    prefix: str
    branches: list[TrieBranch]
    more: int
    """How many more there are after these."""


@dataclass(frozen=True, eq=False)
class Trie:
    """All kept texts in code point order, so that those with a common beginning are adjacent."""

    texts: Sequence[str]
    estimates: Mapping[str, float]
    """Of the released words."""
    shares: Mapping[str, float | None]
    """Of the kept prefixes, with the share of users who go on from them in ways that were not asked about."""

    @classmethod
    def of(cls, shares: Mapping[str, float | None], estimates: Mapping[str, float]) -> "Trie":
        """The trie of these prefixes and words."""
        return cls(sorted({*shares, *estimates}), estimates, shares)

    def branches(self, prefix: str, start: int = 0) -> Branches:
        """The continuations of a prefix, from number `start` on."""
        every = sorted(self._branches(prefix), key=lambda branch: (-branch.below, branch.text))
        some = every[start : start + MOST_BRANCHES]
        return Branches(prefix, some, max(0, len(every) - start - len(some)))

    def _branches(self, prefix: str) -> Iterator[TrieBranch]:
        position, last = self._span(prefix, 0, len(self.texts))
        if position < last and self.texts[position] == prefix:
            position += 1
        while position < last:
            text = self.texts[position][: len(prefix) + 1]
            first, position = self._span(text, position, last)
            below = position - first - (self.texts[first] == text)
            yield TrieBranch(text, below, self.estimates.get(text), self.shares.get(text))

    def _span(self, prefix: str, low: int, high: int) -> tuple[int, int]:
        """The range of the texts that begin with this prefix."""

        def beginning(text: str) -> str:
            return text[: len(prefix)]

        first = bisect_left(self.texts, prefix, low, high, key=beginning)
        return first, bisect_right(self.texts, prefix, first, high, key=beginning)


def campaign_trie(database: Database, entry: CampaignRow) -> Trie:
    """The trie of a campaign by now."""
    with database.reading() as db:
        decided = sum(layer.state == LayerState.DECIDED for layer in layer_store.layers_of(db, entry.id))
    return _build_trie(database, entry.name, decided, entry.state == CampaignState.RELEASED)


@lru_cache(CACHED_TRIES)
def _build_trie(database: Database, name: str, decided: int, released: bool) -> Trie:
    with database.reading() as db:
        entry = campaign_store.campaign_named(db, name)
    words = read_release(database, entry).words if released else ()
    shares = _kept_prefixes(database, entry.id, decided) if decided else {}
    return Trie.of(shares, {word.word: word.estimate for word in words})


def _kept_prefixes(database: Database, campaign: bytes, decided: int) -> dict[str, float | None]:
    """The prefixes that the first `decided` layers kept, with their shares of users; a measurement keeps none."""
    with database.reading() as db:
        layers = layer_store.layers_of(db, campaign)[:decided]
        decisions = layer_store.decisions(db, campaign)[:decided]
    stored = StoredLayers(database)
    shares: dict[str, float | None] = {}
    for row, decision in zip(layers, decisions, strict=True):
        layer = stored.read(row.digest)
        if not isinstance(layer, Layer) or not decision.made:
            continue
        prefixes, ended = layer.candidates.prefixes(decision.index)
        kept = prefixes[~ended].tolist()
        if isinstance(layer, LikelyLayer):
            holders = layer.randomizer.channel.estimate(decision.votes[~ended], decision.reports)
            shares |= dict(zip(kept, np.clip(holders / decision.reports, 0, 1).tolist(), strict=True))
        else:
            shares |= dict.fromkeys(kept)
    return shares
