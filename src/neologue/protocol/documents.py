"""Documents that a device fetches by digest: a layer, and the words that are known in it.

The document of a layer is `Layer.document`, whose SHA-256 is the layer's digest. Its bytes come from a server that may
be hostile: its size is checked first, then its grammar as a whole, by an expression that allocates nothing and never
backtracks, and only then is it parsed. The layer must give back exactly these bytes: each layer has one document.

The known words are those of a plain list, sorted, each in a line. A device judges a layer before it fetches them, so a
layer can be read without: then it has their digest, and can't be answered.
"""

import hashlib
import json
import re
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from neologue.errors import DocumentError, LanguageError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.protocol.layer_fields import LAYER_KINDS, PROTOCOL_VERSION, LayerKind, fields_of, read_strings
from neologue.protocol.limits import LARGEST_KNOWN, MOST_KNOWN_WORDS

LARGEST_DOCUMENT = 1 << 24
MOST_ITEMS = 1 << 21
"""Strings and numbers of a document: each takes many times its own length in memory."""


def _grammar(kind: LayerKind) -> re.Pattern[bytes]:
    """The documents of one kind of layer, with a group for each field."""
    fields = (f'"{field.name}":(?P<{field.name}>{field.form.grammar})' for field in fields_of(kind))
    return re.compile(rf"\{{{','.join(fields)}\}}".encode())


_GRAMMARS: Final = {kind: _grammar(kind) for kind in LAYER_KINDS}


class UnreadWords(Vocabulary):
    """Known words of which there is only the digest."""

    def __init__(self, digest: str) -> None:
        super().__init__((), source="a list that was not read")
        self._digest = digest

    def __contains__(self, word: str) -> bool:
        raise DocumentError("the known words of this layer were not read, and without them it can't be answered")

    @cached_property
    def digest(self) -> str:
        """The digest that the document states."""
        return self._digest


def known_digest(document: bytes) -> str:
    """The hex digest of the known words that the document of a layer calls for; or a DocumentError."""
    return _match(document)[1]


def read_layer(document: bytes, known: Vocabulary | None = None) -> Layer | ClosedLayer:
    """The layer, or the closed one, that a document describes; or a DocumentError that quotes nothing of it.

    Without its known words it can be judged and not answered.
    """
    kind, wanted = _match(document)
    if known is None:
        known = UnreadWords(wanted)
    _check_known(wanted, known)
    try:
        values = json.loads(document.decode())
    except ValueError:  # what is wrong with the bytes would be quoted
        raise DocumentError("the document is not in UTF-8; get it from the operator anew") from None
    for field in fields_of(kind):
        least, most = field.form.bounds or (None, None)
        if least is not None and not least <= values[field.name] <= most:
            raise DocumentError(f"the document's {field.name} is no number from {least} to {most:,}")
    layer = _build(kind, values, known)
    if layer.document != document:
        raise DocumentError("the document is not in its canonical form; the operator's service should write that")
    return layer


def with_known(layer: Layer | ClosedLayer, known: Vocabulary) -> Layer | ClosedLayer:
    """A layer that was read without its known words, with them."""
    _check_known(layer.known.digest, known)
    return replace(layer, known=known)


def known_document(known: Vocabulary) -> bytes:
    """The list of known words that a device fetches, whose SHA-256 is the digest of the words."""
    content = "\n".join(sorted(known.words)).encode("utf-8", "surrogatepass")
    if hashlib.sha256(content).hexdigest() != known.digest:
        raise ParameterError(
            f"the known words from {known.source} also rest on the rules of a Hunspell dictionary, which devices "
            "don't have; give a plain list with one word a line"
        )
    if len(content) > LARGEST_KNOWN or len(known) > MOST_KNOWN_WORDS:
        raise ParameterError(
            f"the {len(known):,} known words from {known.source} have {len(content):,} bytes, and a device takes at "
            f"most {MOST_KNOWN_WORDS:,} words and {LARGEST_KNOWN:,} bytes; give fewer words",
            parameter="known",
        )
    if not known.is_list_of_lines:
        raise ParameterError(
            f"a known word from {known.source} has a line break; give one word a line", parameter="known"
        )
    return content


def read_known(content: bytes) -> Vocabulary:
    """The known words of a list; or a DocumentError that quotes none of them. It is as long as the caller permits."""
    try:
        known = Vocabulary(content.decode().split("\n"), source="the operator's list")
    except UnicodeDecodeError:
        raise DocumentError("the list of known words is not in UTF-8; get it from the operator anew") from None
    if known.digest != hashlib.sha256(content).hexdigest():
        raise DocumentError("the list of known words must have each once, in NFC and in order, one a line")
    return known


def _check_known(wanted: str, known: Vocabulary) -> None:
    if wanted != known.digest:
        raise DocumentError(f"the document calls for other known words than those with the digest {known.digest}")


def _match(document: bytes) -> tuple[LayerKind, str]:
    """The kind of a document and the digest of its known words, if it has the grammar of one and is not too large."""
    if len(document) > LARGEST_DOCUMENT:
        raise DocumentError(f"the document has {len(document):,} bytes, above {LARGEST_DOCUMENT:,}")
    if document.count(b",") > MOST_ITEMS:
        raise DocumentError(f"the document has more than {MOST_ITEMS:,} commas")
    for kind, grammar in _GRAMMARS.items():
        if match := grammar.fullmatch(document):
            return kind, match["known"].decode().strip('"')
    version = re.search(rb'"version":([0-9]{1,9})[,}]', document)
    if version and int(version[1]) != PROTOCOL_VERSION:
        raise DocumentError(
            f"the document is of version {int(version[1])} of the protocol, and this neologue speaks version "
            f"{PROTOCOL_VERSION}; update whichever is older"
        )
    if re.search(rb'"(?:doubtful|listed|ways)":', document):
        raise DocumentError(
            "the document was made by an older version: it lists extensions of prefixes or words in doubt, which no "
            "layer has any more; take the neologue that made it"
        )
    raise DocumentError(f"the bytes are not the document of a layer in version {PROTOCOL_VERSION} of the protocol")


def _build(kind: LayerKind, values: dict[str, Any], known: Vocabulary) -> Layer | ClosedLayer:
    """The layer with these values, or a DocumentError for whatever a layer refuses."""
    try:
        attributes: dict[str, Any] = {
            field.attribute: None if values[field.name] is None else field.read(values[field.name])
            for field in fields_of(kind)
            if field.read is not None
        }
        attributes["form"] = WordForm(attributes.pop("form.replaced"), attributes.pop("form.stripped"))
        if kind == "closed":
            return ClosedLayer(known=known, **attributes)
        if kind == "likely":
            asked = _likely_candidates(attributes["alphabet"], values)
            return LikelyLayer(known=known, asked=asked, **attributes)
        return ExtendingLayer(known=known, **attributes)
    except ParameterError as error:  # a layer's own complaints quote nothing
        raise DocumentError(f"the document describes no layer: {error}") from None
    except (LanguageError, ValueError):  # an alphabet's do, and so do those about numbers
        raise DocumentError(
            "the document describes no layer: its alphabet, what it replaces or strips, or a number can't be used"
        ) from None


def _likely_candidates(alphabet: Alphabet, values: dict[str, Any]) -> LikelyCandidates:
    """What a likely layer asks about."""
    spelling = SpellingCosts(
        alphabet,
        tuple(values["contexts"]),
        np.array(values["backoffs"], np.int64),
        tuple(values["symbols"]),
        np.array(values["costs"], np.int64),
    )
    columns = [values[name] for name in ("roots", "root_costs", "even_costs", "limits", "prefix_limits", "again")]
    if len(set(map(len, columns))) != 1:
        raise ParameterError("it must have roots, two costs, two limits and what is asked again for each of its rounds")
    rounds = tuple(
        RootRound(read_strings(roots), np.array(costs, np.int64), np.array(even, np.int64), *limits)
        for roots, costs, even, *limits in zip(*columns, strict=True)
    )
    return LikelyCandidates(spelling, rounds)
