"""Whether the documents of layers bear out a release.

A document is what the devices of a layer were given: what was asked, of how many, under which ε. A release may not say
otherwise. And the documents of a run are a chain: the prefixes of one are among the candidates of the one before, and
its last is one after which the algorithm ends.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neologue.errors import DocumentError
from neologue.language.word_form import WordForm
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import Layer
from neologue.protocol.layer_fields import LayerKind
from neologue.release.asked_layer import AskedLayer, layer_name
from neologue.release.certification import extending_chain, likely_chain
from neologue.release.codec import FORMAT, ReleaseDocument
from neologue.table import Table

MEASUREMENT = "the measurement"


@dataclass(frozen=True)
class ChainChecks:
    """What the documents of one kind of layers are checked for."""

    contradicted_facts: Callable[[AskedLayer], Iterator[str]]
    unfinished_passes: Callable[[ReleaseDocument], Iterator[str]]
    wrong_chain: Callable[[Sequence[AskedLayer], ReleaseDocument], Iterator[str]]


CHAINS: Table[ChainChecks] = Table(
    "check of the documents of layers of the kind",
    "neologue.release.certification.layer_chain",
    {
        "open": ChainChecks(
            extending_chain.contradicted_facts, extending_chain.unfinished_passes, extending_chain.wrong_chain
        ),
        "likely": ChainChecks(
            likely_chain.contradicted_facts, likely_chain.unfinished_passes, likely_chain.wrong_chain
        ),
    },
)


def document_digests(document: ReleaseDocument) -> dict[str, str | None]:
    """The digests of the documents that belong to a release, in order, by what they are the documents of."""
    digests = {layer_name(facts): facts.digest for facts in document.layers}
    if document.measurement and document.measurement.candidates:
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
    kind: LayerKind = "open" if document.parameters.layers is None else "likely"
    checks = CHAINS[kind]
    yield from checks.unfinished_passes(document)
    yield from _wrong_measurement(read.get(MEASUREMENT), document)
    chain = []
    for facts in document.layers:
        layer = read[layer_name(facts)]
        if isinstance(layer, ClosedLayer):
            yield f"the document of {layer_name(facts)} is that of a measurement"
        elif layer.kind != kind:
            yield f"the document of {layer_name(facts)} asks in another way than the release states"
        else:
            chain.append(AskedLayer(facts, layer))
    contradicted = [objection for each in chain for objection in checks.contradicted_facts(each)]
    yield from contradicted
    # Only if they agree is it safe to work with the candidates: a document may claim any number of them.
    if not contradicted and len(chain) == len(document.layers):
        yield from checks.wrong_chain(chain, document)


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
    words = parameters.words_in(layer.number) if isinstance(layer, Layer) else parameters.words_per_user
    told: dict[str, tuple[object, object]] = {
        "ε": (layer.epsilon, parameters.epsilon),
        "words per user": (layer.bound, words),
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
