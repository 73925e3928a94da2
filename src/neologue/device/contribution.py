"""From the words of one device to its report: the device's side of Algorithm 2, and of the measurement after it."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neologue.device.sampling import sample
from neologue.entropy import Entropy, SecureEntropy
from neologue.language.candidates import strings
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.report import make_report

MOST_TIMES = 2**31 - 1


def contribute(words: Mapping[str, int], layer: Layer | ClosedLayer, entropy: Entropy | None = None) -> bytes:
    """The report of a device that typed these words so many times each.

    A device without a word that counts sends a full report too: whether it reports never depends on its words. Two
    reports on the same words spend the budget twice: the caller makes one, and sends the same bytes again if need be.
    """
    source = SecureEntropy() if entropy is None else entropy
    if isinstance(layer, ClosedLayer):
        return make_report(layer, held_candidates(words, layer, source), source)
    prefixes, times = held_prefixes(words, layer)
    return make_report(layer, sample(prefixes, times, layer.bound, layer.sampler, source), source)


def held_prefixes(words: Mapping[str, int], layer: Layer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct candidates that the words belong to, and how often words of each were typed.

    Counts out of range are clamped: an error would make a device silent because of its words, and a negative count
    would let one word change the order of several prefixes.
    """
    counting = counting_words(words, layer)
    index = layer.candidates.index(strings(list(counting)))
    typed = np.fromiter(counting.values(), np.int64, len(counting))
    order = np.argsort(index)
    order = order[np.searchsorted(index, 0, sorter=order) :]  # behind those that belong to none
    index, typed = index[order], typed[order]
    firsts = np.flatnonzero(np.diff(index, prepend=-1))
    return index[firsts], np.add.reduceat(typed, firsts) if len(firsts) else typed


def held_candidates(words: Mapping[str, int], layer: ClosedLayer, entropy: Entropy) -> NDArray[np.int64]:
    """The candidates of a closed layer that a random sample of the words holds.

    How often a word was typed does not matter: frequent words are likelier to be on the list, so a greedy sample would
    overstate its coverage.
    """
    counting = sorted(counting_words(words, layer))
    drawn = np.flatnonzero(entropy.chances(layer.chance, len(counting)))
    sampled = sample(drawn, np.ones_like(drawn), layer.bound, "random", entropy)
    index = layer.index(strings(counting)[sampled])
    listed = index[index >= 0]
    return layer.domain.held(listed, len(index) - len(listed))


def counting_words(words: Mapping[str, int], layer: Layer | ClosedLayer) -> dict[str, int]:
    """The words that count, in their form, and how often each was typed."""
    counting: dict[str, int] = {}
    for word, times in words.items():
        form = layer.form.of(word)
        if layer.counts(form):
            counting[form] = counting.get(form, 0) + min(max(1, times), MOST_TIMES)
    return counting
