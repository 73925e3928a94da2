"""What a simulated discovery asked about likely strings, on its page: layer by layer, kept and dropped."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.reporting.discovery.discovery_plots import growth_of_words, layer_labels, places_by_layer
from neologue.reporting.discovery.fates import MOST_MISSED, Fate, most_missed
from neologue.reporting.discovery.view import View
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.likely_trace import LikelyLayerTrace, LikelyTrace, Place

MOST_KEPT = 40
"""How many of a layer's beginnings are shown."""
MOST_NEAR = 25
"""How many of the words that came nearest to being found."""
EXAMPLES = 4
SHOWN_PLACES = {
    "found": (Place.FOUND,),
    "asked": (Place.ASKED,),
    "ahead": (Place.AHEAD,),
    "lost": (Place.BEHIND, Place.NOWHERE),
}


@dataclass(frozen=True)
class KeptLine:
    """A beginning that a layer kept."""

    prefix: str
    estimate: float
    """How many users go on from it, by its votes."""
    margin: float
    """Votes above the fewest that keep it, in standard deviations of noise."""
    words: int
    """How many words that somebody holds belong to it."""
    examples: tuple[str, ...]
    """The most widely held of them …"""
    found: int
    """… and how many of all were found later."""


@dataclass(frozen=True)
class NearLine:
    """A word that came near to being found."""

    word: str
    holders: int
    votes: int
    needed: int
    found: bool
    """Whether a later layer found it."""


@dataclass(frozen=True)
class LayerSection:
    """What one layer asked, kept and dropped."""

    label: str
    fresh: int
    again: int
    found: tuple[tuple[str, int], ...]
    """How many words it found that were asked about since each layer."""
    kept: int
    heaviest: tuple[KeptLine, ...]
    near: tuple[NearLine, ...]


def likely_view(discovery: DiscoveryRun, traced: LikelyTrace) -> View:
    """How likely strings were asked about."""
    holders = np.array([discovery.truth.get(word, 0) for word in traced.words.tolist()], np.int64)
    facts = [layer for layer in discovery.release.layers if layer.decided]
    labels = layer_labels(facts)
    return View(
        template="discovery_likely.html",
        scripts=(),
        fates=_fates(discovery, traced),
        layers=growth_of_words(discovery.release.layers),
        values={
            "asked": [_asked_layer(discovery, traced, number, label, holders) for number, label in enumerate(labels)],
            "places": places_by_layer(labels, _shares(traced, holders)),
        },
    )


def _shares(traced: LikelyTrace, holders: NDArray[np.int64]) -> Mapping[str, list[float]]:
    """What share of all pairs of a user and a word each layer has left in each place."""
    total = max(int(holders.sum()), 1)
    return {
        name: [float(holders[np.isin(layer.places, places)].sum() / total) for layer in traced.layers]
        for name, places in SHOWN_PLACES.items()
    }


def _asked_layer(
    discovery: DiscoveryRun, traced: LikelyTrace, number: int, label: str, holders: NDArray[np.int64]
) -> LayerSection:
    layer = traced.layers[number]
    since = Counter(
        word.since
        for word in discovery.release.words
        if (word.pass_number, word.layer) == (layer.pass_number, layer.number)
    )
    return LayerSection(
        label=label,
        fresh=layer.fresh,
        again=layer.again,
        found=tuple((str(first), since[first]) for first in sorted(since)),
        kept=len(layer.kept),
        heaviest=_heaviest(discovery.users, traced, layer, holders),
        near=_near(traced, layer, holders),
    )


def _heaviest(
    users: int, traced: LikelyTrace, layer: LikelyLayerTrace, holders: NDArray[np.int64]
) -> tuple[KeptLine, ...]:
    """The beginnings that most users go on from."""
    members: dict[str, list[int]] = {escape.prefix: [] for escape in layer.kept[:MOST_KEPT]}
    for row in np.flatnonzero((layer.places == Place.AHEAD) & (holders > 0)).tolist():
        members.get(str(traced.words[row])[: layer.lengths[row]], []).append(row)
    finally_found = traced.layers[-1].places == Place.FOUND
    lines = []
    for escape in layer.kept[:MOST_KEPT]:
        rows = sorted(members[escape.prefix], key=lambda row: (-holders[row], traced.words[row]))
        lines.append(
            KeptLine(
                prefix=escape.prefix,
                estimate=(escape.votes - layer.noise) / layer.gain * users / layer.reports,
                margin=(escape.votes - escape.needed) / layer.deviation,
                words=len(rows),
                examples=tuple(traced.words[rows[:EXAMPLES]].tolist()),
                found=int(finally_found[rows].sum()),
            )
        )
    return tuple(lines)


def _near(traced: LikelyTrace, layer: LikelyLayerTrace, holders: NDArray[np.int64]) -> tuple[NearLine, ...]:
    """The words that the layer asked about and that lacked the fewest votes."""
    rows = np.flatnonzero((layer.places == Place.ASKED) & (holders > 0))
    lacking = (layer.needed - layer.votes)[rows]
    nearest = rows[np.lexsort((traced.words[rows], -holders[rows], lacking))[:MOST_NEAR]]
    finally_found = traced.layers[-1].places == Place.FOUND
    return tuple(
        NearLine(
            str(traced.words[row]),
            int(holders[row]),
            int(layer.votes[row]),
            int(layer.needed[row]),
            bool(finally_found[row]),
        )
        for row in nearest.tolist()
    )


def _fates(discovery: DiscoveryRun, traced: LikelyTrace) -> list[Fate]:
    """The most widely held words that were missed, each with its end."""
    truth = discovery.truth
    row_of = {word: row for row, word in enumerate(traced.words.tolist())}
    ends = []
    for word in most_missed(truth, {found.word for found in discovery.release.words}, MOST_MISSED):
        row = row_of[word]
        asked = [layer for layer in traced.layers if layer.places[row] != Place.NOWHERE]
        if not asked:
            continue
        last = asked[-1]
        went_on = last.places[row] == Place.AHEAD
        ends.append(
            Fate(
                word,
                truth[word],
                last.pass_number,
                last.number,
                word[: last.lengths[row]],
                None if went_on else int(last.votes[row]),
                None if went_on else int(last.needed[row]),
                asked=not went_on,
            )
        )
    return ends
