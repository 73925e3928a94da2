"""The trie of a simulated discovery on its page: an explorer, an outline without scripts, lost words."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from neologue.discovery.result import ReleasedWord
from neologue.reporting.discovery.discovery_plots import growth_of_trie
from neologue.reporting.discovery.fates import MOST_MISSED, fates
from neologue.reporting.discovery.trie_data import trie_data
from neologue.reporting.discovery.view import View
from neologue.reporting.html_page import embedded_json
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.trie_trace import LayerTrace, TrieTrace

OUTLINED_PREFIXES = 6
OUTLINED_WORDS = 4


def trie_view(discovery: DiscoveryRun, traced: TrieTrace) -> View:
    """How a trie grew."""
    words, truth = discovery.release.words, discovery.truth
    trie = trie_data(traced.layers, words, truth, discovery.users)
    return View(
        template="discovery_trie.html",
        scripts=("trie.js",),
        fates=fates(traced.layers, truth, {word.word for word in words}, MOST_MISSED),
        layers=growth_of_trie(discovery.release.layers),
        values={
            "trie": trie,
            "trie_json": embedded_json(trie),
            "outline": outline(traced.layers, words, discovery.users),
        },
    )


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
