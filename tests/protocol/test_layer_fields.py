"""The table of the fields of a layer document, and what is derived from it: the schema and the TypeScript types."""

import json
import runpy
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed import small_closed_layer
from layers import small_layer
from neologue.errors import DocumentError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.protocol.layer_fields import LAYER_FIELDS, LayerKind, fields_of

ROOT = Path(__file__).parents[2]
DERIVED: dict[Path, Callable[[], str]] = runpy.run_path(str(ROOT / "vectors" / "generate.py"))["DERIVED"]
SCHEMA = jsonschema_rs.Draft202012Validator(
    json.loads((ROOT / "docs" / "schema" / "layer.schema.json").read_text("utf-8"))
)
KNOWN = Vocabulary(["known", "cab"])
OPEN, CLOSED = json.loads(small_layer(["ab"]).document), json.loads(small_closed_layer(["ab"]).document)


@pytest.mark.parametrize("path", DERIVED, ids=lambda path: path.name)
def test_what_is_derived_is_of_today(path: Path) -> None:
    assert path.read_text("utf-8") == DERIVED[path](), "run python vectors/generate.py"


@pytest.mark.parametrize(
    ("kind", "layer"), [("open", ExtendingLayer), ("likely", LikelyLayer), ("closed", ClosedLayer)]
)
def test_the_table_has_every_attribute_of_a_layer_and_nothing_else(
    kind: LayerKind, layer: type[Layer] | type[ClosedLayer]
) -> None:
    described = {field.attribute.partition(".")[0] for field in fields_of(kind)} - {""}
    if layer is LikelyLayer:  # a property, so that all layers call them the same
        described = described - {"candidates"} | {"asked"}
    assert described == {field.name for field in fields(layer)}


def test_the_fields_are_in_the_order_of_a_document() -> None:
    names = [field.name for field in LAYER_FIELDS]
    assert names == sorted(set(names))


def test_the_documents_of_the_vectors_have_the_schema() -> None:
    whole = json.loads((ROOT / "vectors" / "documents.json").read_text("utf-8"))
    closed = json.loads((ROOT / "vectors" / "closed.json").read_text("utf-8"))
    documents = [json.loads(bytes.fromhex(case["document"])) for case in whole] + [case["layer"] for case in closed]
    assert {"words" in document for document in documents} == {True, False}
    for document in documents:
        SCHEMA.validate(document)


def is_layer(document: dict[str, Any]) -> bool:
    """Whether a device reads the document."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        read_layer(text.encode("utf-8", "surrogatepass"), KNOWN)
    except DocumentError:
        return False
    return True


@pytest.mark.parametrize(
    "changes",
    [
        {"bound": 0},
        {"bound": 1 << 31},
        {"bound": "4"},
        {"cohort": None},
        {"epsilon": 3.0},
        {"epsilon": "nan"},
        {"found": ["a", "a"]},
        {"frontier": [["ab"]]},
        {"known": "00"},
        {"randomizer": "x" * 33},
        {"sampler": "best"},
        {"version": 1},
        {"words": []},
        {"more": 1},
    ],
    ids=str,
)
def test_the_schema_refuses_what_a_device_refuses(changes: dict[str, Any]) -> None:
    for document in (OPEN | changes, CLOSED | changes):
        if all(name in document for name in (*changes, "known")):
            assert not SCHEMA.is_valid(document)
            assert not is_layer(document)


@pytest.mark.parametrize("document", [OPEN, CLOSED], ids=["open", "closed"])
def test_the_schema_refuses_a_document_that_lacks_a_field(document: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(document)
    for name in document:
        partial = {key: value for key, value in document.items() if key != name}
        assert not SCHEMA.is_valid(partial)
        assert not is_layer(partial)


anything = st.recursive(
    st.none() | st.integers(-1, 9) | st.floats(0, 9) | st.sampled_from(["", "unary", "1.0", "abc", "random", "0" * 64]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([OPEN, CLOSED]), st.data())
def test_whatever_a_device_reads_has_the_schema(document: dict[str, Any], data: st.DataObject) -> None:
    changed = document | {data.draw(st.sampled_from(sorted(document))): data.draw(anything)}
    if is_layer(changed):
        SCHEMA.validate(changed)
