"""Whether the documents of layers bear out a release.

A document is what the devices of a layer were given: what was asked, of how many, under which ε. A release may not say
otherwise. And the documents of a run are a chain: the prefixes of one are among the candidates of the one before, and
its last is one after which the algorithm ends.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from neologue.campaign.promise import fewest_users
from neologue.discovery.result import LayerFacts
from neologue.errors import DocumentError
from neologue.language.candidates import Strings, extensions, root, strings
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import Layer
from neologue.release.codec import FORMAT, ReleaseDocument

MEASUREMENT = "the measurement"


@dataclass(frozen=True)
class AskedLayer:
    """A layer of a release beside the document that its devices were given."""

    facts: LayerFacts
    layer: Layer

    @property
    def name(self) -> str:
        """What it is called in objections."""
        return layer_name(self.facts)


def layer_name(facts: LayerFacts) -> str:
    """What a layer is called in objections."""
    return f"pass {facts.pass_number} layer {facts.layer}"


def document_digests(document: ReleaseDocument) -> dict[str, str | None]:
    """The digests of the documents that belong to a release, in order, by what they are the documents of."""
    digests = {layer_name(facts): facts.digest for facts in document.layers}
    if document.measurement and document.measurement.asked:
        digests[MEASUREMENT] = document.measurement.digest
    return digests


def wrong_documents(document: ReleaseDocument, documents: Mapping[str, bytes]) -> Iterator[str]:
    """What a release says that the documents of its layers, by their digests, do not bear out."""
    if document.format != FORMAT:
        yield (
            f"it has format {document.format}, without its campaign's identity and the digests of layer documents: "
            "what devices were asked, and under which ε and B, can't be checked"
        )
        return
    read: dict[str, Layer | ClosedLayer] = {}
    objections = []
    for name, digest in document_digests(document).items():
        try:
            read[name] = _read(name, digest, documents)
        except DocumentError as error:
            objections.append(str(error))
    if objections:
        yield from objections
        return
    for name, layer in read.items():
        yield from _other_than_stated(name, layer, document)
    yield from _unfinished(document)
    yield from _wrong_measurement(read.get(MEASUREMENT), document)
    chain = []
    for facts in document.layers:
        layer = read[layer_name(facts)]
        if isinstance(layer, Layer):
            chain.append(AskedLayer(facts, layer))
        else:
            yield f"the document of {layer_name(facts)} is that of a measurement"
    contradicted = [objection for each in chain for objection in _wrong_facts(each)]
    yield from contradicted
    # Only if they agree is it safe to work with the candidates: a document may claim any number of them.
    if not contradicted and len(chain) == len(document.layers):
        yield from _wrong_chain(chain, document)
        yield from _wrong_words(chain, document)


def _read(name: str, digest: str | None, documents: Mapping[str, bytes]) -> Layer | ClosedLayer:
    """The layer of a document; or a DocumentError that says what is wrong with it."""
    content = documents.get(digest or "")
    if content is None:
        raise DocumentError(f"the document of {name} is missing, whose digest is {str(digest)[:64]!r}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise DocumentError(f"the document of {name} was changed: it does not have the digest that the release states")
    try:
        return read_layer(content)
    except DocumentError as error:
        raise DocumentError(f"the document of {name} can't be read: {error}") from None


def _other_than_stated(name: str, layer: Layer | ClosedLayer, document: ReleaseDocument) -> Iterator[str]:
    """The parameters of a release beside what the devices of a layer were told."""
    parameters = document.parameters
    told: dict[str, tuple[object, object]] = {
        "ε": (layer.epsilon, parameters.epsilon),
        "words per user": (layer.bound, parameters.words_per_user),
        "randomizer": (layer.mechanism, parameters.randomizer),
        "depth": (layer.depth, parameters.depth),
        "number of symbols": (layer.alphabet.size, document.alphabet.symbols),
        "known words": (layer.known.digest, document.known.digest),
        "number of targets": (None if layer.targets is None else len(layer.targets), document.targets),
    }
    if isinstance(layer, Layer):
        told["sampler"] = (layer.sampler, parameters.sampler)
    for what, (asked, stated) in told.items():
        if asked != stated:
            yield f"the devices of {name} were told {asked} as {what}, and the release states {stated}"
    if layer.form != WordForm.chosen(parameters.case, parameters.punctuation, layer.alphabet):
        yield (
            f"the devices of {name} were told to replace or strip other characters than the case {parameters.case} and "
            f"the punctuation {parameters.punctuation} that the release states"
        )


def _wrong_facts(each: AskedLayer) -> Iterator[str]:
    """The facts of a layer beside its document."""
    layer, facts = each.layer, each.facts
    asked = {
        "pass": (layer.pass_number, facts.pass_number),
        "layer": (layer.number, facts.layer),
        "length": (len(layer.frontier[0]), facts.length),
        "extension": (layer.extension, facts.extension),
        "users asked": (layer.layer_size, facts.asked),
    }
    if layer.extension == facts.extension:
        every = extensions(layer.alphabet.size - 1, layer.extension)
        ways = len(layer.frontier) * every if layer.lists is None else int(layer.lists.ways.sum())
        asked["candidates"] = (ways + len(layer.doubtful), facts.candidates)
    for what, (told, stated) in asked.items():
        if told != stated:
            yield f"the document of {each.name} has {told:,} as {what}, and the release states {stated:,}"


def _wrong_chain(chain: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Layers that do not ask about what the one before decided, or that leave out words of earlier passes."""
    for each in chain:
        earlier = {word.word for word in document.words if word.pass_number < each.facts.pass_number}
        if each.layer.found.words != earlier:
            yield f"the devices of {each.name} were told other words as found before than the release has"
        if each.facts.layer == 1 and not np.array_equal(each.layer.frontier, root(each.layer.alphabet)):
            yield f"the document of {each.name} does not begin with the characters of the alphabet"
        if each.facts.layer == 1 and len(each.layer.doubtful):
            yield f"the document of {each.name} asks again about words, and nothing was asked before"
    for before, after in pairwise(chain):
        if before.facts.pass_number != after.facts.pass_number:
            continue
        if len(after.layer.frontier) != before.facts.kept or len(after.layer.doubtful) != before.facts.doubtful:
            yield f"the document of {after.name} does not ask about as much as the layer before it kept"
        end = before.facts.length + before.facts.extension
        if after.layer.candidates.length != end or not _asked(before.layer, after.layer.frontier):
            yield f"the document of {after.name} has prefixes that the layer before it did not ask about"
        if not _asked(before.layer, after.layer.doubtful) or any(len(word) >= end for word in after.layer.doubtful):
            yield f"the document of {after.name} is in doubt about words that the layer before it did not ask about"


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


def _unfinished(document: ReleaseDocument) -> Iterator[str]:
    """Passes after whose last layer the algorithm would have gone on."""
    parameters = document.parameters
    equal = document.users // (parameters.passes * parameters.depth)
    unasked = document.users
    for pass_number in range(1, parameters.passes + 1):
        layers = [layer for layer in document.layers if layer.pass_number == pass_number]
        share = unasked // (parameters.passes + 1 - pass_number)
        left = share - sum(layer.asked for layer in layers)
        unasked -= sum(layer.asked for layer in layers)
        next_size = left if parameters.adaptive else equal
        goes_on = not layers or (layers[-1].kept > 0 and layers[-1].length + layers[-1].extension <= parameters.depth)
        prefixes = layers[-1].kept if layers else document.alphabet.symbols - 1
        if goes_on and next_size >= fewest_users(parameters, prefixes * document.alphabet.symbols):
            last = f"its layer {layers[-1].layer} kept {layers[-1].kept:,} prefixes" if layers else "it has no layer"
            yield f"pass {pass_number} is not at its end: {last}, and {left:,} of its users were not asked"
        for layer in layers:
            fits = layer.asked <= share if parameters.adaptive else layer.asked == equal
            if not fits:
                yield f"{layer_name(layer)} asked {layer.asked:,} users, which is not its share of {document.users:,}"


def _wrong_measurement(layer: Layer | ClosedLayer | None, document: ReleaseDocument) -> Iterator[str]:
    """What a measurement says beside its document."""
    measurement = document.measurement
    if measurement is None or layer is None:
        return
    if not isinstance(layer, ClosedLayer):
        yield f"the document of {MEASUREMENT} is that of a layer"
        return
    if layer.words.tolist() != sorted(word.word for word in document.words):
        yield f"the devices of {MEASUREMENT} were asked to count other words than those released"
    if (layer.layer_size, layer.rate) != (measurement.asked, measurement.rate):
        yield (
            f"the document of {MEASUREMENT} asks {layer.layer_size:,} users at a rate of {layer.rate:g}, and the "
            f"release states {measurement.asked:,} and {measurement.rate:g}"
        )
