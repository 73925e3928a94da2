"""Writes the test vectors in this folder, and what else follows from the code: the schema and the types of a layer.

README.md says what the vectors mean. Run: python vectors/generate.py
"""

import hashlib
import json
import re
import runpy
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from neologue.aggregation.group_outcome import GroupSum
from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.device.contribution import contribute, counting_words, held_prefixes
from neologue.device.masked import Ballot, Identity, Member
from neologue.device.storage.log_record import check_goes_on
from neologue.entropy import Entropy, SeededEntropy
from neologue.errors import DocumentError, LaterError, LogError, SignatureError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, root, strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER, NO_PREFIXES
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm, without_capitals
from neologue.masking.neighbourhood import neighbourhood
from neologue.masking.rules import most_corrupt
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.voucher import Issuers, vouch
from neologue.protocol.canonical import canonical
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import issue
from neologue.protocol.documents import known_document, read_layer
from neologue.protocol.invitation import invite
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.protocol.layer_fields import LAYER_KINDS, PROTOCOL_VERSION, LayerKind, document_schema, fields_of
from neologue.protocol.report import read_report
from neologue.protocol.slot import slot
from neologue.protocol.submission import Submission
from neologue.protocol.succession import (
    KeyHistory,
    Link,
    Revocation,
    Succession,
    recovery_digest,
    revoke,
    succeed,
)
from neologue.protocol.ticket import ticket
from neologue.randomizers.binomial import enclose
from neologue.randomizers.expansion import base_subsets
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin
from neologue.transparency.evidence import binding_of
from neologue.transparency.inclusion_proof import InclusionProof, TreeProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import prove_inclusion, tree_root
from neologue.transparency.signed_note import Cosignature, cosigned_message
from neologue.transparency.tiles import subtrees_of_entries, tiles_of

HERE = Path(__file__).parent
ROOT = HERE.parent
Vector = dict[str, Any]

HUNDRED = string.ascii_letters + "".join(map(chr, range(0x410, 0x440)))
"""Latin and Cyrillic letters: with two more symbols after the first, 1,010,100 candidates."""


class Recorded(Entropy):
    """Gives out the scripted words first and seeded ones after them, and remembers all that it gave."""

    def __init__(self, seed: int, *script: int) -> None:
        self._source = SeededEntropy(seed)
        self._script = list(script)
        self.given: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next words, from the script as long as it lasts."""
        taken, self._script = self._script[:count], self._script[count:]
        taken += self._source.words(count - len(taken)).tolist()
        self.given += taken
        return np.array(taken, np.uint64)

    @property
    def hex(self) -> str:
        """All words given out, 8 bytes each, little-endian."""
        return b"".join(word.to_bytes(8, "little") for word in self.given).hex()


# Forms of words


def form_case(name: str, alphabet: Alphabet, case: str, punctuation: str, typed: list[str]) -> Vector:
    """What becomes of words that are typed."""
    folded = without_capitals(alphabet) if case == "fold" else alphabet
    form = WordForm.chosen(case, punctuation, folded)
    return {
        "name": name,
        "alphabet": alphabet.characters,
        "case": case,
        "punctuation": punctuation,
        "replaced": form.replaced,
        "stripped": form.stripped,
        "words": [{"typed": word, "form": form.of(word)} for word in typed],
    }


def forms() -> list[Vector]:
    """Vectors of forms."""
    english, turkish = Alphabet.named("en"), Alphabet("abcçdefgğhıijklmnoöprsştuüvyzABCÇDEFGĞHIİJKLMNOÖPRSŞTUÜVYZ'")
    greek = Alphabet("αάβγδεέλοόσςτΑΆΒΓΔΕΈΛΟΌΣΤ")
    signs = [
        "yeet",
        "Yeet",
        "YEET",
        "yeet.",
        "“Yeet!”",
        " yeet\u3000",
        "#yeet",
        "¡yeet!",
        "(yeet)…",
        "yeet😂",
        "❤\ufe0f",
    ]
    inner = [
        "don’t",
        "DON'T",
        "'tis",
        "goin’",
        "dogs'",
        "co‑op",
        "pre-",
        "U.S.",
        "p.m.",
        "_",
        "—",
        "and/or",
        "",
        " - '",
    ]
    marks = [
        "CAFÉ",
        "cafe\u0301",
        "Straße",
        "STRASSE",
        "GROẞ",
        "NAÏVE",
        "J\u030c",
        "ŒUVRE",
        "Ÿ",
        "ﬁ",
        "ſ",
        "\u212a",
        "Ⅷ",
    ]
    return [
        form_case("English", english, "fold", "strip", [*signs, *inner, *marks, "I", "İ", "iPhone", "𐐀", "1st", "Ω"]),
        form_case("English with emoji", Alphabet.named("en+emoji"), "fold", "strip", [*signs, "🤷\u200d♀\ufe0f!"]),
        form_case("case alone", english, "fold", "keep", [*signs, *inner]),
        form_case("punctuation alone", english, "keep", "strip", [*signs, *inner, *marks]),
        form_case("as typed", english, "keep", "keep", [*signs, *inner, *marks]),
        form_case("the alphabet has signs", Alphabet.named("ascii"), "fold", "strip", [*signs, *inner]),
        form_case("an I without a dot", turkish, "fold", "strip", ["I", "İ", "ISPARTA’DA", "İzmir", "ı", "i"]),
        form_case("a sigma at the end", greek, "fold", "strip", ["ΛΟΓΟΣ", "λόγος", "Σ", "ς", "λόγος·", "λόγος;"]),
    ]


# Candidates


def candidate_case(
    name: str,
    alphabet: Alphabet,
    frontier: list[str],
    extension: int,
    words: list[str],
) -> Vector:
    """Where each word falls, and what some candidates stand for."""
    candidates = Candidates(alphabet, strings(frontier), extension)
    index = candidates.index(strings(words)).tolist()
    shown = sorted({0, 1, candidates.size // 2, candidates.size - 1, *(place for place in index if place >= 0)})
    prefixes, ended = candidates.prefixes(np.array(shown))
    return {
        "name": name,
        "alphabet": alphabet.characters,
        "frontier": frontier,
        "extension": extension,
        "size": candidates.size,
        "words": [{"word": w, "candidate": None if i < 0 else i} for w, i in zip(words, index, strict=True)],
        "candidates": [
            {"candidate": i, "prefix": p, "ends": e}
            for i, p, e in zip(shown, prefixes.tolist(), ended.tolist(), strict=True)
        ],
    }


def candidates() -> list[Vector]:
    """Vectors of words and candidates."""
    ab, hundred = Alphabet("ab"), Alphabet(HUNDRED)
    wide = Alphabet("aé｡𐐀")
    return [
        candidate_case("first layer", ab, ["a", "b"], 1, ["a", "aa", "aab", "ab", "abba", "b", "ba", "bb", "c", "ac"]),
        candidate_case(
            "two symbols more", ab, ["ab", "bb"], 2, ["a", "ab", "aba", "abaa", "ababb", "bb", "bbb", "bbba"]
        ),
        candidate_case(
            "order by code point, not by UTF-16 unit", wide, ["a｡", "a𐐀"], 1, ["a｡", "a｡𐐀", "a𐐀｡", "a𐐀𐐀é", "aé", "𐐀"]
        ),
        candidate_case(
            "large",
            hundred,
            sorted(hundred.characters),
            2,
            ["A", "Az", "zzzz", "hello", "Ёж", "да", "нет", "xЯa", "яяя", "q"],
        ),
    ]


# Unary


def unary_case(name: str, unary: Unary, held: list[int], entropy: Recorded) -> Vector:
    """One report and the randomness that went into it."""
    report = unary.randomize(np.array(held, np.int64), entropy)
    return {
        "name": name,
        "candidates": unary.candidates,
        "epsilon": unary.epsilon,
        "bound": unary.bound,
        "noise": str(unary.noise),
        "remainder_bits": unary.code.remainder_bits,
        "usual_bytes": unary.code.usual_bytes,
        "held": held,
        "entropy": entropy.hex,
        "positions": report.positions.tolist(),
        "payload": unary.encode(report).hex(),
    }


def undecided(unary: Unary) -> list[int]:
    """128 bits that lie right at a boundary of the distribution function, as two words."""
    bounds = enclose(unary.candidates, unary.noise, 256)
    boundary = next(lower for lower in bounds.lower if lower >> 255) >> 128
    return [boundary & (1 << 64) - 1, boundary >> 64]


def unary() -> list[Vector]:
    """Vectors of unary reports."""
    small, dense, middle = Unary(5, 1.0, 2), Unary(20, 0.1, 3), Unary(300, 3.0, 5)
    rare, large = Unary(2000, 10.0, 5), Unary(1_000_000, 10.0, 60)
    return [
        unary_case("nothing held", small, [], Recorded(1)),
        unary_case("two held", small, [0, 3], Recorded(2)),
        unary_case("held in no order", small, [4, 1], Recorded(3)),
        unary_case("more than half of the bits set", dense, [7], Recorded(4, 0, 0xF800_0000_0000_0000)),
        unary_case("middle", middle, [3, 77, 120, 298, 299], Recorded(5)),
        unary_case("128 bits do not decide", middle, [150], Recorded(6, *undecided(middle))),
        unary_case("longer than usual", rare, [1, 2, 3], Recorded(7, *[(1 << 64) - 1] * 8)),
        unary_case("large", large, list(range(0, 1_000_000, 16_667)), Recorded(8)),
    ]


# Subset Selection


def expansion_case(name: str, seed: bytes, domain: int, rows: int, size: int) -> Vector:
    """The base subsets of a seed."""
    subsets = base_subsets(seed, domain, rows, size).tolist()
    return {"name": name, "seed": seed.hex(), "domain": domain, "rows": rows, "size": size, "subsets": subsets}


def selection_case(name: str, selection: SubsetSelection, held: list[int], entropy: Recorded) -> Vector:
    """One report, the randomness that went into it, and its votes."""
    report = selection.randomize(np.array(held, np.int64), entropy)
    return {
        "name": name,
        "candidates": selection.candidates,
        "epsilon": selection.epsilon,
        "bound": selection.bound,
        "domain": selection.domain,
        "subset_size": selection.subset_size,
        "truth": str(selection.truth),
        "held": held,
        "entropy": entropy.hex,
        "seed": report.seed.hex(),
        "offsets": report.offsets.tolist(),
        "payload": selection.encode(report).hex(),
        "votes": selection.votes(report).tolist(),
    }


def subset_selection() -> Vector:
    """Vectors of base subsets and of Subset Selection reports."""
    seeds = [bytes(range(first, first + 16)) for first in range(5)]
    large = SubsetSelection(1_000_000, 10.0, 6)
    return {
        "expansions": [
            expansion_case("one value each", seeds[0], 5, 4, 1),
            expansion_case("with repeats", seeds[1], 7, 3, 4),
            expansion_case("words passed over", seeds[2], 3 << 30, 1, 70),
            expansion_case("large", seeds[3], 1_000_001, 3, 46),
        ],
        "reports": [
            selection_case("nothing held", SubsetSelection(4, 1.0, 2), [], Recorded(11)),
            selection_case("two held", SubsetSelection(4, 1.0, 2), [0, 3], Recorded(12)),
            # The first two words, the keys of the order, are equal and are drawn again.
            selection_case("equal keys", SubsetSelection(4, 2.0, 2), [1, 2], Recorded(13, 5, 5)),
            selection_case("middle", SubsetSelection(300, 3.0, 5), [3, 77, 299], Recorded(14)),
            selection_case("large", large, [0, 17, 999_999], Recorded(15)),
        ],
    }


# Whole reports


def told(layer: Layer) -> Vector:
    """What a device is told of a layer: the object whose canonical form is digested."""
    return {
        "version": PROTOCOL_VERSION,
        "pass": layer.pass_number,
        "layer": layer.number,
        "cohort": layer.layer_size,
        "alphabet": layer.alphabet.characters,
        "frontier": layer.frontier.tolist(),
        "extension": layer.extension,
        "depth": layer.depth,
        "randomizer": layer.mechanism,
        "epsilon": repr(layer.epsilon),
        "bound": layer.bound,
        "sampler": layer.sampler,
        "known": layer.known.digest,
        "found": sorted(layer.found.words),
        "replaced": layer.form.replaced,
        "stripped": layer.form.stripped,
        "targets": None if layer.targets is None else sorted(layer.targets),
    }


def report_case(name: str, layer: Layer, words: Mapping[str, int], entropy: Recorded) -> Vector:
    """A report from the words of a device to its bytes and votes."""
    prefixes, times = held_prefixes(words, layer)
    report = contribute(words, layer, entropy)
    return {
        "name": name,
        "layer": told(layer) if isinstance(layer, ExtendingLayer) else json.loads(layer.document),
        "known_words": sorted(layer.known.words),
        "digest": layer.digest.hex(),
        "words": dict(words),
        "prefixes": prefixes.tolist(),
        "times": times.tolist(),
        "entropy": entropy.hex,
        "report": report.hex(),
        "votes": read_report(layer, report).tolist(),
    }


def reports() -> list[Vector]:
    """Vectors of whole reports."""

    def layer(mechanism: str, sampler: str = "greedy", **changes: Any) -> Layer:  # noqa: ANN401
        settings: dict[str, Any] = {
            "pass_number": 1,
            "number": 2,
            "layer_size": 1000,
            "alphabet": Alphabet("abcdefé"),
            "frontier": strings(["ab", "be", "fa"]),
            "extension": 1,
            "depth": 6,
            "epsilon": 4.0,
            "bound": 3,
            "known": Vocabulary(["bed", "fade"]),
        }
        return ExtendingLayer(mechanism=mechanism, sampler=sampler, **settings | changes)

    typed = {"bead": 2, "beaded": 1, "bed": 9, "abc": 1, "fa": 4, "face": 1, "be\u0301e": 3, "faceless": 7, " be ": 1}
    hundred = Alphabet(HUNDRED)
    large = layer(
        "unary",
        alphabet=hundred,
        frontier=root(hundred),
        extension=2,
        epsilon=10.0,
        bound=60,
        number=1,
        layer_size=500_000,
    )
    return [
        report_case("unary, no words", layer("unary"), {}, Recorded(21)),
        report_case("unary, greedy", layer("unary"), typed, Recorded(22)),
        report_case("unary, random", layer("unary", "random", found=Vocabulary(["abc"])), typed, Recorded(23)),
        report_case("subset selection, no words", layer("subset-selection"), {}, Recorded(24)),
        report_case(
            "subset selection, targets",
            layer("subset-selection", "random", targets=frozenset({"bead", "fa", "é"})),
            typed,
            Recorded(25),
        ),
        report_case(
            "unary, words in a form",
            layer("unary", form=WordForm("AaBbDdÉé’e", "!/“”")),
            {"Bead": 2, "bead!": 1, "“BEAD”": 4, "Be\u0301e": 1, "b’ad": 1, "FACE": 3, "!": 1, "Bed": 5},
            Recorded(30),
        ),
        report_case("large", large, {"hello": 3, "да": 1, "нет": 2, "A": 1, "bed": 5}, Recorded(26)),
    ]


# Reports on a closed list


def told_closed(layer: ClosedLayer) -> Vector:
    """What a device is told of a closed layer."""
    return {
        "version": PROTOCOL_VERSION,
        "cohort": layer.layer_size,
        "alphabet": layer.alphabet.characters,
        "words": layer.words.tolist(),
        "depth": layer.depth,
        "randomizer": layer.mechanism,
        "epsilon": repr(layer.epsilon),
        "bound": layer.bound,
        "known": layer.known.digest,
        "targets": None if layer.targets is None else sorted(layer.targets),
        "rate": repr(layer.rate),
        "replaced": layer.form.replaced,
        "stripped": layer.form.stripped,
    }


def closed_case(name: str, layer: ClosedLayer, words: Mapping[str, int], entropy: Recorded) -> Vector:
    """A report on a closed list, from the words of a device to its bytes and votes."""
    report = contribute(words, layer, entropy)
    return {
        "name": name,
        "layer": told_closed(layer),
        "known_words": sorted(layer.known.words),
        "digest": layer.digest.hex(),
        "words": dict(words),
        "counting": sorted(counting_words(words, layer)),
        "entropy": entropy.hex,
        "report": report.hex(),
        "votes": read_report(layer, report).tolist(),
    }


def closed() -> list[Vector]:
    """Vectors of reports on a closed list."""

    def layer(mechanism: str, **changes: Any) -> ClosedLayer:  # noqa: ANN401
        settings: dict[str, Any] = {
            "layer_size": 1000,
            "alphabet": Alphabet("abcdefé"),
            "words": strings(["bead", "bée", "fa"]),
            "depth": 6,
            "epsilon": 4.0,
            "bound": 3,
            "known": Vocabulary(["bed", "fade"]),
        }
        return ClosedLayer(mechanism=mechanism, **settings | changes)

    typed = {"bead": 2, "beaded": 1, "bed": 9, "abc": 1, "fa": 4, "be\u0301e": 3, "faceless": 7, " be ": 1}
    few = {"bead": 1, "abc": 1}
    return [
        closed_case("unary, no words", layer("unary"), {}, Recorded(31)),
        closed_case("unary, room for all", layer("unary"), few, Recorded(32)),
        closed_case("unary, too many words", layer("unary"), typed, Recorded(33)),
        closed_case("unary, half of the words", layer("unary", rate=0.5), typed, Recorded(34)),
        closed_case("subset selection, no words", layer("subset-selection"), {}, Recorded(35)),
        closed_case("subset selection, others twice", layer("subset-selection"), {"abc": 1, "be": 1}, Recorded(36)),
        closed_case(
            "subset selection, targets",
            layer("subset-selection", targets=frozenset({"bed", "fa"})),
            typed,
            Recorded(37),
        ),
    ]


# Likely strings


def wide_spelling() -> SpellingCosts:
    """A model with contexts of every length, whose alphabet has another order in UTF-16."""
    listed: dict[str, tuple[int, dict[str, int]]] = {
        "": (0, {"\0": 6, "a": 5, "é": 18, "｡": 9, "𐐀": 11}),
        "\0": (3, {"a": 4, "𐐀": 7}),
        "a": (2, {"\0": 5, "｡": 6, "𐐀": 4}),
        "｡": (0, {"a": 3}),
        "𐐀": (5, {}),
        "\0a": (1, {"｡": 7, "𐐀": 3}),
        "a𐐀": (4, {"\0": 2, "a": 9}),
        "\0a𐐀": (2, {"\0": 3}),
    }
    return spelling_of(Alphabet("aé｡𐐀"), listed)


def spelling_of(alphabet: Alphabet, listed: Mapping[str, tuple[int, Mapping[str, int]]]) -> SpellingCosts:
    """The model in which each context has a back-off and lists symbols with their costs."""
    return SpellingCosts(
        alphabet,
        tuple(listed),
        np.array([backoff for backoff, _ in listed.values()]),
        tuple("".join(costs) for _, costs in listed.values()),
        np.array([cost for _, costs in listed.values() for cost in costs.values()]),
    )


def round_of(
    roots: Mapping[str, tuple[int, int]], limit: int, prefix_limit: int | None = None, again: int = 0
) -> RootRound:
    """A round whose roots have these costs and even costs; prefixes may cost as much as words if nothing is said."""
    costs, even_costs = np.array([*roots.values()], np.int64).reshape(-1, 2).T
    return RootRound(
        strings([*roots]), costs, even_costs, limit, limit if prefix_limit is None else prefix_limit, again
    )


def likely_layer(asked: LikelyCandidates, mechanism: str = "unary", **changes: Any) -> LikelyLayer:  # noqa: ANN401
    """A layer that asks about these candidates."""
    settings: dict[str, Any] = {
        "pass_number": 1,
        "number": len(asked.rounds),
        "layer_size": 1000,
        "depth": 6,
        "epsilon": 4.0,
        "bound": 3,
        "sampler": "greedy",
        "known": Vocabulary(["a", "｡｡"]),
    }
    return LikelyLayer(alphabet=asked.alphabet, asked=asked, mechanism=mechanism, **settings | changes)


def likely_case(name: str, layer: LikelyLayer, words: list[str]) -> Vector:
    """Where each word falls, and what some candidates stand for."""
    asked = layer.candidates
    index = asked.index(strings(words)).tolist()
    ends = asked.starts.tolist()
    shown = sorted(
        {place for place in (0, 1, 2, asked.size // 2, *ends, *(end - 1 for end in ends)) if 0 <= place < asked.size}
    )
    texts, ended = asked.prefixes(np.array(shown, np.int64))
    return {
        "name": name,
        "layer": json.loads(layer.document),
        "digest": layer.digest.hex(),
        "sizes": np.diff(asked.starts).tolist(),
        "words": [{"word": w, "candidate": None if i < 0 else i} for w, i in zip(words, index, strict=True)],
        "candidates": [
            {"candidate": i, "prefix": p, "ends": e}
            for i, p, e in zip(shown, texts.tolist(), ended.tolist(), strict=True)
        ],
    }


def refusal_case(name: str, layer: LikelyLayer, change: Vector) -> Vector:
    """A document that is wrong in some fields, and what Python says of it."""
    try:
        read_layer(canonical(json.loads(layer.document) | change), layer.known)
    except DocumentError as error:
        return {"name": name, "rule": ROUND_RULES[name], "change": change, "error": str(error)}
    raise ValueError(f"nothing is wrong with the document {name!r}")


def likely() -> Vector:
    """Vectors of likely strings: models, rounds, numbering, reports, and documents that are refused."""
    wide = wide_spelling()
    plain = spelling_of(Alphabet("ab"), {"": (0, {"\0": 2, "a": 1, "b": 3}), "\0": (1, {"b": 1})})
    never = {"": (0, NEVER)}
    words = [
        *("a", "é", "｡", "𐐀", "aa", "aé", "a｡", "a𐐀", "éa", "｡a", "｡｡", "𐐀a", "𐐀𐐀", "a｡a", "a𐐀a", "a𐐀é", "a𐐀｡", "a𐐀𐐀"),
        *("｡aa", "｡a𐐀", "𐐀a𐐀", "a｡aa", "a｡a𐐀", "a𐐀aa", "a𐐀a｡", "a𐐀a𐐀", "a𐐀éa", "aéa｡a", "a𐐀a𐐀a𐐀", "a𐐀a𐐀a𐐀a", "éééééé"),
        *("aéaa", "aéaaa𐐀", "aéa｡a", "aéé", "a𐐀｡é", "a𐐀｡𐐀", "｡｡é𐐀a", "｡｡é｡a", "b", "ab", "a𐐀b", "a𐐀ab", ""),
    ]
    first, second = round_of(never, 24, 20), {"": (9, 21), "a": (4, 14), "a𐐀": (6, 15), "a𐐀a": (12, 30), "｡": (9, 13)}
    third = {"a": (9, 18), "aéa": (8, 13), "a𐐀": (4, 30), "a𐐀｡": (8, 14), "｡｡": (5, 8)}
    two = LikelyCandidates(wide, (replace(first, again=12), round_of(second, 28, 24)))
    three = (replace(first, again=24), round_of(second, 28, 24, 17), round_of(third, 30, 24))
    words_alone = replace(first, prefix_limit=NO_PREFIXES)
    few = ["a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "baa", "baaa", "bab", "bba", "c"]
    layers = {
        "two contexts, one round": likely_layer(LikelyCandidates(plain, (round_of(never, 4),))),
        "two contexts, fewer prefixes": likely_layer(LikelyCandidates(plain, (round_of(never, 6, 3),))),
        "first round": likely_layer(LikelyCandidates(wide, (round_of(never, 20),))),
        "first round, fewer prefixes": likely_layer(LikelyCandidates(wide, (first,))),
        "first round, words alone": likely_layer(LikelyCandidates(wide, (words_alone,))),
        "second round, nested roots, one kept again, some words asked again": likely_layer(two),
        "third round, no escapes": likely_layer(
            LikelyCandidates(wide, (*three[:2], replace(three[2], prefix_limit=NO_PREFIXES)))
        ),
        "third round, first words not asked again": likely_layer(
            LikelyCandidates(wide, (first, *three[1:])), found=Vocabulary(["𐐀", "a𐐀"])
        ),
        "an empty round": likely_layer(LikelyCandidates(wide, (three[0], round_of({}, 5)))),
    }
    typed = {"a": 9, "a𐐀": 2, "a𐐀é": 1, "a𐐀a𐐀a𐐀": 3, "a𐐀a𐐀a𐐀a": 7, "e\u0301a": 4, " ｡a ": 1, "｡｡": 5, "b": 8, "𐐀": 2}
    latest = LikelyCandidates(wide, three)
    return {
        "layers": [
            likely_case(name, layer, words if layer.alphabet == wide.alphabet else few)
            for name, layer in layers.items()
        ],
        "reports": [
            report_case("unary, no words", likely_layer(two), {}, Recorded(41)),
            report_case("unary, greedy", likely_layer(two), typed, Recorded(42)),
            report_case("unary, random", likely_layer(latest, sampler="random", bound=2), typed, Recorded(43)),
            report_case(
                "subset selection, found words",
                likely_layer(latest, "subset-selection", found=Vocabulary(["a𐐀"])),
                typed,
                Recorded(44),
            ),
        ],
        "refused": {
            "name": "documents of which nothing is computed",
            "layer": json.loads(likely_layer(two).document),
            "cases": [refusal_case(name, likely_layer(two), change) for name, change in wrong_rounds(two).items()],
        },
    }


def wrong_rounds(asked: LikelyCandidates) -> dict[str, Vector]:
    """What is wrong with some documents: the fields that they have instead."""
    spelling, (first, second) = asked.spelling, asked.rounds
    contexts, symbols, costs, backoffs = (
        [*spelling.contexts],
        [*spelling.symbols],
        spelling.costs.tolist(),
        spelling.backoffs.tolist(),
    )
    roots = second.prefixes.tolist()
    return {
        "a back-off too few": {"backoffs": backoffs[:-1]},
        "a back-off above 1024": {"backoffs": [*backoffs[:-1], 1025]},
        "a back-off of the first context": {"backoffs": [1, *backoffs[1:]]},
        "a cost too many": {"costs": [*costs, 1]},
        "a cost of 0": {"costs": [0, *costs[1:]]},
        "a cost above 1024": {"costs": [1025, *costs[1:]]},
        "contexts in the order of UTF-16": {"contexts": [*contexts[:3], contexts[4], contexts[3], *contexts[5:]]},
        "no context for the beginning": {
            "contexts": contexts[:1],
            "backoffs": backoffs[:1],
            "symbols": symbols[:1],
            "costs": costs[:5],
        },
        "not every symbol after the first context": {"symbols": [symbols[0][1:], *symbols[1:]], "costs": costs[1:]},
        "a context of four symbols": longer_by(asked, "\0a𐐀a"),
        "a boundary inside a context": longer_by(asked, "a\0"),
        "a foreign character in a context": longer_by(asked, "ab"),
        "a context whose ending is none": longer_by(asked, "aé"),
        "a context whose last symbol is not listed": longer_by(asked, "𐐀a"),
        "a foreign symbol": {"symbols": [*symbols[:-1], "b"]},
        "symbols in no order": {"symbols": [*symbols[:2], "｡\0𐐀", *symbols[3:]]},
        "no rounds like the others": {"limits": [20]},
        "a first root that is not the beginning": {"roots": [["a"], roots]},
        "roots in no order": {"roots": [[""], roots[::-1]]},
        "a foreign root": {"roots": [[""], [*roots[:-1], "｡b"]]},
        "a root that was not asked about": {"roots": [[""], [*roots[:-1], "｡é"]]},
        "a cost too few of roots": {"root_costs": [[0], second.costs.tolist()[1:]]},
        "a root's cost above 16384": {"root_costs": [[0], [16385, *second.costs.tolist()[1:]]]},
        "an even cost of 0": {"even_costs": [[0], second.even_costs.tolist()]},
        "a limit for which there is no room": {"limits": [first.limit, 16384]},
        "prefixes that may cost more than words": {"prefix_limits": [first.limit + 1, second.prefix_limit]},
        "roots behind a round without prefixes": {"prefix_limits": [0, second.prefix_limit]},
        "words of the last round asked again": {"again": [0, 1]},
        "words asked again that were not asked": {"again": [first.limit + 1, 0]},
        "roots beyond the depth": {"depth": 2},
        "more than 32 rounds": {
            "roots": [[""], *[[]] * 32],
            "root_costs": [[0], *[[]] * 32],
            "even_costs": [[NEVER], *[[]] * 32],
            "limits": [first.limit, *[0] * 32],
            "prefix_limits": [first.prefix_limit, *[0] * 32],
            "again": [0] * 33,
        },
        "a limit that is no number": {"prefix_limits": [True, second.prefix_limit]},
    }


ROUND_RULES: Mapping[str, str] = {
    "a back-off too few": "F11",
    "a back-off above 1024": "F12",
    "a back-off of the first context": "F12",
    "a cost too many": "F11",
    "a cost of 0": "F12",
    "a cost above 1024": "F12",
    "contexts in the order of UTF-16": "F11",
    "no context for the beginning": "F11",
    "not every symbol after the first context": "F11",
    "a context of four symbols": "F11",
    "a boundary inside a context": "F11",
    "a foreign character in a context": "F11",
    "a context whose ending is none": "F11",
    "a context whose last symbol is not listed": "F11",
    "a foreign symbol": "F11",
    "symbols in no order": "F11",
    "no rounds like the others": "F14",
    "a first root that is not the beginning": "F14",
    "roots in no order": "F15",
    "a foreign root": "F15",
    "a root that was not asked about": "F19",
    "a cost too few of roots": "F15",
    "a root's cost above 16384": "F16",
    "an even cost of 0": "F16",
    "a limit for which there is no room": "F17",
    "words of the last round asked again": "F18",
    "words asked again that were not asked": "F18",
    "roots beyond the depth": "F15",
    "more than 32 rounds": "F14",
    "a limit that is no number": "F2",
    "prefixes that may cost more than words": "F17",
    "roots behind a round without prefixes": "F19",
}
"""The rules of docs/protocol.md that wrong rounds break."""


def longer_by(asked: LikelyCandidates, *contexts: str) -> Vector:
    """The model with more contexts, which list nothing, in their order."""
    spelling = asked.spelling
    backoff_of = dict(zip(spelling.contexts, spelling.backoffs.tolist(), strict=True))
    ends = np.cumsum([len(symbols) for symbols in spelling.symbols]).tolist()
    lists = {
        context: (symbols, spelling.costs[end - len(symbols) : end].tolist())
        for context, symbols, end in zip(spelling.contexts, spelling.symbols, ends, strict=True)
    }
    every = sorted({*spelling.contexts, *contexts}, key=lambda context: (len(context), context))
    return {
        "contexts": every,
        "backoffs": [backoff_of.get(context, 0) for context in every],
        "symbols": [lists.get(context, ("", []))[0] for context in every],
        "costs": [cost for context in every for cost in lists.get(context, ("", []))[1]],
    }


# What a device fetches, shows and sends


def document_case(name: str, layer: Layer | ClosedLayer) -> Vector:
    """The document of a layer and its list of known words, as they are fetched, and invitations to answer it."""
    operator, campaign, promise = (
        Ed25519PrivateKey.from_private_bytes(bytes(range(32))),
        bytes(range(16)),
        Promise(70, 20, 23, (bytes(range(32)), bytes(range(32, 64)))),
    )
    return {
        "name": name,
        "document": layer.document.hex(),
        "digest": layer.digest.hex(),
        "known_document": known_document(layer.known).hex(),
        "known_digest": layer.known.digest,
        "campaign": campaign.hex(),
        "operator_private_key": operator.private_bytes_raw().hex(),
        "operator": operator.public_key().public_bytes_raw().hex(),
        "signature": invite(campaign, layer, operator).signature.hex(),
        "masked": bytes(promise).hex(),
        "masked_signature": invite(campaign, layer, operator, promise).signature.hex(),
    }


def documents() -> list[Vector]:
    """Vectors of documents."""
    settings: dict[str, Any] = {
        "layer_size": 1000,
        "alphabet": Alphabet('"\\\t\x1f\x7faé𐐀'),
        "depth": 6,
        "mechanism": "unary",
        "bound": 3,
        "known": Vocabulary(["bed", "é", "𐐀", "｡"]),
    }
    open_settings: dict[str, Any] = settings | {"pass_number": 1, "number": 2, "extension": 1, "sampler": "random"}
    return [
        document_case(
            "what is escaped, and what is not",
            ExtendingLayer(**open_settings, frontier=strings(["\t", '"', "\\", "\x7f", "é"]), epsilon=0.1),
        ),
        document_case(
            "found words, targets, a form",
            ExtendingLayer(
                **open_settings,
                form=WordForm("AaÉé", '!"𐐁𐐂'),
                frontier=strings(["aa", "aé"]),
                epsilon=10.0,
                found=Vocabulary(["𐐀", "｡"]),
                targets=frozenset({"a", "é"}),
            ),
        ),
        document_case(
            "nothing known",
            ExtendingLayer(**open_settings | {"known": Vocabulary.empty()}, frontier=strings(["a"]), epsilon=1.5),
        ),
        document_case("closed", ClosedLayer(**settings, words=strings(["a", "aé", "𐐀"]), epsilon=7.25, rate=0.001)),
    ]


def identity_case(name: str, number: int) -> Vector:
    """A credential, the ticket and the slot of its device, and the body in which it sends a report."""
    issuer = Ed25519PrivateKey.from_private_bytes(bytes(range(number, number + 32)))
    campaign, serial = bytes(range(16)), bytes(range(number, number + 16))
    ticket_secret, slot_secret, digest = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
    credential, report = issue(campaign, issuer, serial), bytes([PROTOCOL_VERSION]) + digest[:8] + b"payload"
    given = ticket(ticket_secret, campaign, digest, serial)
    return {
        "name": name,
        "issuer_private_key": issuer.private_bytes_raw().hex(),
        "issuer": issuer.public_key().public_bytes_raw().hex(),
        "campaign": campaign.hex(),
        "serial": serial.hex(),
        "credential": credential.text,
        "layer": digest.hex(),
        "ticket_secret": ticket_secret.hex(),
        "ticket": given.hex(),
        "slot_secret": slot_secret.hex(),
        "slot": str(slot(slot_secret, serial)),
        "report": report.hex(),
        "body": bytes(Submission(campaign, serial, given, report)).hex(),
    }


def identities() -> list[Vector]:
    """Vectors of credentials, tickets, slots and submissions."""
    return [identity_case("one device", 0), identity_case("another", 100)]


# Secure aggregation


# How keys are replaced


def key_pair(number: int) -> Ed25519PrivateKey:
    """The key with a number."""
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


def raw(number: int) -> bytes:
    """Its public key."""
    return key_pair(number).public_key().public_bytes_raw()


def succession_case(name: str, documents: list[list[Link]], pinned: int = 1, recovery: int | None = 9) -> Vector:
    """What a device trusts that pins a key and perhaps a recovery key, and is shown documents one after the other."""
    digest = None if recovery is None else recovery_digest(raw(recovery))
    history, shown = KeyHistory(), []
    for links in documents:
        document = b"".join(map(bytes, links))
        try:
            history = history.learn(document, {raw(pinned): digest})
            refused = False
        except SignatureError:
            refused = True
        path = history.path(raw(pinned), digest)
        shown.append({"document": document.hex(), "refused": refused, "path": [key.hex() for key in path]})
    return {
        "name": name,
        "pinned": raw(pinned).hex(),
        "recovery": None if digest is None else digest.hex(),
        "shown": shown,
    }


def succession() -> Vector:
    """Successions and revocations: keys 1 to 5 are operators', 9 is the recovery key, 7 is a thief's."""

    def named(old: int, new: int) -> Succession:
        return succeed(key_pair(old), raw(new))

    def revoked(old: int, new: int, by: int = 9) -> Revocation:
        return revoke(key_pair(by), raw(old), raw(new))

    forged = replace(named(1, 2), signature=bytes(64))
    stranger = replace(revoked(1, 7, by=7), signature=bytes(64))
    return {
        "private_keys": {str(number): key_pair(number).private_bytes_raw().hex() for number in (1, 2, 3, 4, 5, 7, 9)},
        "succession": bytes(named(1, 2)).hex(),
        "revocation": bytes(revoked(1, 2)).hex(),
        "cases": [
            succession_case("nothing was replaced", [[]]),
            succession_case("two successions", [[named(1, 2), named(2, 3)]]),
            succession_case("one after the other", [[named(1, 2)], [named(1, 2), named(2, 3)]]),
            succession_case("the newest is pinned", [[named(1, 2), named(2, 3)]], pinned=3),
            succession_case("a document that leaves out what is known", [[named(1, 2)], []]),
            succession_case("a thief comes second", [[named(1, 2)], [named(1, 7)]]),
            succession_case("a thief comes first", [[named(1, 7)], [named(1, 2)]]),
            succession_case("a thief comes first, and is revoked", [[named(1, 7)], [named(1, 2), revoked(1, 2)]]),
            succession_case("a thief after the revocation", [[revoked(1, 2)], [named(1, 7)]]),
            succession_case("revoked and rotated", [[named(1, 2), revoked(2, 3), named(3, 4)]]),
            succession_case("a revocation that is shown again", [[revoked(1, 2), named(2, 3)], [revoked(1, 2)]]),
            succession_case("a revocation without a pin", [[revoked(1, 2)]], recovery=None),
            succession_case("a revocation by another key", [[revoked(1, 7, by=7)]]),
            succession_case("revoked before it was met", [[revoked(2, 3)], [named(1, 2)]]),
            succession_case("back to the first", [[named(1, 2), named(2, 1)]]),
            succession_case("a circle of revocations", [[revoked(1, 2), revoked(2, 1)]]),
            succession_case("keys of somebody else", [[named(4, 5), named(5, 7)]]),
            succession_case("a forged signature", [[forged, named(2, 3)]]),
            succession_case("a forged link that changes nothing", [[named(1, 2)], [forged, named(2, 3)]]),
            succession_case("a forged link behind one of the same key", [[named(1, 2), forged]]),
            succession_case("a forged revocation by another key", [[stranger, named(1, 2)]]),
            succession_case("a second successor by the recovery key", [[revoked(1, 2)], [revoked(1, 3)]]),
        ],
    }


class VectorLog:
    """An operator's log with the tree of one campaign; keys 10 to 12 are its witnesses', 8 is its own."""

    campaign = bytes(range(16))

    def __init__(self, before: int, layers: list[LogEntry]) -> None:
        entries = [bytes(LogEntry(Deed.KNOWN, bytes([number % 256]) * 32)) for number in range(before)]
        self.trees = [[*entries, *map(bytes, layers)], list(map(bytes, layers))]
        self.before = before

    @staticmethod
    def layer(index: int, promise: bytes | None = None) -> LogEntry:
        """The entry that opens a layer."""
        promised = None if promise is None else hashlib.sha256(promise).digest()
        return LogEntry(Deed.OPENED, bytes([100 + index]) * 32, VectorLog.campaign, index, promised)

    def checkpoint(self, tree: int, size: int | None = None, log: int = 8) -> Checkpoint:
        """The checkpoint of a tree, or of its first entries."""
        origin = campaign_origin(raw(log), self.campaign) if tree else operator_origin(raw(log))
        entries = self.trees[tree][:size]
        return Checkpoint(origin, len(entries), tree_root(len(entries), subtrees_of_entries(entries)))

    def proof(
        self, layer: int, witnesses: Sequence[int] = (10, 11, 12), time: int = 1_000, log: int = 8
    ) -> InclusionProof:
        """The proof of a layer."""
        indices = (self.before + layer, layer)
        trees = []
        for tree, index in enumerate(indices):
            text = str(self.checkpoint(tree, log=log))
            cosigned = tuple(
                (raw(key)[:4], Cosignature(time, key_pair(key).sign(cosigned_message(text, time)))) for key in witnesses
            )
            path = tuple(prove_inclusion(index, len(self.trees[tree]), subtrees_of_entries(self.trees[tree])))
            trees.append(TreeProof(len(self.trees[tree]), path, key_pair(log).sign(text.encode()), cosigned))
        return InclusionProof(layer, indices[0], trees[0], trees[1])


def proof_case(
    name: str, proof: bytes, layer: bytes, promise: bytes | None = None, quorum: int = 2, now: int = 2_000
) -> Vector:
    """Whether a device that knows log 8 and the witnesses 10 to 12 takes a proof, and which checkpoints it has then."""
    try:
        parsed = InclusionProof.parse(proof)
        promised = None if promise is None else hashlib.sha256(promise).digest()
        entry = LogEntry(Deed.OPENED, layer, VectorLog.campaign, parsed.layer, promised)
        _, found = parsed.check(entry, [raw(8)], [raw(key) for key in (10, 11, 12)], quorum, now)
        checkpoints: list[Vector] | None = [_checkpoint(each) for each in found]
    except LogError:
        checkpoints = None
    return {
        "name": name,
        "proof": proof.hex(),
        "layer": layer.hex(),
        "masked": None if promise is None else promise.hex(),
        "quorum": quorum,
        "now": now,
        "checkpoints": checkpoints,
    }


def growth_case(name: str, log: VectorLog, known: Checkpoint) -> Vector:
    """Whether a device that has seen a checkpoint takes the operator's tree as it is now, by its files."""
    entries = log.trees[0]
    subtrees, size = subtrees_of_entries(entries), len(entries)
    tiles = {}
    for tile in tiles_of(size):
        if tile.level is not None:
            numbers = range(tile.index * 256, tile.index * 256 + tile.width)
            tiles[tile.path] = b"".join(subtrees(8 * tile.level, number) for number in numbers).hex()
    newest = log.checkpoint(0)
    try:
        check_goes_on(known, newest, lambda path: bytes.fromhex(tiles[path]))
        goes_on = True
    except (LogError, LaterError):
        goes_on = False
    if goes_on != (known.size <= size and tree_root(min(known.size, size), subtrees) == known.root):
        raise ValueError(f"{name!r} is told otherwise by the whole tree")
    return {
        "name": name,
        "known": _checkpoint(known),
        "next": _checkpoint(newest),
        "tiles": tiles,
        "goes_on": goes_on,
    }


def _checkpoint(checkpoint: Checkpoint) -> Vector:
    return {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root.hex()}


def transparency_log() -> Vector:
    """Proofs that a layer is in a log, and logs that go on or do not."""
    layers = [VectorLog.layer(index) for index in range(3)]
    log, promise = VectorLog(5, layers), bytes(Promise(3, 20, 1, (raw(1),)))
    masked = VectorLog(0, [VectorLog.layer(0, promise)])
    large, first = VectorLog(598, layers), VectorLog(0, layers[:1])
    right, digests = log.proof(1), [bytes(entry.digest or b"") for entry in layers]
    second = bytes(right)
    other = bytes(log.proof(1, log=9))
    cases = [
        proof_case("layer 1 of 3", second, digests[1]),
        proof_case("the first entry of all", bytes(first.proof(0)), digests[0]),
        proof_case("the last of 601", bytes(large.proof(2)), digests[2]),
        proof_case("two of three witnesses", bytes(log.proof(0, (12, 10))), digests[0]),
        proof_case("votes under masks", bytes(masked.proof(0)), digests[0], promise),
        proof_case("another layer", second, digests[2]),
        proof_case("another index", bytes(replace(right, layer=2)), digests[1]),
        proof_case("another promise", bytes(masked.proof(0)), digests[0], promise[:-1] + b"\0"),
        proof_case("no promise", bytes(masked.proof(0)), digests[0]),
        proof_case("one witness", bytes(log.proof(1, (10,))), digests[1]),
        proof_case("one witness twice", bytes(log.proof(1, (10, 10))), digests[1]),
        proof_case("witnesses that are not known", bytes(log.proof(1, (13, 14))), digests[1]),
        proof_case("a clock that is a day ahead", bytes(log.proof(1, time=2_000 + 86_400)), digests[1]),
        proof_case("a clock that is further ahead", bytes(log.proof(1, time=2_001 + 86_400)), digests[1]),
        proof_case("another log", other, digests[1]),
        proof_case("cut", second[:-1], digests[1]),
        proof_case("too long", second + b"\0", digests[1]),
        proof_case("another version", b"\2" + second[1:], digests[1]),
        *(
            proof_case(
                f"byte {place} changed",
                second[:place] + bytes([second[place] ^ 1]) + second[place + 1 :],
                digests[1],
                quorum=3,
            )
            for place in range(0, len(second), 97)
        ),
    ]
    fork = VectorLog(5, [VectorLog.layer(2), *layers[1:]])
    growth = [
        growth_case("the same", log, log.checkpoint(0)),
        *(growth_case(f"from {size} to 8", log, log.checkpoint(0, size)) for size in (1, 2, 3, 7)),
        *(growth_case(f"from {size} to 601", large, large.checkpoint(0, size)) for size in (256, 599)),
        growth_case("a fork of the same size", log, fork.checkpoint(0)),
        growth_case("a fork that is larger", log, fork.checkpoint(0, 7)),
        growth_case("one that goes back", log, VectorLog(9, layers).checkpoint(0)),
    ]
    return {
        "log": raw(8).hex(),
        "witnesses": [raw(key).hex() for key in (10, 11, 12)],
        "campaign": VectorLog.campaign.hex(),
        "entry": bytes(layers[1]).decode(),
        "binding": binding_of(raw(8)).hex(),
        "cases": cases,
        "growth": growth,
    }


def cohort_case(name: str, devices: int, votes: int, dropout: int, corrupt: int, gone: tuple[int, ...]) -> Vector:
    """All messages of a cohort, in which some devices share their secrets and then drop out."""
    terms = Terms(bytes(range(16)), bytes(range(32)), 11, votes, 3, dropout, corrupt)
    campaign, issuer = bytes(range(100, 116)), Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
    issuers = Issuers(campaign, (bytes(32), issuer.public_key().public_bytes_raw()))
    promise = Promise(terms.smallest, dropout, corrupt, issuers.keys)
    server = GroupServer(terms, issuers)
    told: list[Vector] = []
    members: list[Member] = []
    drawn = [Recorded(1000 * devices + index) for index in range(devices)]
    for index, entropy in enumerate(drawn):
        counts = SeededEntropy(devices, index).below(votes + 1, terms.entries)
        signer = Ed25519PrivateKey.from_private_bytes(bytes([index]) * 32)
        voucher = vouch(campaign, signer.public_key().public_bytes_raw(), issuer)
        ballot = Ballot.of_votes(terms.layer, counts, votes)
        members.append(Member(terms, ballot, promise, Identity(campaign, signer, voucher), entropy))
        advertised = members[-1].advertise()
        server.receive(bytes([index]), advertised)
        told.append(
            {
                "name": f"device {index}",
                "votes": counts.tolist(),
                "signing_key": signer.private_bytes_raw().hex(),
                "advertisement": advertised.hex(),
            }
        )
    group = MaskingGroup(terms, devices)
    for stage, message, answer, respond in (
        (Stage.SHARING, "roster", "sharing", Member.share),
        (Stage.MASKING, "delivery", "masked", Member.mask),
        (Stage.CONFIRMING, "survivors", "confirmation", Member.confirm),
        (Stage.UNMASKING, "request", "unmasking", Member.unmask),
    ):
        server.advance()
        for index, member in enumerate(members):
            if stage > Stage.SHARING and index in gone:
                continue
            body = server.message_for(bytes([index])) or b""
            answered = respond(member, body)
            server.receive(bytes([index]), answered)
            told[index] |= {message: body.hex(), answer: answered.hex()}
    server.advance()
    if not isinstance(server.outcome, GroupSum):
        raise TypeError(f"the cohort {name!r} yielded nothing: {server.outcome}")
    return {
        "name": name,
        "terms": bytes(terms).hex(),
        "campaign": campaign.hex(),
        "promise": bytes(promise).hex(),
        "issuer_private_key": issuer.private_bytes_raw().hex(),
        "size": devices,
        "degree": group.neighbourhood.degree,
        "threshold": group.neighbourhood.threshold,
        "quorum": group.quorum,
        "bits": group.bits,
        "devices": [case | {"secrets": entropy.hex} for case, entropy in zip(told, drawn, strict=True)],
        "sum": server.outcome.votes.tolist(),
    }


def masking() -> Vector:
    """Vectors of secure aggregation: whole cohorts, how many neighbours larger ones have, and their corrupt devices."""
    sizes = (5, 20, 50, 100, 500, 1000, 2000)
    cases = [(size, dropout, size * share // 100) for size in sizes for dropout, share in ((5, 5), (20, 10), (30, 20))]
    return {
        "cohorts": [
            cohort_case("all are neighbours", 5, 1, 20, 1, (1,)),
            cohort_case("a circle, entries of two bytes", 12, 60, 10, 0, (0,)),
        ],
        "neighbourhoods": [
            {"size": n, "dropout": d, "corrupt": c, "degree": found.degree, "threshold": found.threshold}
            for n, d, c in cases
            for found in [neighbourhood(n, d, c)]
        ],
        "corrupt": [
            {
                "size": size,
                "share": share,
                "risk": 1e-6,
                "groups": groups,
                "most": most_corrupt(size, share, 1e-6, groups),
            }
            for size in sizes[1:]
            for share in (1, 5)
            for groups in (1, 6000)
        ],
    }


FILES: Mapping[str, Callable[[], object]] = {
    "forms.json": forms,
    "candidates.json": candidates,
    "unary.json": unary,
    "subset_selection.json": subset_selection,
    "reports.json": reports,
    "closed.json": closed,
    "likely.json": likely,
    "documents.json": documents,
    "identities.json": identities,
    "succession.json": succession,
    "log.json": transparency_log,
    "masking.json": masking,
    **runpy.run_path(str(HERE / "rules.py"))["FILES"],
}


# The document of a layer, for other languages


def layer_schema() -> str:
    """The JSON Schema of the documents of layers, as a file."""
    schema = document_schema()
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema["title"],
        "description": "Written by vectors/generate.py; docs/protocol.md says what the fields mean.",
    }
    return json.dumps(described | schema, indent=2, ensure_ascii=False) + "\n"


def layer_typescript() -> str:
    """The types of the documents of layers, and what checks each field."""
    expressions = " ".join(field.form.check for kind in LAYER_KINDS for field in fields_of(kind))
    checks = sorted(set(re.findall("[A-Za-z]+", re.sub("/.*?/", "", expressions))))
    parts = [
        "/** The documents of layers. Written by vectors/generate.py from src/neologue/protocol/layer_fields.py. */",
        f'import {{ type FieldCheck, {", ".join(checks)} }} from "./field_checks";',
        *(part for kind in LAYER_KINDS for part in _typescript(kind)),
    ]
    return "\n\n".join(parts) + "\n"


def _typescript(kind: LayerKind) -> list[str]:
    fields = fields_of(kind)
    types = "\n".join(f"  readonly {field.name}: {field.form.typescript};" for field in fields)
    checks = "\n".join(f"  {field.name}: {field.form.check}," for field in fields)
    name = f"{kind.capitalize()}Document"
    return [
        f"export interface {name} {{\n{types}\n}}",
        f"export const {kind.upper()}_FIELDS = {{\n{checks}\n}} "
        f"as const satisfies Readonly<Record<keyof {name}, FieldCheck>>;",
    ]


DERIVED: Mapping[Path, Callable[[], str]] = {
    ROOT / "docs" / "schema" / "layer.schema.json": layer_schema,
    ROOT / "devices" / "web" / "src" / "layer_document.ts": layer_typescript,
}


def rendered(vectors: object) -> str:
    """The text of a file: a line for each field of a case, so that a difference is easy to see."""
    return _block(vectors, "\n") + "\n"


def _block(value: object, line: str) -> str:
    inner = line + " "
    if isinstance(value, dict) and ("name" in value or line == "\n"):
        fields = (f"{json.dumps(key)}: {_block(item, inner)}" for key, item in value.items())
        return "{" + inner + ("," + inner).join(fields) + line + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + inner + ("," + inner).join(_block(item, inner) for item in value) + line + "]"
    return json.dumps(value)


if __name__ == "__main__":
    for file_name, vectors in FILES.items():
        (HERE / file_name).write_text(rendered(vectors()), encoding="utf-8")
    for derived, text in DERIVED.items():
        derived.write_text(text(), encoding="utf-8")
