"""Whether the documents of layers that extend prefixes bear out a release: a chain that grows a trie."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from neologue.campaign.promise import fewest_users
from neologue.language.candidates import Strings, root, strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.release.asked_layer import AskedLayer, layer_name
from neologue.release.codec import ReleaseDocument


def contradicted_facts(each: AskedLayer) -> Iterator[str]:
    """The facts of a layer beside its document."""
    layer, facts = _extending(each), each.facts
    asked = {
        "pass": (layer.pass_number, facts.pass_number),
        "layer": (layer.number, facts.layer),
        "length": (len(layer.frontier[0]), facts.length),
        "extension": (layer.extension, facts.extension),
        "users asked": (layer.layer_size, facts.asked),
    }
    if layer.extension == facts.extension:
        asked["candidates"] = (layer.candidates.size, facts.candidates)
    for what, (told, stated) in asked.items():
        if told != stated:
            yield f"the document of {each.name} has {told:,} as {what}, and the release states {stated:,}"


def wrong_chain(chain: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Layers that do not ask about what the one before decided, or that leave out words of earlier passes."""
    for each in chain:
        earlier = {word.word for word in document.words if word.pass_number < each.facts.pass_number}
        if each.layer.found.words != earlier:
            yield f"the devices of {each.name} were told other words as found before than the release has"
        if each.facts.layer == 1 and not np.array_equal(_extending(each).frontier, root(each.layer.alphabet)):
            yield f"the document of {each.name} does not begin with the characters of the alphabet"
    for before, after in pairwise(chain):
        if before.facts.pass_number != after.facts.pass_number:
            continue
        asked, now = _extending(before), _extending(after)
        if len(now.frontier) != before.facts.kept:
            yield f"the document of {after.name} does not ask about as much as the layer before it kept"
        end = before.facts.length + before.facts.extension
        if now.candidates.length != end or not _asked(asked, now.frontier):
            yield f"the document of {after.name} has prefixes that the layer before it did not ask about"
    yield from _wrong_words(chain, document)


def _extending(each: AskedLayer) -> ExtendingLayer:
    assert isinstance(each.layer, ExtendingLayer)
    return each.layer


def _asked(layer: Layer, words: Strings) -> bool:
    return bool((layer.candidates.index(words) >= 0).all())


def _wrong_words(chain: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Released words that no device of their layer could have voted for."""
    numbered = list(enumerate(document.words, 1))
    for each in chain:
        here = (each.facts.pass_number, each.facts.layer)
        released = [(number, word.word) for number, word in numbered if (word.pass_number, word.layer) == here]
        if not released:
            continue
        # Which words are known is in a list that does not travel with a release.
        layer = replace(each.layer, known=Vocabulary.empty())
        candidates = layer.candidates.index(strings([word for _, word in released]))
        for (number, word), candidate in zip(released, candidates, strict=True):
            if candidate < 0 or len(word) >= each.facts.length + each.facts.extension or not layer.counts(word):
                yield f"word {number} is none that the devices of {each.name} were asked about"


def unfinished_passes(document: ReleaseDocument) -> Iterator[str]:
    """Passes after whose last layer the algorithm would have gone on."""
    parameters = document.parameters
    equal = document.users // (parameters.passes * parameters.depth)
    for pass_number in range(1, parameters.passes + 1):
        layers = [layer for layer in document.layers if layer.pass_number == pass_number]
        goes_on = not layers or (layers[-1].kept > 0 and layers[-1].length < parameters.depth)
        prefixes = layers[-1].kept if layers else document.alphabet.symbols - 1
        if goes_on and equal >= fewest_users(parameters, prefixes * document.alphabet.symbols):
            last = f"its layer {layers[-1].layer} kept {layers[-1].kept:,} prefixes" if layers else "it has no layer"
            yield f"pass {pass_number} is not at its end: {last}, and the {equal:,} users of the next were not asked"
        for layer in layers:
            if layer.asked != equal:
                yield f"{layer_name(layer)} asked {layer.asked:,} users, which is not its share of {document.users:,}"
