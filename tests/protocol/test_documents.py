"""Documents read back to the very same layer, and hostile ones are refused with one error that quotes nothing."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed import small_closed_layer
from layers import small_layer
from neologue.errors import DocumentError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol import documents
from neologue.protocol.canonical import canonical
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import known_digest, known_document, read_known, read_layer, with_known
from neologue.protocol.layer import ExtendingLayer
from neologue.protocol.layer_fields import LARGEST_NUMBER

KNOWN = Vocabulary(["known", "cab"])
SECRET = "xylomancy"


def told(layer: ExtendingLayer | ClosedLayer, /, **changes: object) -> bytes:
    """The document of a layer with some fields changed or, if they are Ellipsis, left out."""
    fields = json.loads(layer.document) | changes
    kept = {name: value for name, value in fields.items() if value is not ...}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


# Round trips

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@st.composite
def layers(draw: st.DrawFn) -> ExtendingLayer:
    """Layers with any characters and numbers."""
    alphabet = Alphabet("".join(draw(st.sets(characters, min_size=2, max_size=12))))
    length = draw(st.integers(1, 3))
    prefix = st.text(alphabet.characters, min_size=length, max_size=length)
    frontier = strings(sorted(draw(st.sets(prefix, min_size=1, max_size=6))))
    extension = draw(st.integers(1, 3))
    return ExtendingLayer(
        pass_number=draw(st.integers(1, 100)),
        number=draw(st.integers(1, 100)),
        layer_size=draw(st.integers(1, LARGEST_NUMBER)),
        alphabet=alphabet,
        frontier=frontier,
        extension=extension,
        depth=draw(st.integers(1, 64)),
        mechanism=draw(st.sampled_from(["unary", "subset-selection", "of-the-future"])),
        epsilon=draw(st.floats(0.001, 20.0)),
        bound=draw(st.integers(1, 10_000)),
        sampler=draw(st.sampled_from(["greedy", "random"])),
        known=KNOWN,
        found=Vocabulary(draw(st.lists(st.text(characters), max_size=3))),
        targets=draw(st.none() | st.frozensets(st.text(characters), max_size=3)),
    )


def test_a_document_of_another_version_is_refused_by_its_number() -> None:
    older = small_layer(["ab"]).document.replace(b'"version":2', b'"version":1')
    with pytest.raises(DocumentError, match="of version 1 of the protocol, and this neologue speaks version 2; update"):
        read_layer(older)


@pytest.mark.parametrize("field", [{"doubtful": []}, {"listed": None}, {"ways": [1]}], ids=str)
def test_a_document_that_lists_extensions_or_words_in_doubt_is_of_an_older_version(field: dict[str, object]) -> None:
    with pytest.raises(DocumentError, match="made by an older version: it lists extensions"):
        read_layer(told(small_layer(["ab"]), **field))


@pytest.mark.parametrize(
    ("replaced", "stripped"),
    [("Aa", ""), ("ABCb", ""), ("Xz", ""), ("X", ""), ("YaXb", ""), ("", "!"), ("", "/!"), ("", "!/.:"), ("ab", "")],
)
def test_tables_that_make_no_form_are_refused(replaced: str, stripped: str) -> None:
    document = json.loads(small_layer(["ab"]).document) | {"replaced": replaced, "stripped": stripped}
    if (replaced, stripped) == ("Aa", ""):
        assert read_layer(canonical(document)).form.of("Ab") == "ab"
        return
    with pytest.raises(DocumentError, match="describes no layer"):
        read_layer(canonical(document))


@given(layers())
def test_a_layer_reads_back_from_its_document(layer: ExtendingLayer) -> None:
    read = read_layer(layer.document, KNOWN)
    assert isinstance(read, ExtendingLayer)
    assert read.digest == layer.digest == hashlib.sha256(layer.document).digest()
    assert (read.pass_number, read.number, read.layer_size) == (layer.pass_number, layer.number, layer.layer_size)
    assert read.frontier.tolist() == layer.frontier.tolist()
    assert (read.found.words, read.targets, read.epsilon) == (layer.found.words, layer.targets, layer.epsilon)
    assert known_digest(layer.document) == KNOWN.digest


@given(
    st.sets(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=9),
    st.floats(0, 1, exclude_min=True),
    st.none() | st.frozensets(st.text("abc")),
)
def test_a_closed_layer_reads_back_from_its_document(
    words: set[str], rate: float, targets: frozenset[str] | None
) -> None:
    layer = small_closed_layer(sorted(words), rate=rate, targets=targets)
    read = read_layer(layer.document, KNOWN)
    assert isinstance(read, ClosedLayer)
    assert read.digest == layer.digest
    assert (read.words.tolist(), read.rate, read.targets) == (sorted(words), rate, targets)


@given(st.sets(st.text(characters)))
def test_known_words_read_back_from_their_list(words: set[str]) -> None:
    known = Vocabulary(words)
    if any("\n" in word for word in known.words):
        with pytest.raises(ParameterError, match="line break"):
            known_document(known)
        return
    content = known_document(known)
    assert hashlib.sha256(content).hexdigest() == known.digest
    assert read_known(content).words == known.words


def test_a_document_wants_its_own_known_words() -> None:
    layer = small_layer(["ab"])
    with pytest.raises(DocumentError, match="other known words"):
        read_layer(layer.document, Vocabulary.empty())


# Hostile bytes


def refused(document: bytes) -> str:
    """What is said of a document that must not be read; never anything of what is in it."""
    with pytest.raises(DocumentError) as caught:
        read_layer(document, KNOWN)
    said, error = "", caught.value  # type: str, BaseException | None
    while error is not None:
        said, error = said + str(error), None if error.__suppress_context__ else error.__context__
    assert SECRET not in said
    return said


@given(st.binary() | st.binary().map(lambda noise: small_layer(["ab"]).document + noise[1:] + b"}"))
def test_any_bytes_are_refused(content: bytes) -> None:
    refused(content)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_refused(value: object) -> None:
    refused(json.dumps(value).encode())


names = sorted(json.loads(small_layer(["ab"]).document))
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([SECRET, "", "unary", "1.0", "nan", "1e999", "abc"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(names), anything)
def test_any_field_may_be_anything(name: str, value: object) -> None:
    layer = small_layer(["ab"])
    document = told(layer, **{name: value})
    try:
        read = read_layer(document, KNOWN)
    except DocumentError:
        refused(document)
    else:
        assert read.document == document


@given(st.data())
def test_a_document_with_a_byte_changed_is_refused_or_that_of_another_layer(data: st.DataObject) -> None:
    layer = small_layer(["ab", "ca"], found=Vocabulary(["zonk"]), targets=frozenset({"é"}))
    document = bytearray(layer.document)
    document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = read_layer(bytes(document), KNOWN)
    except DocumentError:
        return
    assert read.document == document


@pytest.mark.parametrize(
    "changes",
    [
        {"alphabet": "cba"},
        {"alphabet": "aabc"},
        {"alphabet": SECRET[0]},
        {"alphabet": "ab\ud800"},
        {"bound": 0},
        {"bound": 1 << 31},
        {"bound": 10**4000},
        {"bound": -1},
        {"bound": 1.0},
        {"bound": True},
        {"cohort": "100"},
        {"epsilon": 3.0},
        {"epsilon": "3"},
        {"epsilon": "3.00"},
        {"epsilon": "1e999"},
        {"epsilon": "--"},
        {"epsilon": "nan"},
        {"extension": 0},
        {"found": ["b", "a"]},
        {"found": ["a", "a"]},
        {"found": ["e\u0301"]},
        {"found": [""]},
        {"frontier": []},
        {"frontier": ["ca", "ab"]},
        {"frontier": ["ab", "ab"]},
        {"frontier": ["ab", "abc"]},
        {"frontier": [SECRET]},
        {"frontier": ["a" * 65]},
        {"frontier": [["ab"]]},
        {"known": "00"},
        {"known": None},
        {"randomizer": "x" * 33},
        {"sampler": "best"},
        {"targets": ["b", "a"]},
        {"version": 1},
        {"version": ...},
        {"frontier": ...},
        {"words": []},
    ],
    ids=str,
)
def test_what_no_layer_has_is_refused(changes: dict[str, Any]) -> None:
    layer = small_layer(["ab"])
    try:
        document = told(layer, **changes)
    except UnicodeEncodeError:
        document = told(layer).replace(b'"abc"', b'"ab\xed\xa0\x80"')
    refused(document)


@pytest.mark.parametrize(
    "other",
    [
        lambda document: b" " + document,
        lambda document: document + b"\n",
        lambda document: document.replace(b",", b", "),
        lambda document: document.replace(b'"ab"', b'"\\u0061b"'),
        lambda document: document.replace(b'"depth":6', b'"depth":06'),
        lambda document: document.replace(b'"depth":6', b'"depth":6,"depth":6'),
        lambda document: document.replace(b'"bound":4,"cohort":1000', b'"cohort":1000,"bound":4'),
    ],
)
def test_there_is_one_way_to_write_a_document(other: Callable[[bytes], bytes]) -> None:
    document = small_layer(["ab"]).document
    assert other(document) != document
    refused(other(document))


@pytest.mark.parametrize(
    "hostile",
    [
        lambda: b"[" * documents.LARGEST_DOCUMENT,
        lambda: b'{"a":' * 1_000_000,
        lambda: b"x" * (documents.LARGEST_DOCUMENT + 1),
        lambda: told(small_layer(["ab"]), frontier="[]").replace(b'"[]"', b"[" + b"[]," * 5_000_000 + b"[]]"),
        lambda: told(small_layer(["ab"]), frontier=["x"]).replace(b'"x"', b'"x",' * 2_200_000 + b'"x"'),
        # One long word beside many short ones: side by side they would take terabytes.
        lambda: told(small_layer(["ab"]), frontier=[*["a"] * 500_000, "b" * 10_000_000]),
        lambda: told(small_closed_layer(["ab"]), words=[*["a"] * 1_000_000, "b" * 64]),
        lambda: told(small_layer(["ab"]), extension=10**9, alphabet="ab"),
    ],
    ids=["lists", "objects", "large", "empty lists", "items", "one long prefix", "one long word", "extension"],
)
def test_nothing_wild_is_allocated(hostile: Callable[[], bytes]) -> None:
    document = hostile()
    tracemalloc.start()
    try:
        with suppress(DocumentError):
            read_layer(document, KNOWN)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * documents.LARGEST_DOCUMENT


@given(st.binary())
def test_any_bytes_are_known_words_or_refused(content: bytes) -> None:
    try:
        known = read_known(content)
    except DocumentError:
        return
    assert known_document(known) == content


@pytest.mark.parametrize("content", [b"b\na", b"a\na", b"a\n", b"\xff", "e\u0301".encode(), b" a", b"\xed\xa0\x80"])
def test_known_words_have_one_form(content: bytes) -> None:
    with pytest.raises(DocumentError):
        read_known(content)


@pytest.mark.parametrize(("limit", "most"), [("LARGEST_KNOWN", 5), ("MOST_KNOWN_WORDS", 2)])
def test_more_known_words_than_devices_take_are_not_sent(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, limit, most)
    assert known_document(Vocabulary(["ab", "cd"])) == b"ab\ncd"
    with pytest.raises(ParameterError, match="give fewer words"):
        known_document(Vocabulary(["ab", "cd", "ef"]))


@pytest.mark.parametrize(
    "layer", [small_layer(["ab"], known=KNOWN), small_closed_layer(["abc"], known=KNOWN)], ids=["layer", "closed layer"]
)
def test_a_layer_can_be_judged_without_its_known_words_and_not_answered(layer: ExtendingLayer | ClosedLayer) -> None:
    unread = read_layer(layer.document)
    assert unread.digest == layer.digest
    with pytest.raises(DocumentError, match="known words of this layer were not read"):
        unread.counts("a")
    whole = with_known(unread, KNOWN)
    assert (whole.digest, whole.known) == (layer.digest, KNOWN)
    with pytest.raises(DocumentError, match="calls for other known words"):
        with_known(unread, Vocabulary(["others"]))


def test_known_words_that_rest_on_rules_cant_be_sent() -> None:
    with pytest.raises(ParameterError, match="plain list"):
        known_document(Vocabulary(["ab"], accepts=lambda word: True, rules="some"))
