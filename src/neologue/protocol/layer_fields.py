"""The fields of a layer document: one table for everything that reads or writes one.

From it come the grammar and the reader (`neologue.protocol.documents`), the canonical JSON (`write_document`), the JSON
Schema (docs/schema/layer.schema.json), and the types and checks of the browser device
(devices/web/src/layer_document.ts); `python vectors/generate.py` writes the last two. A new field is a new row here
and an attribute of the layer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, strings
from neologue.language.likely_roots import NEVER
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.canonical import canonical
from neologue.protocol.limits import DEEPEST, SAMPLERS

PROTOCOL_VERSION = 2
MOST_CHARACTERS = 1 << 24
"""The most characters of a frontier or a list of words, all counted as long as the longest."""
LARGEST_NUMBER = (1 << 31) - 1

LayerKind = Literal["open", "likely", "closed"]
LAYER_KINDS: Final[tuple[LayerKind, ...]] = ("open", "likely", "closed")


@dataclass(frozen=True)
class JsonForm:
    """How a value looks in JSON, in the language of each reader."""

    grammar: str
    """A regular expression that allocates nothing and never backtracks."""
    schema: Mapping[str, object]
    """JSON Schema."""
    typescript: str
    """The type."""
    check: str
    """An expression that gives the check, by the functions of devices/web/src/field_checks.ts."""
    bounds: tuple[int, int] | None = None
    """The least and the largest number, if it is one."""


def _whole(least: int, most: int, grammar: str) -> JsonForm:
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return JsonForm(grammar, schema, "number", f"wholeNumber({least}, {most})", (least, most))


def _matching(pattern: str) -> JsonForm:
    schema = {"type": "string", "pattern": f"^{pattern}$"}
    return JsonForm(f'"{pattern}"', schema, "string", f"matching(/^{pattern}$/)")


def _list(item: JsonForm) -> JsonForm:
    """A list with at least one item."""
    return JsonForm(
        rf"\[{item.grammar}(?:,{item.grammar})*+\]",
        {"type": "array", "minItems": 1, "items": item.schema},
        f"{item.typescript}[]",
        f"listOf({item.check})",
    )


def _perhaps_empty(item: JsonForm) -> JsonForm:
    """A list that may have no items."""
    return JsonForm(
        rf"\[(?:{item.grammar}(?:,{item.grammar})*+)?\]",
        {"type": "array", "items": item.schema},
        f"{item.typescript}[]",
        f"listOf({item.check})",
    )


def _nullable(form: JsonForm) -> JsonForm:
    return JsonForm(
        f"(?:null|{form.grammar})",
        {"anyOf": [{"type": "null"}, form.schema]},
        f"{form.typescript} | null",
        f"nullable({form.check})",
    )


_VERSION: Final = JsonForm(
    str(PROTOCOL_VERSION), {"const": PROTOCOL_VERSION}, str(PROTOCOL_VERSION), f"equal({PROTOCOL_VERSION})"
)
_TEXT: Final = JsonForm(
    r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\bfnrt]|u00[01][0-9a-f]))*+"', {"type": "string"}, "string", "text"
)
_TEXTS: Final = _perhaps_empty(_TEXT)
_SET: Final = replace(_TEXTS, schema={**_TEXTS.schema, "uniqueItems": True})
_NONEMPTY: Final = replace(_SET, schema={**_SET.schema, "minItems": 1})
_WHOLE: Final = _whole(1, LARGEST_NUMBER, r"(?:0|[1-9][0-9]{0,9})")
_COST: Final = _whole(0, NEVER, r"(?:0|[1-9][0-9]{0,5})")
_NAME: Final = _matching("[a-z-]{1,32}")
_DIGEST: Final = _matching("[0-9a-f]{64}")
_DECIMAL: Final = replace(_matching("[0-9.e+-]{1,32}"), check="decimal")
_SAMPLER: Final = replace(_NAME, schema={"enum": [*SAMPLERS]})


def read_strings(texts: list[str]) -> Strings:
    """Strings in an array, in which each takes the room of the longest."""
    longest = max(map(len, texts), default=0)
    if longest > DEEPEST or longest * len(texts) > MOST_CHARACTERS:
        raise ParameterError(
            f"its prefixes or words have up to {longest:,} characters, above {DEEPEST}, or there are more than "
            f"{MOST_CHARACTERS:,} characters of them"
        )
    return strings(texts)


def _identity(value: object) -> object:
    return value


def _decimal(value: float) -> str:
    return repr(float(value))


@dataclass(frozen=True)
class LayerField:
    """One field of a layer document."""

    name: str
    """The key in the JSON object."""
    attribute: str
    """Where a layer has it, with a dot if it is inside an attribute; empty for a constant."""
    form: JsonForm
    write: Callable[[Any], object] = _identity
    """The JSON value of an attribute that is not None."""
    read: Callable[[Any], object] | None = _identity
    """The attribute of a JSON value that is not null; None if it does not come from the document alone."""
    kinds: tuple[LayerKind, ...] = LAYER_KINDS
    """The kinds of layers whose documents have it."""


_OPEN: Final[tuple[LayerKind, ...]] = ("open",)
_LIKELY: Final[tuple[LayerKind, ...]] = ("likely",)
_EITHER: Final[tuple[LayerKind, ...]] = ("open", "likely")
_CLOSED: Final[tuple[LayerKind, ...]] = ("closed",)

_ROUNDS: Final = "candidates.rounds"

LAYER_FIELDS: Final = (
    LayerField("again", _ROUNDS, _list(_COST), lambda rounds: [each.again for each in rounds], None, _LIKELY),
    LayerField("alphabet", "alphabet", _TEXT, lambda alphabet: alphabet.characters, Alphabet),
    LayerField("backoffs", "candidates.spelling.backoffs", _list(_COST), np.ndarray.tolist, None, _LIKELY),
    LayerField("bound", "bound", _WHOLE),
    LayerField("cohort", "layer_size", _WHOLE),
    LayerField("contexts", "candidates.spelling.contexts", _NONEMPTY, list, None, _LIKELY),
    LayerField("costs", "candidates.spelling.costs", _list(_COST), np.ndarray.tolist, None, _LIKELY),
    LayerField("depth", "depth", _WHOLE),
    LayerField("epsilon", "epsilon", _DECIMAL, _decimal, float),
    LayerField(
        "even_costs",
        _ROUNDS,
        _list(_perhaps_empty(_COST)),
        lambda rounds: [each.even_costs.tolist() for each in rounds],
        None,
        _LIKELY,
    ),
    LayerField("extension", "extension", _WHOLE, kinds=_OPEN),
    LayerField(
        "found",
        "found",
        _SET,
        lambda found: sorted(found.words),
        lambda words: Vocabulary(words, source="words found before"),
        _EITHER,
    ),
    LayerField("frontier", "frontier", _NONEMPTY, np.ndarray.tolist, read_strings, _OPEN),
    LayerField("known", "known", _DIGEST, lambda known: known.digest, None),
    LayerField("layer", "number", _WHOLE, kinds=_EITHER),
    LayerField("limits", _ROUNDS, _list(_COST), lambda rounds: [each.limit for each in rounds], None, _LIKELY),
    LayerField("pass", "pass_number", _WHOLE, kinds=_EITHER),
    LayerField(
        "prefix_limits", _ROUNDS, _list(_COST), lambda rounds: [each.prefix_limit for each in rounds], None, _LIKELY
    ),
    LayerField("randomizer", "mechanism", _NAME),
    LayerField("rate", "rate", _DECIMAL, _decimal, float, _CLOSED),
    LayerField("replaced", "form.replaced", _TEXT),
    LayerField(
        "root_costs",
        _ROUNDS,
        _list(_perhaps_empty(_COST)),
        lambda rounds: [each.costs.tolist() for each in rounds],
        None,
        _LIKELY,
    ),
    LayerField(
        "roots", _ROUNDS, _list(_SET), lambda rounds: [each.prefixes.tolist() for each in rounds], None, _LIKELY
    ),
    LayerField("sampler", "sampler", _SAMPLER, kinds=_EITHER),
    LayerField("stripped", "form.stripped", _TEXT),
    LayerField("symbols", "candidates.spelling.symbols", _list(_TEXT), list, None, _LIKELY),
    LayerField("targets", "targets", _nullable(_SET), sorted, frozenset),
    LayerField("version", "", _VERSION, read=None),
    LayerField("words", "words", _NONEMPTY, np.ndarray.tolist, read_strings, _CLOSED),
)
"""In the order of their names, which is their order in a document."""


def fields_of(kind: LayerKind) -> list[LayerField]:
    """The fields of the documents of one kind of layers, in order."""
    return [field for field in LAYER_FIELDS if kind in field.kinds]


def document_schema() -> dict[str, object]:
    """A JSON Schema of the documents of layers, as far as one can tell what is in them."""
    return {
        "title": "The document of a layer",
        "oneOf": [
            {
                "title": f"{kind} layer",
                "type": "object",
                "additionalProperties": False,
                "required": [field.name for field in fields_of(kind)],
                "properties": {field.name: field.form.schema for field in fields_of(kind)},
            }
            for kind in LAYER_KINDS
        ],
    }


def write_document(layer: object, kind: LayerKind) -> bytes:
    """The document of a layer, in its one form."""
    return canonical({field.name: _json_value(layer, field) for field in fields_of(kind)})


def _json_value(layer: object, field: LayerField) -> object:
    if not field.attribute:
        return PROTOCOL_VERSION
    value: object = layer
    for name in field.attribute.split("."):
        value = None if value is None else getattr(value, name)
    return None if value is None else field.write(value)
