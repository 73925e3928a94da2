"""`report.html`: a simulated discovery as one page for people; `docs/report.md` says how to read it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neologue import __version__
from neologue.discovery.open_prefixes import open_prefixes
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.reporting.discovery.discovery_plots import (
    estimates_against_truth,
    found_by_holders,
    layer_labels,
    words_by_length,
)
from neologue.reporting.discovery.likely_view import likely_view
from neologue.reporting.discovery.trie_view import trie_view
from neologue.reporting.html_page import render
from neologue.reporting.sentences import PREFIX_NOTE, interval_note
from neologue.reporting.short_facts import (
    found_facts,
    limit_facts,
    planting_facts,
    privacy_facts,
    run_facts,
    threshold_facts,
    warnings_of,
)
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.likely_trace import LikelyTrace
from neologue.simulation.trie_trace import TrieTrace

MOST_WORDS = 300
MOST_PREFIXES = 50

Traced = TrieTrace | LikelyTrace
"""How a discovery asked, as far as its page shows it."""


def discovery_report(discovery: DiscoveryRun, document: Mapping[str, Any], traced: Traced, command: str) -> str:
    """The page of a discovery; `document` is its release.json, and `command` is how to run it again."""
    words, layers, truth = discovery.release.words, discovery.release.layers, discovery.truth
    statement = document["privacy"]
    view = likely_view(discovery, traced) if isinstance(traced, LikelyTrace) else trie_view(discovery, traced)
    by_layer = defaultdict[tuple[int, int], list[ReleasedWord]](list)
    for word in words:
        by_layer[word.pass_number, word.layer].append(word)
    return render(
        view.template,
        view.scripts,
        version=__version__,
        discovery=discovery,
        document=document,
        command=command,
        facts=[*([] if words else found_facts(discovery)), *limit_facts(discovery), *run_facts(discovery)],
        warnings=warnings_of(discovery, statement),
        open_prefixes=open_prefixes(discovery.release.prefixes, words)[:MOST_PREFIXES],
        prefixes=len(discovery.release.prefixes),
        prefix_note=PREFIX_NOTE,
        privacy_facts=[
            *privacy_facts(statement),
            *threshold_facts(statement),
            *planting_facts(document["planting"], len(words)),
        ],
        interval_note=interval_note(discovery.release.measurement),
        right=_share_right(words, truth),
        layers=[
            LayerLine(
                label, facts, *_noise(traced, facts), _share_right(by_layer[facts.pass_number, facts.layer], truth)
            )
            for label, facts in zip(layer_labels(layers), layers, strict=True)
        ],
        words=words[:MOST_WORDS],
        fates=view.fates,
        pictures={
            "holders": found_by_holders(words, truth),
            "lengths": words_by_length(words, truth),
            "layers": view.layers,
            "estimates": estimates_against_truth(words, truth),
        },
        **view.values,
    )


@dataclass(frozen=True)
class LayerLine:
    """A row of the table of layers."""

    label: str
    facts: LayerFacts
    noise: float | None
    """The average votes of a candidate that nobody holds; None for a layer that was not decided."""
    deviation: float | None
    right: float | None
    """The share of its words' intervals that contain the true number of holders."""


def _noise(traced: Traced, facts: LayerFacts) -> tuple[float | None, float | None]:
    for layer in traced.layers:
        if (layer.pass_number, layer.number) == (facts.pass_number, facts.layer):
            return layer.noise, layer.deviation
    return None, None


def _share_right(words: Sequence[ReleasedWord], truth: Mapping[str, int]) -> float | None:
    """The share of words whose interval contains the true number of holders."""
    if not words:
        return None
    return sum(word.low <= truth.get(word.word, 0) <= word.high for word in words) / len(words)
