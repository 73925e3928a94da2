"""Every rule that vectors can tell has one: a device that breaks the rule fails a vector."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import pytest

from neologue.errors import DocumentError
from neologue.language import spelling_costs
from neologue.language.alphabet import Alphabet
from neologue.language.likely_candidates import LikelyCandidates
from neologue.language.likely_roots import NEVER, Roots
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm
from neologue.protocol import closed_layer, documents, layer, layer_fields
from neologue.protocol.canonical import canonical
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import ExtendingLayer, Layer
from protocol_mutants import GENERATOR, MUTANTS, ROOT, Mutant, Patch, nothing, wrap


@pytest.mark.parametrize("each", MUTANTS, ids=lambda each: f"{each.rule}-{each.name}")
def test_a_device_that_breaks_a_rule_fails_a_vector(each: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = (ROOT / "vectors" / each.file).read_text("ascii")
    with monkeypatch.context() as patch:
        each.break_rule(patch)
        try:
            computed = GENERATOR["rendered"](GENERATOR["FILES"][each.file]())
        except Exception as error:
            computed = f"{type(error).__name__}: {error}"
    assert computed != committed


# What is refused: without its check, a device reads a document that it must refuse by that very rule


def refused_documents(rule: str) -> Iterator[bytes]:
    """The documents that vectors have refused by a rule."""
    refusals = GENERATOR["FILES"]["refusals.json"]()
    for case in refusals["documents"]:
        if case["rule"] == rule:
            yield canonical(refusals["layers"][case["base"]] | case["change"])
    for case in refusals["bytes"]:
        if case["rule"] == rule:
            yield bytes.fromhex(case["document"])
    likely = GENERATOR["FILES"]["likely.json"]()["refused"]
    for case in likely["cases"]:
        if case["rule"] == rule:
            yield canonical(likely["layer"] | case["change"])


def _any_bytes(patch: Patch) -> None:
    """Documents are read however they are written."""
    really = documents.read_layer
    patch.setattr(documents, "read_layer", lambda document: really(canonical(json.loads(document))))


def _not_canonical(patch: Patch) -> None:
    """What a document says is not compared with what it should say."""
    patch.setattr(Layer, "document", property(lambda _layer: _Anything()))
    patch.setattr(ClosedLayer, "document", property(lambda _layer: _Anything()))


class _Anything:
    """Equal to every document."""

    def __eq__(self, _other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _first_backoff(patch: Patch) -> None:
    patch.setattr(spelling_costs, "DEAREST", 1 << 20)


UNCHECKED: Final[dict[str, Callable[[Patch], None]]] = {
    "F2": _any_bytes,
    "F3": lambda patch: patch.setattr(Alphabet, "__post_init__", nothing),
    "F4": lambda patch: patch.setattr(WordForm, "fits", lambda *_: True),
    "F5": _not_canonical,
    "F6": lambda patch: patch.setattr(layer_fields, "DEEPEST", 1 << 20),
    "F7": lambda patch: patch.setattr(ExtendingLayer, "__post_init__", nothing),
    "F8": lambda patch: patch.setattr(layer, "SAMPLERS", ("greedy", "random", "lazy")),
    "F9": lambda patch: patch.setattr(closed_layer, "check_rate", nothing),
    "F10": lambda patch: patch.setattr(ClosedLayer, "__post_init__", nothing),
    "F11": lambda patch: patch.setattr(SpellingCosts, "_check_contexts", nothing),
    "F12": _first_backoff,
    "F14": lambda patch: patch.setattr("neologue.language.likely_candidates.MOST_ROUNDS", 99),
    "F15": lambda patch: patch.setattr(layer.LikelyLayer, "__post_init__", nothing),
    "F16": lambda patch: patch.setattr("neologue.language.likely_candidates._are_within", lambda *_: True),
    "F17": lambda patch: patch.setattr("neologue.language.likely_candidates.largest_limit", lambda _spelling: NEVER),
    "F18": lambda patch: patch.setattr(LikelyCandidates, "__post_init__", nothing),
    "F19": lambda patch: wrap(patch, Roots, "ask", lambda really, *given: np.ones_like(really(*given))),
}


@pytest.mark.parametrize("rule", UNCHECKED)
def test_without_its_check_a_device_reads_what_a_rule_refuses(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(document: bytes) -> bool:
        try:
            documents.read_layer(document)
        except DocumentError:
            return False
        return True

    wrong = list(refused_documents(rule))
    assert wrong
    assert not any(map(read, wrong))
    with monkeypatch.context() as patch:
        UNCHECKED[rule](patch)
        assert any(map(read, wrong))


def test_without_its_check_a_device_reads_lists_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [bytes.fromhex(case["known_document"]) for case in GENERATOR["FILES"]["refusals.json"]()["known"]]

    def read(content: bytes) -> bool:
        try:
            documents.read_known(content)
        except DocumentError:
            return False
        return True

    assert not any(map(read, lists))
    monkeypatch.setattr(Vocabulary, "digest", property(lambda _known: _Anything()))
    assert any(map(read, lists))


def test_documents_with_too_many_items_are_refused_before_they_are_parsed() -> None:
    with pytest.raises(DocumentError, match=f"more than {documents.MOST_ITEMS:,} commas"):
        documents.read_layer(b"," * (documents.MOST_ITEMS + 1))


def test_lists_of_known_words_are_refused_by_a_vector_each() -> None:
    for case in GENERATOR["FILES"]["refusals.json"]()["known"]:
        content = bytes.fromhex(case["known_document"])
        words = content.decode("utf-8", "replace").split("\n")
        strict = all(a < b for a, b in pairwise(words)) and all(Vocabulary([word]).words == {word} for word in words)
        assert not strict or b"\xff" in content, case["name"]
