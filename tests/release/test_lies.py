"""What an operator could lie about: each lie is objected to, or rests by name on the operator's word.

The liar has the key: after each change the statement, the digest and the signature are made anew.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue import Alphabet, Campaign, Measuring, Population, Vocabulary, discover
from neologue.discovery.estimates import VoteLaw, estimate_holders
from neologue.language.candidates import strings
from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.statement import Exposure, privacy_statement
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import ExtendingLayer
from neologue.randomizers.registry import randomizer
from neologue.release.certification.certificate import Certification, certify
from neologue.release.certification.operator_word import OF_ALL, WHOSE
from neologue.release.codec import LIVE, REHEARSAL, Provenance, decode_release, release_document, release_text
from neologue.release.facts import privacy_facts
from neologue.release.layer_archive import by_digest
from neologue.release.planting import planting_in
from neologue.release.signature import sign_document
from neologue.simulation.discovery_run import DiscoveryRun

Json = dict[str, Any]
Change = Callable[[Json], object]

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OBJECTED = "objected to"
CAMPAIGN = "ab" * 16
SPELLED = Vocabulary(["bb", "abbacab", "cabbaca", "bacabba", "aabbacc"])
SMALL: Json = {"alphabet": Alphabet(ascii_lowercase), "candidates": 8000, "known": SPELLED, "depth": 7, "epsilon": 5.0}
ODD = {"xqzjkvw": 0.5, "zzvqwpk": 0.3}
SHARES = {"abba": 0.6, "cab": 0.5, "bac": 0.4, "a": 0.3, "cc": 0.06, "cabbac": 0.5}
STORED = Exposure(disk=20)
MASKS = GroupRules(size=40, smallest=20)


@dataclass(frozen=True)
class Run:
    """A run of 3,000 users, and what its operator says of where it comes from."""

    changes: Json
    fidelity: str = LIVE
    seed: int | None = None
    exposure: Exposure = STORED
    measuring: int = 0
    shares: Json = field(default_factory=lambda: SHARES)
    """Which words are held, by which shares of the users."""


RUNS = {
    "live": Run({"passes": 2}, measuring=600),
    "live, one pass": Run({}),
    "live, masked": Run({}, exposure=replace(STORED, masked=MASKS)),
    "live, colluders": Run({"colluders": 0.9}),
    "live, targets": Run({"targets": frozenset(SHARES)}),
    "live, likely": Run({"layers": 3, "passes": 2}, shares=SHARES | ODD),
    "live, equal layers": Run(
        {"name": "gboard-2024", "frontier": 12, "alphabet": Alphabet("abc"), "depth": 4, "candidates": 1000}
    ),
    "rehearsal": Run({}, fidelity=REHEARSAL),
    "own data": Run({}, fidelity="fast", exposure=Exposure()),
    "simulation": Run({}, fidelity="fast", seed=1, exposure=Exposure()),
}


@cache
def discovery(kind: str) -> DiscoveryRun:
    run = RUNS[kind]
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in run.shares.items() if lots.random() < share} for n in range(3000)}
    population = Population.from_words({user: words or {"bb": 1} for user, words in held.items()})
    settings: Json = {"name": "neologue", "layers": None, "words_per_user": 4, "allocation": "filled"}
    settings |= {"users": 3000 - run.measuring} | SMALL | run.changes
    measure = Measuring(run.measuring, 0.9) if run.measuring else None
    return discover(population, Campaign.from_profile(**settings), seed=1, measure=measure)


@cache
def documents() -> dict[str, bytes]:
    """The documents of all runs: a liar may point to any of them."""
    return by_digest(document for kind in RUNS for document in discovery(kind).documents)


@cache
def truth(kind: str) -> str:
    run = RUNS[kind]
    campaign = CAMPAIGN if run.fidelity in (LIVE, REHEARSAL) else None
    release = replace(discovery(kind).release, exposure=run.exposure)
    said = release_document(release, Provenance("3,000 devices expected", run.fidelity, run.seed, campaign))
    return release_text(sign_document(said, KEY))


def examine(document: Json) -> Certification:
    return certify(decode_release(json.dumps(document).encode(), "release.json"), documents(), KEY.public_key())


def lied(kind: str, change: Change) -> Json:
    """The release with a lie, and everything that follows from it stated accordingly."""
    document: Json = json.loads(truth(kind))
    change(document)
    read = decode_release(json.dumps(document).encode(), "release.json")
    facts = privacy_facts(read.parameters, read.layers, read.measurement, read.exposure)
    planted = planting_in(read.parameters, read.users, read.layers, read.words, read.exposure).document()
    privacy = privacy_statement(facts, read.provenance.source)
    return sign_document(document | {"privacy": privacy, "planting": planted}, KEY)


def put(*path: str | int, value: object) -> Change:
    """Put a value in the place of another."""

    def change(document: Json) -> None:
        holder: Any = document
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return change


def estimate_anew(document: Json) -> None:
    """State the estimates that follow from reports, votes and users."""
    parameters = document["parameters"]
    promise = AnonymityPromise(
        parameters["k_anonymity"],
        parameters["alpha"],
        parameters["unique_chance"],
        parameters["hostile_devices"],
        parameters["passes"],
    )
    for layer in document["layers"]:
        channel = randomizer(
            parameters["randomizer"], layer["candidates"], parameters["epsilon"], parameters["words_per_user"]
        ).channel
        law = VoteLaw(channel, layer["reports"], document["population"]["users"])
        least = promise.votes_needed(channel, layer["reports"])
        for word in document["words"]:
            if (word["pass"], word["layer"]) == (layer["pass"], layer["layer"]):
                found = estimate_holders(law, np.array([word["votes"]]), np.array([least]))
                figures = (found.estimate, found.low, found.high)
                word |= {
                    name: round(float(n[0]), 1) for name, n in zip(("estimate", "low", "high"), figures, strict=True)
                }


def then_estimate(*changes: Change) -> Change:
    return lambda document: [change(document) for change in (*changes, estimate_anew)]


def all_of(*changes: Change) -> Change:
    return lambda document: [change(document) for change in changes]


def leave_out_last_layer(document: Json) -> None:
    last = document["layers"].pop()
    here = (last["pass"], last["layer"])
    document["words"] = [word for word in document["words"] if (word["pass"], word["layer"]) != here]


def end_there(document: Json) -> None:
    """Say that the last layer stated kept nothing, so that the algorithm ends."""
    document["layers"][-1].update(kept=0)


def exchange(*path: str | int) -> Change:
    """Exchange all figures of two words, or of two prefixes."""
    name = "prefix" if path == ("prefixes",) else "word"

    def change(document: Json) -> None:
        rows: Any = document
        for step in path:
            rows = rows[step]
        one, other = next(
            (one, other)
            for index, one in enumerate(rows)
            for other in rows[index + 1 :]
            if one["votes"] != other["votes"]
            and [one.get(n) for n in ("pass", "layer")] == [other.get(n) for n in ("pass", "layer")]
        )
        one[name], other[name] = other[name], one[name]
        if path == ("measurement", "words"):
            rows.sort(key=lambda row: row["word"])

    return change


def exchange_digests(document: Json) -> None:
    one, other = document["layers"][:2]
    one["digest"], other["digest"] = other["digest"], one["digest"]


def just_enough_votes(document: Json) -> None:
    document["layers"][0]["fewest_votes"] -= 1


LIES: dict[str, tuple[str, Change, str]] = {
    # What devices were told
    "fewer words per user": ("live", put("parameters", "words_per_user", value=1), OBJECTED),
    "a smaller ε": ("live", put("parameters", "epsilon", value=4.0), OBJECTED),
    "another randomizer": ("live", put("parameters", "randomizer", value="subset-selection"), OBJECTED),
    "another sampler": ("live", put("parameters", "sampler", value="greedy"), OBJECTED),
    "a smaller depth": ("live", put("parameters", "depth", value=6), OBJECTED),
    "a larger depth": ("live", put("parameters", "depth", value=9), OBJECTED),
    "other symbols": ("live", put("parameters", "alphabet", "symbols", value=26), OBJECTED),
    "other known words": ("live", put("parameters", "known", "digest", value="00" * 32), OBJECTED),
    "no targets": ("live, targets", put("parameters", "targets", value=None), OBJECTED),
    "targets": ("live", put("parameters", "targets", value=6), OBJECTED),
    "other days": ("live", put("parameters", "days", value=1), "days"),
    # How much was asked
    "one pass of two": ("live", put("parameters", "passes", value=1), OBJECTED),
    "a pass more": ("live", put("parameters", "passes", value=3), OBJECTED),
    "another pass of a layer": ("live", put("layers", 0, "pass", value=2), OBJECTED),
    "another number of a layer": ("live", put("layers", 0, "layer", value=2), OBJECTED),
    "another length": ("live", put("layers", 0, "length", value=2), OBJECTED),
    "another extension": ("live", put("layers", 0, "extension", value=2), OBJECTED),
    "other candidates": ("live", put("layers", 0, "candidates", value=7000), OBJECTED),
    "fewer users asked": (
        "live",
        lambda document: document["layers"][-1].update(asked=document["layers"][-1]["reports"] - 1),
        OBJECTED,
    ),
    "more users asked": ("live", lambda document: document["layers"][0].update(asked=2000, reports=2000), OBJECTED),
    "the last layer left out": ("live, one pass", leave_out_last_layer, OBJECTED),
    "the last layer left out, and the end claimed": (
        "live, one pass",
        all_of(leave_out_last_layer, end_there),
        "completeness",
    ),
    "the last layer of the first of two passes left out": (
        "live",
        lambda document: document["layers"].pop(
            max(index for index, layer in enumerate(document["layers"]) if layer["pass"] == 1)
        ),
        OBJECTED,
    ),
    "the first layer left out": ("live", lambda document: document["layers"].pop(0), OBJECTED),
    "the second pass left out": (
        "live",
        lambda document: document.update(layers=[layer for layer in document["layers"] if layer["pass"] == 1]),
        OBJECTED,
    ),
    "documents exchanged": ("live", exchange_digests, OBJECTED),
    "a document of another campaign": (
        "live, one pass",
        lambda document: document["layers"][0].update(digest=json.loads(truth("live, masked"))["layers"][1]["digest"]),
        OBJECTED,
    ),
    "a document that is not there": ("live", put("layers", 0, "digest", value="00" * 32), OBJECTED),
    "the document of the measurement for a layer's": (
        "live",
        lambda document: document["layers"][0].update(digest=document["measurement"]["digest"]),
        OBJECTED,
    ),
    "the measurement dropped": ("live", put("measurement", value=None), "completeness"),
    "another measurement": (
        "live",
        lambda document: document["measurement"].update(digest=document["layers"][0]["digest"]),
        OBJECTED,
    ),
    "another rate": ("live", put("measurement", "rate", value=1.0), OBJECTED),
    "more users measured": ("live", put("measurement", "asked", value=6000), OBJECTED),
    "other candidates measured": ("live", put("measurement", "candidates", value=1), OBJECTED),
    # What came of it
    "more reports": ("live, one pass", put("layers", -1, "reports", value=3000), OBJECTED),
    "fewer reports": ("live, one pass", put("layers", -1, "reports", value=500), OBJECTED),
    "fewer reports, and estimates that follow": (
        "live, one pass",
        then_estimate(lambda document: document["layers"][-1].update(reports=document["layers"][-1]["reports"] - 1)),
        "reports",
    ),
    "more reports measured": ("live", put("measurement", "reports", value=599), OBJECTED),
    "the measurement undecided": ("live", put("measurement", "decided", value=False), OBJECTED),
    "another coverage": ("live", put("measurement", "coverage", "estimate", value=0.99), OBJECTED),
    "another bound of the coverage": (
        "live",
        all_of(put("measurement", "coverage", "low", value=0.01), put("measurement", "coverage", "high", value=0.99)),
        OBJECTED,
    ),
    "other votes for words outside": ("live", put("measurement", "other_votes", 0, value=1), OBJECTED),
    "measured votes exchanged": ("live", exchange("measurement", "words"), "votes"),
    "a word measured that was not released": ("live", put("measurement", "words", 0, "word", value="aa"), OBJECTED),
    "measured figures alone": (
        "live",
        lambda document: document["measurement"]["words"][0].update(votes=9, estimate=1.0, low=0.0, high=2.0),
        OBJECTED,
    ),
    "votes exchanged": ("live, one pass", exchange("words"), "votes"),
    "figures of a word alone": (
        "live",
        lambda document: document["words"][0].update(votes=900, estimate=1.0, low=0.0, high=2.0),
        OBJECTED,
    ),
    "a word in another layer": (
        "live",
        lambda document: document["words"][0].update({"layer": 7, "pass": 2}),
        OBJECTED,
    ),
    "a word judged by the votes of earlier layers too": ("live", put("words", 0, "since", value=0), OBJECTED),
    "a word that was not asked about": ("live, one pass", put("words", 0, "word", value="qqqqqqq"), OBJECTED),
    "prefixes behind which a trie did not look": (
        "live",
        put(
            "prefixes",
            value=[{"prefix": "qu", "votes": 90, "estimate": 9.0, "low": 1.0, "high": 20.0, "layer": 1, "pass": 1}],
        ),
        OBJECTED,
    ),
    "a prefix left out": ("live, likely", lambda document: document["prefixes"].pop(), OBJECTED),
    "no prefixes": ("live, likely", put("prefixes", value=[]), OBJECTED),
    "a prefix made up": (
        "live, likely",
        lambda document: document["prefixes"].append(document["prefixes"][0] | {"prefix": "qu"}),
        OBJECTED,
    ),
    "another prefix": ("live, likely", put("prefixes", 0, "prefix", value="qu"), OBJECTED),
    "a prefix in another layer": ("live, likely", put("prefixes", 0, "layer", value=1), OBJECTED),
    "a prefix in another pass": (
        "live, likely",
        lambda document: document["prefixes"][0].update({"pass": 3 - document["prefixes"][0]["pass"]}),
        OBJECTED,
    ),
    "a prefix with too few votes": ("live, likely", put("prefixes", 0, "votes", value=1), OBJECTED),
    "figures of a prefix alone": (
        "live, likely",
        lambda document: document["prefixes"][0].update(estimate=1.0, low=0.0, high=2.0),
        OBJECTED,
    ),
    "prefixes exchanged": ("live, likely", exchange("prefixes"), "votes"),
    "more prefixes kept": ("live", lambda document: document["layers"][0].update(kept=1), OBJECTED),
    "more words of a layer": ("live", put("layers", 0, "words", value=0), OBJECTED),
    "other fewest votes": ("live", just_enough_votes, "votes"),
    "fewest votes that are too few": ("live", put("layers", 0, "fewest_votes", value=1), OBJECTED),
    "a layer undecided": ("live", put("layers", 0, "decided", value=False), OBJECTED),
    "more users": ("live, one pass", put("population", "users", value=3100), OBJECTED),
    "more users, and estimates that follow": (
        "live, one pass",
        then_estimate(put("population", "users", value=3001)),
        "users",
    ),
    "more users, of equal layers": (
        "live, equal layers",
        then_estimate(put("population", "users", value=3100)),
        OBJECTED,
    ),
    # By which rules
    "δ of .99": ("live", put("parameters", "delta", value=0.99), OBJECTED),
    "δ above 1 in users": ("live", put("parameters", "delta", value=1e-3), OBJECTED),
    "α of .0001": ("live", put("parameters", "alpha", value=0.0001), OBJECTED),
    "a smaller α": ("live", put("parameters", "alpha", value=0.9), "thresholds"),
    "a k that nothing supports": ("live", put("parameters", "k_anonymity", value=500), OBJECTED),
    "a smaller k": ("live", put("parameters", "k_anonymity", value=9), "thresholds"),
    "a chance of unique words that nothing supports": (
        "live",
        put("parameters", "unique_chance", value=1e-15),
        OBJECTED,
    ),
    "a smaller chance of unique words, and estimates that follow": (
        "live",
        then_estimate(put("parameters", "unique_chance", value=1e-9)),
        "thresholds",
    ),
    "more hostile devices, and estimates that follow": (
        "live",
        then_estimate(put("parameters", "hostile_devices", value=5)),
        "thresholds",
    ),
    "a larger chance of unique words": ("live", put("parameters", "unique_chance", value=1e-3), "thresholds"),
    "more hostile devices than thresholds allow for": (
        "live",
        put("parameters", "hostile_devices", value=400),
        OBJECTED,
    ),
    "fewer hostile devices": ("live", put("parameters", "hostile_devices", value=0), "thresholds"),
    "words as they are typed": ("live", put("parameters", "case", value="keep"), OBJECTED),
    "signs that are not taken off": ("live", put("parameters", "punctuation", value="keep"), OBJECTED),
    "layers that ask about what is likely": ("live", put("parameters", "layers", value=2), OBJECTED),
    "a warning that nobody gave": ("live", put("warnings", value=["layer 1 has strange votes"]), "warnings"),
    "a promise that is broken": ("live", put("parameters", "promised_epsilon", value=0.01), OBJECTED),
    "a promise that was not made": ("live", put("parameters", "promised_epsilon", value=900.0), "limits"),
    "a promise of another unit": ("live", put("parameters", "promised_unit", value="user"), "limits"),
    "fewer words in later layers": (
        "live, likely",
        lambda document: document["parameters"].update(allocation="drawn", later_words=[2]),
        OBJECTED,
    ),
    "slots that were not drawn": ("live", put("parameters", "allocation", value="drawn"), OBJECTED),
    "another rule": ("live", put("parameters", "rule", value="top"), "thresholds"),
    "no colluders": ("live, colluders", put("parameters", "colluders", value=0.0), "colluders"),
    "more room for candidates": ("live", put("parameters", "candidates", value=9000), "limits"),
    "longer reports": ("live", put("parameters", "report_bytes", value=20_000), "limits"),
    "a larger frontier": ("live", put("parameters", "frontier", value=300_000), "limits"),
    "a smaller frontier": ("live", put("parameters", "frontier", value=1), OBJECTED),
    "a smaller smallest layer": ("live, one pass", put("parameters", "smallest_layer", value=99), "limits"),
    "a larger smallest layer": ("live", put("parameters", "smallest_layer", value=2000), OBJECTED),
    "fewer false prefixes": ("live", put("parameters", "false_prefixes", value=0.01), "limits"),
    "fewer false words": ("live", put("parameters", "false_words", value=1e-4), "limits"),
    "another profile": ("live", put("profile", value="gboard-2024"), "limits"),
    # Who saw what
    "a server that saw whole layers": ("live", put("exposure", "server", value=None), OBJECTED),
    "a server that saw sums": ("live", put("exposure", "server", value=20), OBJECTED),
    "whole layers stored": ("live", put("exposure", "disk", value=None), OBJECTED),
    "batches larger than a layer": ("live", put("exposure", "disk", value=5000), OBJECTED),
    "larger batches": ("live", put("exposure", "disk", value=40), "exposure"),
    "masks larger than a layer": (
        "live",
        put("exposure", "masked", value={"size": 1900, "smallest": 1500, "dropout": 20, "corruption": 5}),
        OBJECTED,
    ),
    "masks": (
        "live",
        put("exposure", "masked", value={"size": 40, "smallest": 20, "dropout": 20, "corruption": 5}),
        "exposure",
    ),
    "masks of larger groups": (
        "live, masked",
        put("exposure", "masked", value={"size": 80, "smallest": 40, "dropout": 10, "corruption": 4}),
        "exposure",
    ),
    "no masks": ("live, masked", put("exposure", "masked", value=None), "exposure"),
    "batches of own data": ("own data", put("exposure", "disk", value=50), OBJECTED),
    # Where it comes from
    "a simulation called live": (
        "simulation",
        lambda document: document.update(simulated=False, seed=None, fidelity=LIVE),
        OBJECTED,
    ),
    "a simulation called live, with batches and a campaign made up": (
        "simulation",
        lambda document: document.update(
            simulated=False,
            seed=None,
            fidelity=LIVE,
            campaign=CAMPAIGN,
            exposure={"disk": 20, "server": 1, "masked": None},
        ),
        "people",
    ),
    "a simulation called own data": (
        "simulation",
        lambda document: document.update(simulated=False, seed=None),
        "randomness",
    ),
    "a simulation that names a campaign": ("simulation", put("campaign", value=CAMPAIGN), OBJECTED),
    "a seed that is not said to be one": ("simulation", put("simulated", value=False), OBJECTED),
    "another seed": ("simulation", put("seed", value=2), "seed"),
    "own data called live": ("own data", put("fidelity", value=LIVE), OBJECTED),
    "own data drawn otherwise": ("own data", put("fidelity", value="devices"), "randomness"),
    "a rehearsal called live": ("rehearsal", put("fidelity", value=LIVE), "people"),
    "a live release without a campaign": ("live", put("campaign", value=None), OBJECTED),
    "a campaign that is none": ("live", put("campaign", value="spring"), OBJECTED),
    "another campaign": ("live", put("campaign", value="cd" * 16), "identity"),
    "raw counts beside all": ("live", put("raw_counts", value={"abba": ["user 17"]}), OBJECTED),
    "the holders of a word": ("live", put("words", 0, "holders", value=["user 17"]), OBJECTED),
    "the holders of a word measured": ("live", put("measurement", "words", 0, "holders", value=1), OBJECTED),
    "the votes of a layer": ("live", put("layers", 0, "votes", value=[1]), OBJECTED),
    "a parameter that is none": ("live", put("parameters", "noise", value="more"), OBJECTED),
    "masks with more names": (
        "live, masked",
        put("exposure", "masked", "rosters", value=[["user 17"]]),
        OBJECTED,
    ),
    "a score of real people": ("live", put("score", value={"precision": 1.0}), OBJECTED),
    "another population": ("live", put("population", "description", value="everyone"), "description"),
    "another alphabet's name": ("live", put("parameters", "alphabet", "name", value="en"), "description"),
    "another source of known words": ("live", put("parameters", "known", "source", value="us"), "description"),
    "more known words": ("live", put("parameters", "known", "words", value=10**6), "description"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_the_truth_passes_and_says_what_rests_on_the_operators_word(kind: str) -> None:
    found = examine(json.loads(truth(kind)))
    assert found.objections == ()
    assert found.passed
    names = [word.name for word in found.operator_word]
    assert len(set(names)) == len(names) >= 12
    assert len(json.loads(truth(kind))["layers"]) >= 2


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_objected_to_or_rests_by_name_on_the_operators_word(name: str) -> None:
    kind, change, verdict = LIES[name]
    document = lied(kind, change)
    assert set(changed_paths(json.loads(truth(kind)), document)), "a lie changes something"
    found = examine(document)
    assert not [claim.name for claim in found.claims if not claim.covered], "the liar states what follows"
    if verdict == OBJECTED:
        assert found.objections
    else:
        assert found.objections == ()
        assert verdict in {word.name for word in found.operator_word}


def test_unsigned_is_not_live() -> None:
    document = {name: value for name, value in json.loads(truth("live")).items() if name != "signature"}
    found = certify(decode_release(json.dumps(document).encode(), "release.json"), documents())
    assert found.objections == ("it is not signed, and devices were invited by an operator's signature",)


def test_without_its_documents_nothing_passes_and_each_that_is_missing_is_named() -> None:
    document = decode_release(truth("live").encode(), "release.json")
    found = certify(document, {}, KEY.public_key())
    assert len(found.objections) == len(document.layers) + 1
    assert all("is missing, whose digest is" in objection for objection in found.objections)
    assert found.objections[-1].startswith("the document of the measurement is missing")
    first = str(document.layers[0].digest)
    changed = documents() | {first: documents()[first] + b" "}
    (objection,) = certify(document, changed, KEY.public_key()).objections
    assert "was changed" in objection


def told_otherwise(kind: str, layer_index: int, change: Callable[[ExtendingLayer], ExtendingLayer]) -> Certification:
    """A release, one of whose layers has another document, made for the purpose, whose digest and size it states."""
    document: Json = json.loads(truth(kind))
    honest = read_layer(documents()[document["layers"][layer_index]["digest"]])
    assert isinstance(honest, ExtendingLayer)
    forged = change(honest)
    document["layers"][layer_index].update(digest=forged.digest.hex(), candidates=forged.candidates.size)
    read = decode_release(json.dumps(sign_document(document, KEY)).encode(), "release.json")
    return certify(read, documents() | by_digest([forged.document]), KEY.public_key())


def test_a_layer_that_was_not_told_what_earlier_passes_found_is_objected_to() -> None:
    layers = json.loads(truth("live"))["layers"]
    second = next(index for index, layer in enumerate(layers) if layer["pass"] == 2)
    assert told_otherwise("live", second, lambda layer: layer).objections == ()
    (objection,) = told_otherwise("live", second, lambda layer: replace(layer, found=Vocabulary.empty())).objections
    assert "told other words as found before" in objection


def with_frontier(change: Callable[[list[str]], list[str]]) -> Callable[[ExtendingLayer], ExtendingLayer]:
    return lambda layer: replace(layer, frontier=strings(change(layer.frontier.tolist())))


CHAINS = {
    "a prefix that the layer before did not ask about": (
        "live, equal layers",
        3,
        with_frontier(lambda prefixes: [*prefixes[:-1], "cccc"]),
        "pass 1 layer 4 has prefixes that the layer before it did not ask about",
    ),
    "a prefix less than the layer before kept": (
        "live, equal layers",
        3,
        with_frontier(lambda prefixes: prefixes[:-1]),
        "pass 1 layer 4 does not ask about as much as the layer before it kept",
    ),
    "a beginning that leaves characters out": (
        "live, equal layers",
        0,
        with_frontier(lambda prefixes: prefixes[:-1]),
        "pass 1 layer 1 does not begin with the characters of the alphabet",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_layers_that_are_no_chain_are_objected_to_though_each_agrees_with_its_facts(name: str) -> None:
    kind, layer_index, change, objection = CHAINS[name]
    assert told_otherwise(kind, layer_index, lambda layer: layer).objections == ()
    assert f"the document of {objection}" in told_otherwise(kind, layer_index, change).objections


def test_a_word_of_the_right_length_that_its_layer_did_not_ask_about_is_objected_to() -> None:
    document: Json = json.loads(truth("live, one pass"))
    late = next(word for word in document["words"] if word["layer"] > 1)
    late["word"] = "q" * len(late["word"])
    read = decode_release(json.dumps(sign_document(document, KEY)).encode(), "release.json")
    objections = certify(read, documents(), KEY.public_key()).objections
    assert any("is none that the devices of" in objection for objection in objections)


def generic_leaves(value: object, path: str = "") -> Iterator[str]:
    """The places in a document, those of equal rows as one."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from generic_leaves(inner, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for inner in value:
            yield from generic_leaves(inner, f"{path}[]")
    else:
        yield path


def changed_paths(before: Any, after: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """Where two documents differ, as far as a liar chooses it."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            if path or name not in ("privacy", "planting", "digest", "signature"):
                yield from changed_paths(before.get(name), after.get(name), f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from changed_paths(one, other, f"{path}[]")
    elif before != after:
        yield path


def test_there_is_a_lie_about_everything_that_a_release_says() -> None:
    """All but what follows from it, statement, planting, digest and signature, and the format, by which it is read."""
    said = {
        place
        for kind in ("live", "live, masked", "simulation")
        for place in generic_leaves(json.loads(truth(kind)))
        if not place.startswith((".privacy", ".planting", ".digest", ".signature", ".format", ".exposure.masked."))
    }
    lied_about: set[str] = set()
    for kind, change, _ in LIES.values():
        before, after = json.loads(truth(kind)), copy.deepcopy(json.loads(truth(kind)))
        change(after)
        lied_about |= set(changed_paths(before, after))
    assert said - lied_about == set()


def test_the_page_has_every_item_by_its_name_and_no_other() -> None:
    page = Path(__file__).parents[2] / "docs" / "privacy" / "operator.md"
    table = page.read_text("utf-8").partition("## What rests on the operator's word")[2].partition("\n## ")[0]
    rows = [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines() if row.startswith("| ")]
    assert rows[0] == "name"
    assert sorted(rows[1:]) == sorted({word.name for words in (*WHOSE.values(), OF_ALL) for word in words})


@pytest.mark.parametrize("name", ["unique_chance", "hostile_devices"])
def test_the_promise_of_unique_words_rests_by_name_on_the_operators_word(name: str) -> None:
    (thresholds,) = (word for word in OF_ALL if word.name == "thresholds")
    page = (Path(__file__).parents[2] / "docs" / "privacy" / "operator.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| thresholds | "))
    assert name in thresholds.claim
    assert f"`{name}`" in row


def test_every_item_that_rests_on_the_operators_word_has_a_lie_or_is_about_what_no_release_says() -> None:
    unsaid = {"device code", "records", "nothing else", "assignment", "ledger"}
    names = {word.name for words in (*WHOSE.values(), OF_ALL) for word in words}
    assert names - unsaid == {verdict for _, _, verdict in LIES.values()} - {OBJECTED}
