"""The vectors of what counts and what is refused, by the names that docs/protocol.md has for its rules."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.device.contribution import counting_words
from neologue.device.network.handover import HandedRequest, HandoverTransport, answer_items
from neologue.device.network.transport import JSON, OCTETS, Response
from neologue.device.policy import Policy
from neologue.errors import DocumentError, LaterError, PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm
from neologue.protocol.canonical import canonical
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import LARGEST_DOCUMENT, read_known, read_layer
from neologue.protocol.invitation import invite
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer

Vector = dict[str, Any]

LETTERS = Alphabet("-'abcdefghijklmnopqrstuvwxyzéABCDEFGHIJKLMNOPQRSTUVWXYZÉß𐐀𐐨")
OPERATOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def extending(**changes: Any) -> ExtendingLayer:  # noqa: ANN401 - checked by the layer
    """A layer that a device answers by its usual policy, with some of what it says changed."""
    told: dict[str, Any] = {
        "pass_number": 1,
        "number": 1,
        "layer_size": 1000,
        "alphabet": Alphabet("abc"),
        "frontier": strings(["ab", "ca"]),
        "extension": 6,
        "depth": 8,
        "mechanism": "unary",
        "epsilon": 5.0,
        "bound": 4,
        "sampler": "random",
        "known": Vocabulary(["cab"]),
    }
    return ExtendingLayer(**told | changes)


def closed(**changes: Any) -> ClosedLayer:  # noqa: ANN401 - checked by the layer
    """A closed layer that a device answers by its usual policy."""
    letters = "abcdefghij"
    told: dict[str, Any] = {
        "layer_size": 1000,
        "alphabet": Alphabet(letters),
        "words": strings(sorted(a + b + c for a in letters for b in letters for c in letters[:6])),
        "depth": 8,
        "mechanism": "unary",
        "epsilon": 4.5,
        "bound": 4,
        "known": Vocabulary(["cab"]),
        "rate": 0.25,
    }
    return ClosedLayer(**told | changes)


# What counts


def counting_case(name: str, rules: list[str], layer: Layer | ClosedLayer, typed: Mapping[str, int]) -> Vector:
    """What is typed, and the words of it that count, with how often."""
    return {
        "name": name,
        "rules": rules,
        "layer": json.loads(layer.document),
        "known_words": sorted(layer.known.words),
        "words": dict(typed),
        "counting": counting_words(typed, layer),
    }


def counting() -> list[Vector]:
    """Words that count, and words that nearly do."""

    def once(*words: str) -> dict[str, int]:
        return dict.fromkeys(words, 1)

    def of(**changes: Any) -> ExtendingLayer:  # noqa: ANN401
        told = {"alphabet": LETTERS, "frontier": strings(["a"]), "extension": 1, "known": Vocabulary(["the"])}
        return extending(**told | changes)

    spaced = of(alphabet=Alphabet(" \u00a0\u2009ab\u200b\ufeff"))
    folded = of(alphabet=Alphabet("abe'\u0301é"), form=WordForm("AaBbEe’'", "!/::［］"), known=Vocabulary(["ab"]))
    cased = Vocabulary(["the", "London", "straße", "2be", "o'clock", "McDonald", "éclair"])
    greek = Alphabet("αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ")
    case_forms = (
        "the",
        "The",
        "THE",
        "tHe",
        "THe",
        "london",
        "London",
        "LONDON",
        "lONDON",
        "straße",
        "Straße",
        "STRASSE",
    )
    return [
        counting_case(
            "white space around words, in them, and what is none",
            ["W1", "W4c"],
            spaced,
            once(
                *(" ab", "ab\u2009", "\u3000ab\u1680", "\tba\r\n", "\x1cbb\x1f", "\x85aab\u205f", "\u2028abb\u2029"),
                *("a b", "a\u00a0b", "a\u2009b", "\u200bab", "\ufeffab", "ab\u200b", " ", ""),
            ),
        ),
        counting_case(
            "forms: replaced, composed, stripped, in this order",
            ["W2", "W6"],
            folded,
            once(
                *("AB", "BA", "ba", "(ba)", "b’a", "’ba’", "'ba'", "Be\u0301", "bE\u0301", "bÉ", "!b!", "［bb］", "b!b")
            ),
        ),
        counting_case(
            "characters that are not in the alphabet", ["W4b"], of(), once("abc", "abc1", "naïve", "日", "a𐐀", "a𐐁")
        ),
        counting_case(
            "as long as the depth, in code points",
            ["W4a"],
            of(depth=3),
            once("abd", "abde", "𐐨𐐨𐐨", "𐐨𐐨𐐨𐐨", "e\u0301e\u0301e\u0301"),
        ),
        counting_case(
            "found words, in any case that is permitted",
            ["W4d", "W5"],
            of(found=Vocabulary(["yeet", "Rizz"])),
            once("yeet", "Yeet", "YEET", "yEET", "rizz", "Rizz", "RIZZ", "lol", "the", "The"),
        ),
        counting_case(
            "targets: exactly, known or not, and not if they were found",
            ["W4d", "W4e"],
            of(targets=frozenset({"the", "yeet", "lol", "Rizz"}), found=Vocabulary(["lol"])),
            once("the", "The", "yeet", "Yeet", "lol", "LOL", "rizz", "Rizz", "abc"),
        ),
        counting_case(
            "known words, in any case that is permitted",
            ["W4e", "W5"],
            of(alphabet=Alphabet(LETTERS.characters + "0123456789ǅǆ"), known=cased),
            once(
                *(
                    *case_forms,
                    "2be",
                    "2Be",
                    "2BE",
                    "O'clock",
                    "O'CLOCK",
                    "o'Clock",
                    "mcdonald",
                    "McDonald",
                    "Mcdonald",
                ),
                *("Mcdonald", "MCDONALD", "Éclair", "ÉCLAIR", "éCLAIR", "ǅthe", "I", "A-", "-"),
            ),
        ),
        counting_case(
            "case by Unicode's full mappings",
            ["W5"],
            of(alphabet=greek, frontier=strings(["α"]), known=Vocabulary(["οδος", "σας"])),
            once("οδος", "Οδος", "ΟΔΟΣ", "οδοσ", "ΟΔΟσ", "ΣΑΣ", "Σας", "Σασ"),
        ),
        counting_case(
            "a closed layer counts as the first of its campaign does",
            ["M1", "W4e"],
            closed(alphabet=LETTERS, words=strings(["yeet"]), known=Vocabulary(["the"])),
            once("yeet", "Yeet", "the", "The", "lol"),
        ),
        counting_case(
            "counts out of range, and of one form",
            ["W6"],
            of(),
            {"abc": 0, "abd": -5, "abe": 2**40, " abe": 7, "abf": 2**31, "e\u0301a": 2, "éa": 3},
        ),
    ]


# What is refused


def wrong_document(name: str, rule: str, base: str, change: Vector) -> Vector:
    """A document that is wrong in some fields."""
    document = canonical(json.loads(BASES[base]().document) | change)
    _require_refusal(name, document)
    return {"name": name, "rule": rule, "base": base, "change": change}


def wrong_bytes(name: str, old: bytes, new: bytes) -> Vector:
    """A document that is written in another way; an empty `old` is its end."""
    document = extending().document
    changed = document.replace(old, new, 1) if old else document.removesuffix(b"}") + new
    if changed == document:
        raise ValueError(f"{name!r} changes nothing")
    _require_refusal(name, changed)
    return {"name": name, "rule": "F2", "document": changed.hex()}


def wrong_list(name: str, content: bytes) -> Vector:
    """Known words that are not in their form."""
    try:
        read_known(content)
    except DocumentError:
        return {"name": name, "rule": "F20", "known_document": content.hex()}
    raise ValueError(f"nothing is wrong with the list {name!r}")


def _require_refusal(name: str, document: bytes) -> None:
    try:
        read_layer(document)
    except DocumentError:
        return
    raise ValueError(f"nothing is wrong with the document {name!r}")


BASES: Mapping[str, Callable[[], Layer | ClosedLayer]] = {
    "extending": extending,
    "closed": lambda: closed(words=strings(["abc", "cab"])),
}


def refusals() -> Vector:
    """Documents and lists of known words that a device refuses, whatever its policy."""
    return {
        "layers": {name: json.loads(base().document) for name, base in BASES.items()},
        "documents": [
            wrong_document(name, rule, base, change)
            for (name, rule, base), change in {
                ("another version", "F2", "extending"): {"version": 1},
                ("a version to come", "F2", "extending"): {"version": 3},
                ("another key", "F2", "extending"): {"more": 1},
                ("a number as a string", "F2", "extending"): {"bound": "4"},
                ("a number of 0", "F2", "extending"): {"bound": 0},
                ("a number of 2^31", "F2", "extending"): {"cohort": 2**31},
                ("a truth value for a number", "F2", "extending"): {"depth": True},
                ("null for a string", "F2", "extending"): {"alphabet": None},
                ("a randomizer with a capital", "F2", "extending"): {"randomizer": "Unary"},
                ("a digest in capitals", "F2", "extending"): {"known": "AB" * 32},
                ("a digest that is cut", "F2", "extending"): {"known": "ab" * 31},
                ("a layer of no pass", "F2", "extending"): {"pass": 0},
                ("an alphabet of one character", "F3", "extending"): {"alphabet": "a", "frontier": ["aa"]},
                ("an alphabet out of order", "F3", "extending"): {"alphabet": "acb"},
                ("an alphabet in the order of UTF-16", "F3", "extending"): {"alphabet": "abc𐐀｡"},
                ("an alphabet with a character twice", "F3", "extending"): {"alphabet": "abcc"},
                ("an alphabet with U+0000", "F3", "extending"): {"alphabet": "\0abc"},
                ("half a pair in replaced", "F4", "extending"): {"replaced": "A"},
                ("replaced out of order", "F4", "extending"): {"replaced": "BbAa"},
                ("a character replaced twice", "F4", "extending"): {"replaced": "AaAb"},
                ("a character of the alphabet replaced", "F4", "extending"): {"replaced": "ab"},
                ("replaced by a foreign character", "F4", "extending"): {"replaced": "Ax"},
                ("half a pair in stripped", "F4", "extending"): {"stripped": "!"},
                ("a range from its end to its beginning", "F4", "extending"): {"stripped": "/!"},
                ("ranges that overlap", "F4", "extending"): {"stripped": "!/,:"},
                ("found words out of order", "F5", "extending"): {"found": ["b", "a"]},
                ("a found word twice", "F5", "extending"): {"found": ["a", "a"]},
                ("a found word that is empty", "F5", "extending"): {"found": [""]},
                ("a found word with white space around it", "F5", "extending"): {"found": [" a"]},
                ("a found word that is not in NFC", "F5", "extending"): {"found": ["e\u0301"]},
                ("targets out of order", "F5", "extending"): {"targets": ["b", "a"]},
                ("a target twice", "F5", "extending"): {"targets": ["a", "a"]},
                ("a prefix of 65 characters", "F6", "extending"): {"frontier": ["a" * 65]},
                ("a listed word of 65 characters", "F6", "closed"): {"words": ["a" * 65], "depth": 70},
                ("no prefixes", "F7", "extending"): {"frontier": []},
                ("a prefix without a character", "F7", "extending"): {"frontier": [""]},
                ("prefixes of different lengths", "F7", "extending"): {"frontier": ["ab", "c"]},
                ("prefixes out of order", "F7", "extending"): {"frontier": ["ca", "ab"]},
                ("a prefix twice", "F7", "extending"): {"frontier": ["ab", "ab"]},
                ("a prefix with a foreign character", "F7", "extending"): {"frontier": ["ax"]},
                ("another sampler", "F8", "extending"): {"sampler": "lazy"},
                ("a whole number as a decimal", "F9", "extending"): {"epsilon": "5"},
                ("a zero too many behind a decimal", "F9", "extending"): {"epsilon": "5.00"},
                ("a zero before a decimal", "F9", "extending"): {"epsilon": "05.0"},
                ("a small decimal without its exponent", "F9", "extending"): {"epsilon": "0.00001"},
                ("an exponent of one digit", "F9", "extending"): {"epsilon": "1e-5"},
                ("a decimal that could be shorter", "F9", "extending"): {"epsilon": "0.30000000000000004441"},
                ("an exponent that need not be", "F9", "extending"): {"epsilon": "5e+00"},
                ("a decimal with a sign", "F9", "extending"): {"epsilon": "+5.0"},
                ("a decimal beyond all doubles", "F9", "extending"): {"epsilon": "1e+400"},
                ("no number", "F9", "extending"): {"epsilon": "nan"},
                ("a rate of 0", "F9", "closed"): {"rate": "0.0"},
                ("a rate above 1", "F9", "closed"): {"rate": "1.5"},
                ("no words", "F10", "closed"): {"words": []},
                ("words out of order", "F10", "closed"): {"words": ["cab", "abc"]},
                ("a listed word twice", "F10", "closed"): {"words": ["abc", "abc"]},
                ("a word beyond the depth", "F10", "closed"): {"words": ["abcabcabc"]},
                ("a word with a foreign character", "F10", "closed"): {"words": ["abz"]},
                ("a word with white space", "F10", "closed"): {"alphabet": " ab", "words": ["a b"]},
                ("a word that is not in NFC", "F10", "closed"): {"alphabet": "ae\u0301", "words": ["e\u0301"]},
            }.items()
        ],
        "bytes": [
            wrong_bytes("a space", b":", b": "),
            wrong_bytes("a newline at the end", b"", b"}\n"),
            wrong_bytes("a byte order mark", b"{", b"\xef\xbb\xbf{"),
            wrong_bytes("an escape that need not be", b'"abc"', b'"\\u0061bc"'),
            wrong_bytes("a slash that is escaped", b'"abc"', b'"\\/abc"'),
            wrong_bytes("a key twice", b'"bound":4', b'"bound":4,"bound":4'),
            wrong_bytes("keys out of order", b'"bound":4,"cohort":1000', b'"cohort":1000,"bound":4'),
            wrong_bytes("a number with a fraction", b'"bound":4', b'"bound":4.0'),
            wrong_bytes("a number with an exponent", b'"bound":4', b'"bound":4e0'),
            wrong_bytes("a number with a zero before it", b'"bound":4', b'"bound":04'),
            wrong_bytes("a number with a sign", b'"bound":4', b'"bound":+4'),
            wrong_bytes("no UTF-8", b'"abc"', b'"ab\xff"'),
            wrong_bytes("half of a surrogate pair", b'"abc"', b'"abc\xed\xa0\x80"'),
            wrong_bytes("a document that is cut", b"", b""),
            wrong_bytes("a field that is missing", b'"targets":null,', b""),
        ],
        "known": [
            wrong_list("out of order", b"b\na"),
            wrong_list("in the order of UTF-16", "𐐀\n｡".encode()),
            wrong_list("a word twice", b"a\na"),
            wrong_list("a newline at the end", b"a\n"),
            wrong_list("an empty line", b"\na"),
            wrong_list("another line break", b"a\r\nb"),
            wrong_list("white space around a word", b"a \nb"),
            wrong_list("not in NFC", "e\u0301".encode()),
            wrong_list("no UTF-8", b"a\xff"),
        ],
    }


# What the usual policy refuses


def policy_case(name: str, rule: str, layer: Layer | ClosedLayer, *spent: float, unlogged_lists: bool = True) -> Vector:
    """A layer, and whether a device that knows the operator, and has spent so much before, answers it."""
    policy = Policy(
        operators=frozenset({OPERATOR.public_key().public_bytes_raw()}), allow_unlogged_lists=unlogged_lists
    )
    refused = False
    try:
        policy.check(invite(bytes(16), layer, OPERATOR), sum(map(Fraction, spent), Fraction(0)))
    except PolicyError:
        refused = True
    return {
        "name": name,
        "rule": rule,
        "layer": json.loads(layer.document),
        "spent": [*spent],
        "unlogged_lists": unlogged_lists,
        "refused": refused,
    }


def two_letters(limit: int, prefix_limit: int) -> LikelyLayer:
    """A layer of strings of which each symbol costs 1."""
    alphabet = Alphabet("ab")
    spelling = SpellingCosts(alphabet, ("", "\0"), np.array([0, 0]), ("\0ab", ""), np.array([1, 1, 1]))
    rounds = (RootRound(strings([""]), np.array([0]), np.array([NEVER]), limit, prefix_limit),)
    told = {name: getattr(extending(), name) for name in ("pass_number", "number", "layer_size", "depth", "mechanism")}
    told |= {name: getattr(extending(), name) for name in ("epsilon", "bound", "sampler", "known")}
    return LikelyLayer(alphabet=alphabet, asked=LikelyCandidates(spelling, rounds), **told)


def policy() -> list[Vector]:
    """Layers on both sides of each limit of the usual policy."""
    subsets = {"mechanism": "subset-selection", "extension": 7}
    return [
        policy_case("an extending layer", "P", extending()),
        policy_case("a closed layer", "P", closed()),
        policy_case("an ε of 0.001", "P1", extending(epsilon=0.001)),
        policy_case("an ε below 0.001", "P1", extending(epsilon=0.0009)),
        policy_case("an ε above 20", "P1", extending(epsilon=20.5)),
        policy_case("another randomizer", "P2", extending(mechanism="plain")),
        policy_case("an ε of 10", "P3", extending(epsilon=10.0, extension=11)),
        policy_case("an ε above 10", "P3", extending(epsilon=10.000000000000002, extension=11)),
        policy_case("B·ε of 600", "P4", extending(bound=120)),
        policy_case("B·ε above 600", "P4", extending(bound=121)),
        policy_case("20 in a lifetime", "P5", extending(), 10.0, 5.0),
        policy_case("a little more than 20 in a lifetime", "P5", extending(), 14.9, 0.1, 1e-17),
        policy_case("100 devices", "P6", extending(layer_size=100)),
        policy_case("99 devices", "P6", extending(layer_size=99)),
        policy_case("words of 32 characters", "P7", extending(depth=32)),
        policy_case("words of 33 characters", "P7", extending(depth=33)),
        policy_case("a prefix of 33 characters", "P7", extending(frontier=strings(["a" * 33]), extension=7)),
        policy_case("targets", "P8", extending(targets=frozenset({"abc"}))),
        policy_case("an empty list of targets", "P8", extending(targets=frozenset())),
        policy_case("many candidates", "P9", extending(**subsets | {"extension": 14}, epsilon=9.0)),
        policy_case("too many candidates", "P9", extending(**subsets | {"extension": 16}, epsilon=9.0)),
        policy_case("more candidates than can be counted", "P9", extending(epsilon=10.0, extension=2**31 - 1)),
        policy_case("more likely strings than can be counted", "L8", two_letters(64, 64)),
        policy_case("no candidates", "P9", two_letters(1, 0)),
        policy_case("a report of many bytes", "P10", extending(epsilon=5.0, extension=10)),
        policy_case("a report of too many bytes", "P10", extending(epsilon=2.0, extension=11)),
        policy_case("votes of few bytes", "P11", extending(**subsets, epsilon=1.0, bound=60)),
        policy_case(
            "too many votes of few bytes",
            "P11",
            extending(**subsets | {"extension": 11}, epsilon=1.0, bound=60),
        ),
        policy_case("a vote that says much", "P12", extending(**subsets | {"extension": 11}, epsilon=9.9)),
        policy_case("a vote on a listed word, ε = 4.59", "P12", closed(epsilon=4.59)),
        policy_case("a vote on a listed word, ε = 4.6", "P12", closed(epsilon=4.6)),
        policy_case("silence that says little", "P13", extending(**subsets, epsilon=6.0)),
        policy_case("silence that says much", "P13", extending(**subsets | {"extension": 5}, epsilon=9.0, bound=60)),
        policy_case("3 noise votes", "P14", extending(frontier=strings(["ab", "bc", "ca", "cc"]), extension=4)),
        policy_case("fewer than 3 noise votes", "P14", extending(frontier=strings(["ab", "bc", "ca"]), extension=4)),
        policy_case("a closed list with little noise", "P14", closed(words=strings(["abc", "cab"]))),
        policy_case("a closed list that no log shows", "P16", closed(), unlogged_lists=False),
        policy_case("an open layer that no log shows", "P16", extending(), unlogged_lists=False),
    ]


# Hand-over by file


@dataclass(frozen=True)
class Exchange:
    """A request of a device, and the answer that was carried back."""

    method: str
    path: str
    body: bytes = b""
    status: int = 200
    answer: bytes = b"{}"
    retry_after: str | None = None

    @property
    def request(self) -> HandedRequest:
        """The request, in its file."""
        kind = OCTETS if self.path == "/v1/reports" else JSON
        return HandedRequest(self.method, self.path, self.body, kind)

    @property
    def told(self) -> Vector:
        """The request in a vector."""
        request = self.request
        return {"method": request.method, "path": request.path, "type": request.kind, "body": request.body.hex()}


def handover_case(name: str, carried: list[Exchange], *asked: Exchange) -> Vector:
    """What a step asks for that finds some answers in its file: all but the last, whose request it leaves."""
    answers = {each.request.name: Response(each.status, each.answer, each.retry_after) for each in carried}
    file = {"handover": 1, "answers": answer_items(answers)}
    transport = HandoverTransport(json.dumps(file).encode())
    used = []
    for each in asked[:-1]:
        told = each.request
        answer = transport.request(told.method, told.path, told.body, told.kind, LARGEST_DOCUMENT)
        used.append(
            {**each.told, "status": answer.status, "retry_after": answer.retry_after, "answer": answer.body.hex()}
        )
    last = asked[-1].request
    with suppress(LaterError):
        transport.request(last.method, last.path, last.body, last.kind)
    if transport.pending is None:
        raise ValueError(f"the last request of {name!r} has an answer")
    request = json.loads(bytes(transport.pending))
    return {"name": name, "answers": file, "asked": used, "next": asked[-1].told, "request": request}


def handover() -> list[Vector]:
    """Steps of a device without a network."""
    check_in = Exchange("POST", "/v1/check-in", b'{"credential": "abc"}', answer=b'{"state": "invited"}')
    layer = Exchange("GET", f"/v1/layers/{'ab' * 32}", answer=b"a document")
    known = Exchange("GET", f"/v1/known/{'cd' * 32}", answer=b"")
    tile = Exchange("GET", "/log/tile/0/000.p/3", answer=bytes(range(96)))
    campaign_tile = Exchange("GET", f"/log/campaigns/{'01' * 16}/tile/1/x001/234", answer=bytes(32))
    evidence = Exchange("GET", "/log/evidence", answer=b'{"evidence": []}')
    report = Exchange("POST", "/v1/reports", bytes(range(50)), 503, b"\xff", "70")
    other = replace(check_in, body=b'{"credential": "abd"}')
    return [
        handover_case("nothing was carried", [], check_in),
        handover_case("an invitation with its documents", [check_in, layer, known], check_in, layer, known, report),
        handover_case("a layer that was not carried", [check_in], check_in, layer),
        handover_case("known words that were not carried", [check_in, layer], check_in, layer, known),
        handover_case("one tile behind the other", [check_in, tile], check_in, tile, campaign_tile),
        handover_case("evidence behind tiles", [evidence, tile, check_in], check_in, tile, evidence, layer),
        handover_case("an answer to another request", [other], check_in),
        handover_case("an answer is used once", [check_in], check_in, check_in),
        handover_case("a report that is to come later", [report], report, report),
    ]


FILES: Mapping[str, Callable[[], object]] = {
    "handover.json": handover,
    "counting.json": counting,
    "refusals.json": refusals,
    "policy.json": policy,
}
