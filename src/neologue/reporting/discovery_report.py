"""`report.html`: a simulated discovery as one page for people; `docs/report.md` says how to read it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neologue import __version__
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.release.planting import planting_lines
from neologue.reporting.discovery_plots import (
    estimates_against_truth,
    found_by_holders,
    growth_by_layer,
    layer_labels,
    words_by_length,
)
from neologue.reporting.fates import fates
from neologue.reporting.html_page import embedded_json, render
from neologue.reporting.sentences import interval_note, privacy_lines, summary
from neologue.reporting.trie_data import trie_data
from neologue.simulation.discovery_run import Discovery
from neologue.simulation.trie_trace import LayerTrace, TrieTrace

MOST_WORDS = 300
MOST_MISSED = 50
OUTLINED_PREFIXES = 6
OUTLINED_WORDS = 4


def discovery_report(discovery: Discovery, document: Mapping[str, Any], trie_trace: TrieTrace, command: str) -> str:
    """The page of a discovery; `document` is its release.json, and `command` is how to run it again."""
    words, layers, truth = discovery.release.words, discovery.release.layers, discovery.truth
    trie = trie_data(trie_trace.layers, words, truth, discovery.users)
    by_layer = defaultdict[tuple[int, int], list[ReleasedWord]](list)
    for word in words:
        by_layer[word.pass_number, word.layer].append(word)
    return render(
        "discovery.html",
        scripts=["trie.js"],
        version=__version__,
        discovery=discovery,
        document=document,
        command=command,
        lines=summary(discovery),
        privacy_lines=[*privacy_lines(document["privacy"]), *planting_lines(document["planting"], len(words))],
        interval_note=interval_note(discovery.release.measurement),
        right=_share_right(words, truth),
        layers=[
            LayerLine(
                label, facts, *_noise(trie_trace, facts), _share_right(by_layer[facts.pass_number, facts.layer], truth)
            )
            for label, facts in zip(layer_labels(layers), layers, strict=True)
        ],
        words=words[:MOST_WORDS],
        fates=fates(trie_trace.layers, truth, {word.word for word in words}, MOST_MISSED),
        pictures={
            "holders": found_by_holders(words, truth),
            "lengths": words_by_length(words, truth),
            "layers": growth_by_layer(layers),
            "estimates": estimates_against_truth(words, truth),
        },
        trie=trie,
        trie_json=embedded_json(trie),
        outline=outline(trie_trace.layers, words, discovery.users),
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


def _noise(trie_trace: TrieTrace, facts: LayerFacts) -> tuple[float | None, float | None]:
    for layer in trie_trace.layers:
        if (layer.pass_number, layer.number) == (facts.pass_number, facts.layer):
            return layer.noise, layer.deviation
    return None, None


def _share_right(words: Sequence[ReleasedWord], truth: Mapping[str, int]) -> float | None:
    """The share of words whose interval contains the true number of holders."""
    if not words:
        return None
    return sum(word.low <= truth.get(word.word, 0) <= word.high for word in words) / len(words)


@dataclass
class OutlineBranch:
    """A prefix in the outline, for readers without scripts."""

    text: str
    estimate: float | None = None
    margin: float | None = None
    """Votes above the fewest that keep it, in standard deviations of noise."""
    words: list[str] = field(default_factory=list)
    branches: list["OutlineBranch"] = field(default_factory=list)


def outline(layers: Sequence[LayerTrace], words: Sequence[ReleasedWord], users: int) -> list[OutlineBranch]:
    """The first levels of the first pass, the liveliest first: characters, prefixes and some of their words."""
    if not layers:
        return []
    first = layers[0]
    width = first.length + first.extension
    branches: dict[str, OutlineBranch] = {}
    deep: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        below = deep[word.word[:width]] if len(word.word) >= width else deep[word.word[: first.length]]
        if len(below) < OUTLINED_WORDS:
            below.append(word.word)
    kept = first.kept
    for candidate in (-kept.votes).argsort(kind="stable").tolist():
        text = str(kept.texts[candidate])
        root = branches.setdefault(
            text[: first.length], OutlineBranch(text[: first.length], words=deep[text[: first.length]])
        )
        if len(root.branches) < OUTLINED_PREFIXES and not kept.ended[candidate]:
            estimate = (kept.votes[candidate] - first.noise) / first.gain * users / first.reports
            margin = (kept.votes[candidate] - kept.needed[candidate]) / first.deviation
            root.branches.append(OutlineBranch(text, float(estimate), float(margin), deep[text]))
    return list(branches.values())
