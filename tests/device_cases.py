"""What every device must read, refuse, know and judge as Python does: documents, lists, words and layers."""

import json
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from closed import small_closed_layer
from layers import small_layer, small_likely_layer
from neologue.language.likely_roots import NO_PREFIXES
from neologue.protocol.canonical import canonical
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer

KNOWN_LISTS: Final = [
    *("", "a", "a\nb", "b\na", "a\n", "\na", "a\na", " a", "a ", "a b", "a\r\nb", "a\x1c", "a\x85", "\ufeffa"),
    *("e\u0301", "\u00e9", "\u00e9\n\U0001d54f", "\ufb01\n\U0001d54f", "\U0001d54f\n\ufb01", "a\u200bb", "\u200b"),
]
"""Lists of known words, in their form and not."""

CASED_WORDS: Final = [
    *("word", "Word", "WORD", "wOrd", "WORd", "I", "i", "O'Neil", "O'NEIL", "o'neil", "MacBook", "MACBOOK"),
    *("Macbook", "straße", "STRASSE", "Straße", "ΟΔΟΣ", "οδος", "οδός", "Οδός", "İstanbul", "istanbul"),
    *("ISTANBUL", "ǅ", "ǆ", "Ǆ", "2Be", "2BE", "2be", "e\u0301a", "\u00e9a", "\u00c9A", "E\u0301A", "हिन्दी"),
    *("слово", "Слово", "СЛОВО", "ª", "ⅷ", "Ⅷ", "\U00010400a", "\U00010428a", "\U00010400\U00010401", "-", "'"),
    *("A-", "a-", "A'b", "A'B", "Aʰ", "ﬁsh", "Fish"),
]
"""Words in many cases."""

CASED_VOCABULARIES: Final = [CASED_WORDS[start::7] for start in range(7)]

SPACES: Final = [chr(point) for point in range(0x3001) if chr(point).isspace()] + ["\ufeff", "\u200b", "\u180e"]
"""White space, and what some languages take for it."""


def hostile_documents() -> Iterator[tuple[str, bytes]]:
    """Documents that are right, nearly right and wrong."""
    plain = small_layer(["ab", "ca"], 2)
    closed = small_closed_layer(["abc", "cab"], rate=0.25)
    likely = small_likely_layer()
    layers: dict[str, Layer | ClosedLayer] = {
        "plain": plain,
        "likely": likely,
        "likely words": small_likely_layer(NO_PREFIXES),
        "closed": closed,
    }
    for name, layer in layers.items():
        document = layer.document
        yield name, document
        told = json.loads(document)
        for field in told:
            yield f"{name} without {field}", canonical({key: value for key, value in told.items() if key != field})
            value: object
            for value in (0, -1, 1.5, 2**31, 2**31 - 1, "", "abc", "1.0", "1", [], ["a"], [[0]], None, True, {}):
                if (field, value) != ("extension", 2**31 - 1):
                    yield f"{name} with {field} {value!r}", canonical(told | {field: value})
        yield f"{name} and more", canonical(told | {"more": 1})
        for what, before, after in (
            ("a space", b":", b": "),
            ("an escape that need not be", b'"abc"', b'"\\u0061bc"'),
            ("a key twice", b'{"alphabet":"abc",', b'{"alphabet":"abc","alphabet":"abc",'),
            ("a number in another form", b'"bound":4', b'"bound":4.0'),
            ("not UTF-8", b'"abc"', b'"ab\xff"'),
        ):
            yield f"{name}, {what}", document.replace(before, after, 1)
        yield f"{name}, cut", document[:-1]
        yield f"{name}, a line more", document + b"\n"
        yield f"{name}, a mark of its order", b"\xef\xbb\xbf" + document
    told = json.loads(plain.document)
    for field, value in (("doubtful", []), ("listed", None), ("ways", None)):
        yield f"plain with {field}, as older versions had it", canonical(told | {field: value})
    for change in (
        {"frontier": ["ca", "ab"]},
        {"frontier": ["ab", "ab"]},
        {"frontier": ["ab", "cab"]},
        {"frontier": ["ab", "cd"]},
        {"alphabet": "bac"},
        {"alphabet": "ab\0c"},
        {"found": ["b", "a"]},
        {"found": [" a"]},
        {"found": ["e\u0301"]},
        {"targets": ["b", "a"]},
        {"targets": ["a", " b", "e\u0301"]},
        {"epsilon": "3"},
        {"epsilon": "03.0"},
        {"epsilon": "1e999"},
        {"epsilon": "1e-05"},
        {"epsilon": "0.00001"},
        {"epsilon": "1e+16"},
        {"epsilon": "1e16"},
        {"sampler": "lazy"},
        {"randomizer": "plain"},
        {"alphabet": "abc\U0001d54f\ufb01"},
        {"alphabet": "abc\ufb01\U0001d54f", "frontier": ["\ufb01", "\U0001d54f"]},
    ):
        yield f"plain with {change}", canonical(told | change)
    told = json.loads(likely.document)
    for field in ("backoffs", "costs", "limits", "again", "root_costs", "even_costs"):
        for place, value in product(range(4), (0, 1, 7, 9, 14, 15, 1024, 1025, 16383, 16384, 16385)):
            numbers = told[field]
            into = numbers if field in ("backoffs", "costs", "limits", "again") else numbers[1]
            if place < len(into):
                changed = [*into[:place], value, *into[place + 1 :]]
                yield (
                    f"likely with {field} {changed}",
                    canonical(told | {field: changed if into is numbers else [numbers[0], changed]}),
                )
    for roots in (["", "a", "ab", "c"], ["", "a", "ab", "abab"], ["", "a", "ab", "cc"], ["", "ab", "a", "b"]):
        yield f"likely with roots {roots}", canonical(told | {"roots": [[""], roots]})
    told = json.loads(closed.document)
    for change in ({"rate": "0.0"}, {"rate": "1.5"}, {"rate": "1e-07"}, {"words": ["abcabca"]}, {"words": ["a b"]}):
        yield f"closed with {change}", canonical(told | change)


def layers_to_judge() -> Iterator[Layer | ClosedLayer]:
    """Layers on both sides of each limit on what a report says of one word."""
    for mechanism, epsilon, extension in product(
        ("unary", "subset-selection"), (0.5, 3.0, 4.595, 4.596, 7.0, 10.0), (1, 4, 8)
    ):
        yield small_layer(["ab", "ca"], extension, mechanism=mechanism, epsilon=epsilon, bound=30)
    for mechanism, epsilon, listed in product(("unary", "subset-selection"), (1.0, 4.595, 4.596, 10.0), (1, 243, 729)):
        words = ["".join(letters) for letters in islice(product("abc", repeat=6), listed)]
        yield small_closed_layer(words, mechanism=mechanism, epsilon=epsilon)
    yield small_layer(["ab", "ca"], 9, targets=frozenset({"abc"}))
