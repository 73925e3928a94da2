"""Which candidates of a layer are kept.

`top` is the paper's rule: the η_max candidates with the most votes, whatever they mean.

`significant` keeps what the noise does not explain. A candidate that nobody holds has Bin(n, q) votes. Among
candidates with at least t votes, at most m·P(Bin(n, q) ≥ t) of all m are expected to be such, so the smallest
t at which that is at most a share f of those with t votes or more keeps the expected share of noise at f
(Benjamini and Hochberg 1995; the votes of different candidates are independent for unary, negatively
dependent for Subset Selection). Candidates that end a word have a stricter f than those that go on: a false
prefix costs a little work in the next layer, a false word is an error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from neologue.discovery.tally import Tally
from neologue.entropy import SeededEntropy
from neologue.protocol.layer import Layer
from neologue.protocol.parameters import Parameters


@dataclass(frozen=True)
class Selection:
    """The candidates kept, in order, and the fewest votes that would do."""

    index: NDArray[np.int64]
    prefix_threshold: int
    word_threshold: int


def select(layer: Layer, tally: Tally, parameters: Parameters) -> Selection:
    """Apply the campaign's rule to a layer."""
    return _RULES[parameters.rule](layer, tally, parameters)


def _top(layer: Layer, tally: Tally, parameters: Parameters) -> Selection:
    kept = _largest(np.arange(len(tally.votes)), tally.votes, parameters.frontier, layer)
    threshold = int(tally.votes[kept].min()) if len(kept) else 0
    return Selection(kept, threshold, threshold)


def _significant(layer: Layer, tally: Tally, parameters: Parameters) -> Selection:
    index = np.arange(len(tally.votes))
    ended = layer.candidates.ends(index)
    trials = layer.randomizer.channel.trials(tally.reports)
    noise = float(layer.randomizer.channel.q)
    word_threshold = noise_threshold(tally.votes[ended], trials, noise, parameters.false_words)
    prefix_threshold = noise_threshold(tally.votes[~ended], trials, noise, parameters.false_prefixes)
    words = index[ended & (tally.votes >= word_threshold)]
    prefixes = index[~ended & (tally.votes >= prefix_threshold)]
    room = min(parameters.frontier, parameters.candidates // layer.alphabet.size)
    if len(prefixes) > room:
        prefixes = _largest(prefixes, tally.votes[prefixes], room, layer)
        prefix_threshold = int(tally.votes[prefixes].min())
    return Selection(np.sort(np.concatenate([words, prefixes])), prefix_threshold, word_threshold)


_RULES = {"top": _top, "significant": _significant}


def noise_threshold(votes: NDArray[np.int64], trials: int, noise: float, false_share: float) -> int:
    """The fewest votes at which noise is expected to be at most this share of what is kept."""
    if not len(votes):
        return 0
    at_least = np.cumsum(np.bincount(votes)[::-1])[::-1]
    levels = np.arange(len(at_least))
    expected = len(votes) * binom.sf(levels - 1, trials, noise)
    passing = np.flatnonzero(expected <= false_share * at_least)
    if len(passing):
        return int(passing[0])
    return len(at_least)


def _largest(index: NDArray[np.int64], votes: NDArray[np.int64], count: int, layer: Layer) -> NDArray[np.int64]:
    """The `count` with the most votes, sorted; ties at the edge fall by lots that the layer's digest fixes."""
    if len(index) <= count:
        return index
    edge = np.partition(votes, len(votes) - count)[len(votes) - count]
    sure = index[votes > edge]
    tied = index[votes == edge]
    lots = SeededEntropy(int.from_bytes(layer.digest, "big"))
    return np.sort(np.concatenate([sure, tied[lots.subset(len(tied), count - len(sure))]]))
