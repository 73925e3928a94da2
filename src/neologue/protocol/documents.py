"""Documents: what a device fetches by digest, a layer and the words that are known in it, read with suspicion.

A document of a layer is `Layer.document`, whose SHA-256 is the layer's digest. Its bytes come from a server that may be
hostile, so its size is checked first, then its grammar as a whole, by an expression that allocates nothing and never
goes back, and only then is it parsed. What it describes must have this very document: there is one for each layer.

The known words are those of a plain list, sorted, each in a line.
"""

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from neologue.errors import DocumentError, LanguageError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, strings
from neologue.language.lists import Lists
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.limits import DEEPEST

LARGEST_DOCUMENT = 1 << 24
LARGEST_KNOWN = 1 << 25
MOST_ITEMS = 1 << 21
"""Strings and numbers of a document: each takes many times its own length in memory."""
MOST_CHARACTERS = 1 << 24
"""Of a frontier or a list of words, all counted as long as the longest."""
LARGEST_NUMBER = (1 << 31) - 1

_STRING: Final = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\bfnrt]|u00[01][0-9a-f]))*+"'
_STRINGS: Final = rf"\[(?:{_STRING}(?:,{_STRING})*+)?\]"
_WHOLE: Final = r"(?:0|[1-9][0-9]{0,9})"
_PLACE: Final = r"(?:0|[1-9][0-9]{0,15})"
_PLACES: Final = rf"\[{_PLACE}(?:,{_PLACE})*+\]"
_DECIMAL: Final = r'"[0-9.e+-]{1,32}"'
_NAME: Final = r'"[a-z-]{1,32}"'
_DIGEST: Final = r'"(?P<known>[0-9a-f]{64})"'

_FIELDS: Final = {
    "alphabet": _STRING,
    "bound": _WHOLE,
    "cohort": _WHOLE,
    "depth": _WHOLE,
    "doubtful": _STRINGS,
    "epsilon": _DECIMAL,
    "extension": _WHOLE,
    "found": _STRINGS,
    "frontier": _STRINGS,
    "known": _DIGEST,
    "layer": _WHOLE,
    "listed": rf"(?:null|\[{_PLACES}(?:,{_PLACES})*+\])",
    "pass": _WHOLE,
    "randomizer": _NAME,
    "rate": _DECIMAL,
    "sampler": _NAME,
    "targets": rf"(?:null|{_STRINGS})",
    "version": "1",
    "ways": rf"(?:null|\[{_WHOLE}(?:,{_WHOLE})*+\])",
    "words": _STRINGS,
}
_CLOSED: Final = ("rate", "words")
_OPEN: Final = ("doubtful", "extension", "found", "frontier", "layer", "listed", "pass", "sampler", "ways")


def _grammar(without: tuple[str, ...]) -> re.Pattern[bytes]:
    fields = (f'"{name}":{form}' for name, form in _FIELDS.items() if name not in without)
    return re.compile(rf"\{{{','.join(fields)}\}}".encode())


_LAYER: Final = _grammar(without=_CLOSED)
_CLOSED_LAYER: Final = _grammar(without=_OPEN)


def known_digest(document: bytes) -> str:
    """The hex digest of the known words that the document of a layer calls for; or a DocumentError."""
    return _matched(document)["known"].decode()


def read_layer(document: bytes, known: Vocabulary) -> Layer | ClosedLayer:
    """The layer, or the closed one, that a document describes; or a DocumentError that quotes nothing of it."""
    match = _matched(document)
    if match["known"].decode() != known.digest:
        raise DocumentError(f"the document calls for other known words than those with the digest {known.digest}")
    try:
        told = json.loads(document.decode())
    except ValueError:  # what is wrong with the bytes would be quoted
        raise DocumentError("the document is not in UTF-8; get it from the operator anew") from None
    for name, value in told.items():
        if isinstance(value, int) and not 1 <= value <= LARGEST_NUMBER:
            raise DocumentError(f"the document's {name} is no number from 1 to {LARGEST_NUMBER:,}")
    build = _layer if match.re is _LAYER else _closed_layer
    layer = _described(lambda: build(told, known))
    if layer.document != document:
        raise DocumentError("the document is not in its canonical form; the operator's service should write that")
    return layer


def known_document(known: Vocabulary) -> bytes:
    """The list of known words that a device fetches, whose SHA-256 is the digest of the words."""
    content = "\n".join(sorted(known.words)).encode("utf-8", "surrogatepass")
    if hashlib.sha256(content).hexdigest() != known.digest:
        raise ParameterError(
            f"the known words from {known.source} also rest on the rules of a Hunspell dictionary, which devices "
            "don't have; give a plain list with one word a line"
        )
    if len(content) > LARGEST_KNOWN:
        raise ParameterError(
            f"the known words from {known.source} have {len(content):,} bytes, and a device takes at most "
            f"{LARGEST_KNOWN:,}; give fewer words"
        )
    if not known.is_list_of_lines:
        raise ParameterError(
            f"a known word from {known.source} has a line break; give one word a line", parameter="known"
        )
    return content


def read_known(content: bytes) -> Vocabulary:
    """The known words of a list; or a DocumentError that quotes none of them."""
    if len(content) > LARGEST_KNOWN:
        raise DocumentError(f"the list of known words has {len(content):,} bytes, above {LARGEST_KNOWN:,}")
    try:
        known = Vocabulary(content.decode().split("\n"), source="the operator's list")
    except UnicodeDecodeError:
        raise DocumentError("the list of known words is not in UTF-8; get it from the operator anew") from None
    if known.digest != hashlib.sha256(content).hexdigest():
        raise DocumentError("the list of known words must have each once, in NFC and in order, one a line")
    return known


def _matched(document: bytes) -> re.Match[bytes]:
    """The document, if it has the grammar of one and is not too large to be parsed."""
    if len(document) > LARGEST_DOCUMENT:
        raise DocumentError(f"the document has {len(document):,} bytes, above {LARGEST_DOCUMENT:,}")
    if document.count(b",") > MOST_ITEMS:
        raise DocumentError(f"the document has more than {MOST_ITEMS:,} commas")
    match = _LAYER.fullmatch(document) or _CLOSED_LAYER.fullmatch(document)
    if match is None:
        raise DocumentError(
            "the bytes are not the document of a layer in version 1 of the protocol; a newer neologue may read them"
        )
    return match


def _described(build: Callable[[], Layer | ClosedLayer]) -> Layer | ClosedLayer:
    """What is built, or a DocumentError for whatever a layer refuses."""
    try:
        return build()
    except ParameterError as error:  # a layer's own complaints quote nothing
        raise DocumentError(f"the document describes no layer: {error}") from None
    except (LanguageError, ValueError):  # an alphabet's do, and so do those about numbers
        raise DocumentError("the document describes no layer: its alphabet or a number can't be used") from None


def _layer(told: dict[str, Any], known: Vocabulary) -> Layer:
    return Layer(
        pass_number=told["pass"],
        number=told["layer"],
        layer_size=told["cohort"],
        alphabet=Alphabet(told["alphabet"]),
        frontier=_array(told["frontier"]),
        extension=told["extension"],
        depth=told["depth"],
        mechanism=told["randomizer"],
        epsilon=float(told["epsilon"]),
        bound=told["bound"],
        sampler=told["sampler"],
        known=known,
        found=Vocabulary(told["found"], source="words found before"),
        targets=_set(told["targets"]),
        lists=_lists(told["listed"], told["ways"]),
        doubtful=_array(told["doubtful"]),
    )


def _closed_layer(told: dict[str, Any], known: Vocabulary) -> ClosedLayer:
    return ClosedLayer(
        layer_size=told["cohort"],
        alphabet=Alphabet(told["alphabet"]),
        words=_array(told["words"]),
        depth=told["depth"],
        mechanism=told["randomizer"],
        epsilon=float(told["epsilon"]),
        bound=told["bound"],
        known=known,
        targets=_set(told["targets"]),
        rate=float(told["rate"]),
    )


def _array(texts: list[str]) -> Strings:
    """Strings side by side, which all take the room of the longest."""
    longest = max(map(len, texts), default=0)
    if longest > DEEPEST or longest * len(texts) > MOST_CHARACTERS:
        raise ParameterError(
            f"its prefixes or words have up to {longest:,} characters, above {DEEPEST}, or there are more than "
            f"{MOST_CHARACTERS:,} characters of them"
        )
    return strings(texts)


def _set(texts: list[str] | None) -> frozenset[str] | None:
    return None if texts is None else frozenset(texts)


def _lists(rows: list[list[int]] | None, ways: list[int] | None) -> Lists | None:
    if rows is None and ways is None:
        return None
    if rows is None or ways is None:
        raise ParameterError("it must have both lists and the ways of each prefix, or neither")
    return Lists(tuple(np.array(row, np.int64) for row in rows), np.array(ways, np.int64))
