"""Certification: a release is covered by its facts, and whatever is changed in one is noticed, or said not to be."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from neologue import Alphabet, Campaign, Measuring, Population, Vocabulary, discover
from neologue.errors import ReleaseError, SignatureError
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.statement import Exposure, Source, privacy_statement
from neologue.protocol.documents import read_layer
from neologue.protocol.signed_document import digest
from neologue.randomizers.registry import randomizer
from neologue.release import codec
from neologue.release.certification.certificate import Certification, certify, claim_rows
from neologue.release.certification.layer_chain import document_digests
from neologue.release.codec import read_release_file, release_text
from neologue.release.facts import privacy_facts
from neologue.release.layer_archive import NAME, pack_documents, read_documents
from neologue.release.older_formats import DROPPED_PARAMETERS, LACKING_PARAMETERS
from neologue.release.planting import planting_in
from neologue.release.signature import sign_document
from neologue.reporting.simulated_release import discovery_document

Json = dict[str, Any]
Tampering = Callable[[Json], object]

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SHARES = {"abba": 0.6, "cab": 0.5, "bac": 0.4, "a": 0.3, "cc": 0.06, "cabbac": 0.5}
SPELLED = Vocabulary(["bb", "abbacab", "cabbaca", "bacabba", "aabbacc"])
"""Known words by which others are spelled."""
RUNS: dict[str, Json] = {
    "unary": {"name": "neologue"},
    "unary in two passes": {"name": "neologue", "passes": 2, "epsilon": 4.0},
    "subset selection": {"name": "gboard-2024", "frontier": 12},
    "subset selection with k": {"name": "gboard-2024", "frontier": 4, "k_anonymity": 3},
    "with colluders": {"name": "neologue", "colluders": 0.3, "delta": 1e-6},
    "what is likely": {
        "name": "neologue",
        "alphabet": Alphabet(ascii_lowercase),
        "known": SPELLED,
        "layers": 3,
        "depth": 8,
        "candidates": 800,
    },
    "measured": {"name": "neologue", "users": 2400},
    "subset selection, measured": {"name": "gboard-2024", "frontier": 12, "users": 2400},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a release lies while it is looked at."""
    return tmp_path_factory.mktemp("certified") / "release.json"


@pytest.fixture(scope="module")
def releases(place: Path) -> dict[str, Json]:
    """Releases of real runs over a, b, c or all letters, with the mechanisms and the rules of both profiles.

    The documents of all their layers are in one archive beside the release that is looked at.
    """
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(3000)}
    population = Population.from_words({user: words or {"bb": 1} for user, words in held.items()})
    small: Json = {"users": 3000, "known": Vocabulary(["bb"]), "alphabet": Alphabet("abc"), "depth": 4, "epsilon": 5.0}
    found: dict[str, Json] = {}
    documents: list[bytes] = []
    for kind, run in RUNS.items():
        campaign = Campaign.from_profile(**small | {"words_per_user": 4, "layers": None} | run)
        measure = Measuring(600, 0.9) if "measured" in kind else None
        discovery = discover(population, campaign, seed=1, measure=measure)
        found[kind] = json.loads(release_text(discovery_document(discovery)))
        documents += discovery.documents
    (place.parent / NAME).write_bytes(pack_documents(documents))
    return found


def looked_at(document: object, place: Path, key: Ed25519PrivateKey | None = None) -> Certification:
    """The certification of a document in a file."""
    place.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    read = read_release_file(place)
    documents = read_documents(place.parent / NAME, filter(None, document_digests(read).values()))
    return certify(read, documents, key.public_key() if key else None)


def looked_at_if_readable(document: object, place: Path) -> Certification | None:
    """The certification of a document, or None if it is named as no release; nothing else may come of it."""
    with suppress(ReleaseError):
        return looked_at(document, place)
    return None


def with_new_digest(document: Json) -> Json:
    return document | {"digest": digest(document)}


def uncovered(found: Certification) -> list[str]:
    return [claim.name for claim in found.claims if not claim.covered]


@pytest.mark.parametrize("kind", RUNS)
def test_a_real_release_is_covered_claim_by_claim(kind: str, releases: dict[str, Json], place: Path) -> None:
    document = releases[kind]
    found = looked_at(document, place)
    assert found.objections == ()
    assert uncovered(found) == []
    assert found.passed
    assert len(document["words"]) >= 4
    stated = {row["name"]: row["stated"] for row in claim_rows(found)}
    assert stated["item_central.best"] == document["privacy"]["item_central"]["best"]
    assert stated["trust.observers.2.who"] == "server"


def test_the_runs_here_differ_in_all_that_matters(releases: dict[str, Json]) -> None:
    several = releases["unary in two passes"]["layers"]
    assert [(layer["pass"], layer["layer"]) for layer in several[:3]] == [(1, 1), (1, 2), (1, 3)]
    assert {layer["pass"] for layer in several} == {1, 2}
    assert len(releases["unary"]["layers"]) == 4
    assert releases["subset selection"]["privacy"]["k_anonymity"]["k"] is None
    assert releases["subset selection with k"]["privacy"]["k_anonymity"]["k"] == 3
    assert {document["privacy"]["mechanism"] for document in releases.values()} == {"unary", "subset-selection"}


def test_the_form_of_the_text_does_not_matter(releases: dict[str, Json], place: Path) -> None:
    document = releases["unary"]
    for text in (json.dumps(document, indent=4), json.dumps(document, sort_keys=True, ensure_ascii=False)):
        assert looked_at(text, place).passed
    assert looked_at("\ufeff" + json.dumps(document), place).passed


def add_word(document: Json) -> None:
    document["words"].append(document["words"][-1] | {"word": "bcb"})


def rename_word(document: Json) -> None:
    """Another word that the first layer asked about."""
    inside(document, ("words", [word["word"] for word in document["words"]].index("a")))["word"] = "c"


def longer_word(document: Json) -> None:
    document["words"][0]["word"] += "aaaa"


def lower(*path: str | int, by: float = 0.9) -> Tampering:
    """Lower a figure."""

    def change(document: Json) -> None:
        holder = inside(document, path[:-1])
        holder[path[-1]] *= by

    return change


def put(*path: str | int, value: object) -> Tampering:
    """Put a value in place of another."""

    def change(document: Json) -> None:
        inside(document, path[:-1])[path[-1]] = value

    return change


def add(*path: str | int, more: int) -> Tampering:
    """Add to a number."""

    def change(document: Json) -> None:
        inside(document, path[:-1])[path[-1]] += more

    return change


count_word = add("layers", 0, "words", more=1)


def inside(document: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401
    for step in path:
        document = document[step]
    return document


CAUGHT: dict[str, tuple[str, Tampering]] = {
    "a word added": ("unary", add_word),
    "a word renamed to another length": ("subset selection", longer_word),
    "a word removed": ("unary", lambda document: document["words"].pop()),
    "a word twice": ("unary", lambda document: document["words"].append(document["words"][0])),
    "a word moved to another layer": ("subset selection", add("words", 0, "layer", more=1)),
    "a word moved to a layer that is not": ("unary", add("words", 0, "layer", more=7)),
    "votes raised": ("unary", add("words", 0, "votes", more=1)),
    "votes below the fewest": ("unary", put("words", 0, "votes", value=1)),
    "an estimate raised": ("unary", add("words", 0, "estimate", more=1)),
    "an estimate raised with its interval": (
        "unary",
        lambda document: document["words"][0].update(estimate=2900.0, low=2900.0, high=2900.0),
    ),
    "an interval widened": ("unary", lower("words", 0, "high", by=1.2)),
    "an interval narrowed to nothing": ("unary", lower("words", 0, "high", by=0.8)),
    "an interval upside down": ("unary", lambda document: document["words"][0].update(low=9.0, high=1.0)),
    "an ε lowered": ("unary", lower("privacy", "item_central", "best")),
    "an ε of a theorem lowered": ("subset selection", lower("privacy", "item_central", "blanket")),
    "an ε of users lowered": ("unary", lower("privacy", "user_central", "best")),
    "a local ε lowered": ("unary", lower("privacy", "local_epsilon")),
    "an observer's ε lowered": ("unary", lower("privacy", "trust", "observers", 1, "item_epsilon")),
    "a lower bound raised": ("unary", lower("privacy", "item_central", "lower_bound", by=1.1)),
    "a bound set to null": ("unary", put("privacy", "item_central", "sums_only", value=None)),
    "a best bound set to null": ("unary", put("privacy", "item_central", "best", value=None)),
    "a null set to a number": ("unary", put("privacy", "item_central", "blanket", value=0.5)),
    "a bound set to text": ("unary", put("privacy", "item_central", "best", value="0.9")),
    "a bound set to true": ("unary", put("privacy", "item_central", "best", value=True)),
    "k raised": ("unary", add("privacy", "k_anonymity", "k", more=1)),
    "a k of nobody": ("unary", put("privacy", "k_anonymity", "k", value=0)),
    "fewer hostile devices than none": ("unary", put("privacy", "unique_words", "hostile_devices", value=-1)),
    "k raised by a little": ("unary", put("privacy", "k_anonymity", "k", value=10.0001)),
    "a k where there is none": ("subset selection", put("privacy", "k_anonymity", "k", value=1)),
    "a smaller chance of unique words": ("unary", put("privacy", "unique_words", "chance", value=1e-7)),
    "a chance of unique words where there is none": (
        "subset selection",
        put("privacy", "unique_words", "chance", value=1e-6),
    ),
    "more hostile devices": ("unary", add("privacy", "unique_words", "hostile_devices", more=1)),
    "more hostile devices in the parameters": ("unary", put("parameters", "hostile_devices", value=700)),
    "a smaller chance in the parameters": ("unary", put("parameters", "unique_chance", value=1e-9)),
    "a chance that nobody reaches the votes": ("unary", lower("privacy", "thresholds", 0, "nobody", by=0.5)),
    "fewer votes needed": ("unary", add("privacy", "thresholds", 0, "votes_for_unique", more=-1)),
    "fewer expected below k": ("unary", lower("privacy", "k_anonymity", "expected_below_k", by=0.5)),
    "k raised in the parameters": ("subset selection with k", put("parameters", "k_anonymity", value=400)),
    "reports raised": ("unary", add("layers", 0, "reports", more=1)),
    "reports lowered": ("unary", add("layers", 0, "reports", more=-150)),
    "reports and users asked raised": (
        "unary",
        lambda document: document["layers"][0].update(asked=4000, reports=4000),
    ),
    "reports lowered where no word ends": ("subset selection with k", add("layers", 1, "reports", more=-200)),
    "candidates more": ("unary", add("layers", 0, "candidates", more=1)),
    "candidates fewer": ("subset selection", add("layers", 1, "candidates", more=-4)),
    "candidates of a later layer as of one prefix less": ("unary", add("layers", 2, "candidates", more=-4)),
    "more kept": ("subset selection", add("layers", 0, "kept", more=-1)),
    "fewer words in a layer": ("subset selection", add("layers", 0, "words", more=-1)),
    "fewest votes raised": ("unary", add("layers", -1, "fewest_votes", more=1)),
    "fewest votes set to none": ("unary", put("layers", 0, "fewest_votes", value=0)),
    "a layer undecided": ("unary", put("layers", 0, "decided", value=False)),
    "a layer removed": ("subset selection", lambda document: document["layers"].pop(2)),
    "a layer twice": ("subset selection", lambda document: document["layers"].append(document["layers"][-1])),
    "layers in another order": ("subset selection", lambda document: document["layers"].reverse()),
    "a layer of a pass too many": ("unary", add("layers", 0, "pass", more=1)),
    "users more": ("unary", add("population", "users", more=100)),
    "users fewer": ("unary", add("population", "users", more=-1)),
    "delta in the parameters": ("unary", put("parameters", "delta", value=1e-5)),
    "delta in the statement": ("unary", put("privacy", "delta", value=1e-12)),
    "alpha in the parameters": ("unary", put("parameters", "alpha", value=0.99)),
    "alpha in the statement": ("unary", put("privacy", "k_anonymity", "alpha", value=0.99)),
    "colluders in the parameters": ("unary", put("parameters", "colluders", value=0.1)),
    "colluders in the statement": ("with colluders", put("privacy", "trust", "colluders", value=0.4)),
    "another local ε": ("unary", put("parameters", "epsilon", value=4.0)),
    "another mechanism": ("unary", put("parameters", "randomizer", value="subset-selection")),
    "another mechanism in the statement": ("unary", put("privacy", "mechanism", value="subset-selection")),
    "fewer words per user": ("unary", put("parameters", "words_per_user", value=3)),
    "another rule": ("subset selection", put("parameters", "rule", value="significant")),
    "a smaller frontier": ("subset selection", put("parameters", "frontier", value=3)),
    "another alphabet": ("unary", put("parameters", "alphabet", "symbols", value=5)),
    "the unit changed": ("unary", put("privacy", "unit", value="user: all words of one user")),
    "a sentence changed": ("unary", put("privacy", "trust", "central", value="none")),
    "a theorem changed": ("unary", put("privacy", "item_central", "theorems", "best", value="a better one")),
    "an assumption taken away": ("unary", lambda document: document["privacy"]["trust"]["assumptions"].pop()),
    "an assumption more": ("unary", lambda document: document["privacy"]["trust"]["assumptions"].append("nothing")),
    "an observer taken away": ("unary", lambda document: document["privacy"]["trust"]["observers"].pop()),
    "observers as text": ("unary", put("privacy", "trust", "observers", value="nobody")),
    "reasons as text": ("unary", put("privacy", "user_central", "reasons", value="see our blog")),
    "a reason more": ("unary", put("privacy", "user_central", "reasons", "group", value="too large")),
    "a claim more": ("unary", put("privacy", "anonymous", value=True)),
    "a claim taken away": ("unary", lambda document: document["privacy"].pop("user_central")),
    "no claims": ("unary", put("privacy", value={})),
    "a smaller batch": ("unary", put("exposure", "disk", value=50)),
    "a measurement taken away": ("measured", put("measurement", value=None)),
    "reports of a measurement raised": ("measured", add("measurement", "reports", more=1)),
    "reports and users of a measurement raised": (
        "subset selection, measured",
        lambda document: document["measurement"].update(asked=900, reports=900),
    ),
    "users of a measurement more": ("measured", add("measurement", "asked", more=60)),
    "candidates of a measurement more": ("measured", add("measurement", "candidates", more=1)),
    "a measurement undecided": ("measured", put("measurement", "decided", value=False)),
    "a measurement of nobody": ("measured", put("measurement", "asked", value=0)),
    "measured votes raised": ("measured", add("measurement", "words", 0, "votes", more=3)),
    "measured votes beyond all reports": ("measured", add("measurement", "words", 0, "votes", more=10**9)),
    "a measured estimate raised": ("measured", add("measurement", "words", 0, "estimate", more=1)),
    "a measured interval narrowed": ("measured", lower("measurement", "words", 0, "high", by=0.99)),
    "a measured word renamed": ("measured", put("measurement", "words", 0, "word", value="aa")),
    "a measured word taken away": ("measured", lambda document: document["measurement"]["words"].pop()),
    "votes for others fewer": ("measured", add("measurement", "other_votes", 0, more=-20)),
    "votes for others below none": ("measured", put("measurement", "other_votes", 0, value=-1)),
    "votes for others taken away": ("measured", lambda document: document["measurement"]["other_votes"].pop()),
    "a measured coverage raised": ("measured", lower("measurement", "coverage", "estimate", by=0.99)),
    "a measured coverage made surer": ("subset selection, measured", lower("measurement", "coverage", "low", by=1.01)),
    "a measured coverage taken away": ("measured", put("measurement", "coverage", value=None)),
    "a coverage of nothing measured": (
        "subset selection, measured",
        lambda document: document["measurement"].update(reports=5, decided=False, words=[], other_votes=[]),
    ),
    "a measurement of nothing": (
        "measured",
        lambda document: (
            document.update(words=[]),
            document["measurement"].update(words=[], other_votes=[], coverage=None, candidates=0),
        ),
    ),
    "a simulation called real": ("unary", put("simulated", value=False)),
    "a seed taken away": ("unary", put("seed", value=None)),
    "a simulation called live": ("unary", put("fidelity", value="live")),
    "a simulation whose seed is taken away and that is called live": (
        "unary",
        lambda document: document.update(simulated=False, seed=None, fidelity="live"),
    ),
    "other known words": ("unary", put("parameters", "known", "digest", value="00")),
    "a fidelity that is none": ("unary", put("fidelity", value="perfect")),
    "another rate": ("measured", put("measurement", "rate", value=1.0)),
    "no rate": ("measured", put("measurement", "rate", value=0.0)),
    "a claim more, of nothing": ("unary", put("privacy", "anonymous", value=None)),
    "a bound more, of nothing": ("unary", put("privacy", "item_central", "better", value=None)),
    "a row of the statement more names": ("unary", put("privacy", "trust", "observers", 0, "friends", value=None)),
    "assumptions by number": (
        "unary",
        lambda document: document["privacy"]["trust"].update(
            assumptions={str(n): said for n, said in enumerate(document["privacy"]["trust"]["assumptions"])}
        ),
    ),
    "a score": ("unary", put("score", value={"precision": 0.5})),
    "a score of nothing": ("unary", put("score", value=None)),
}
"""Tamperings that the facts of a release contradict, whatever its digest says."""

CONSISTENT: dict[str, tuple[str, Tampering]] = {
    "a word renamed": ("unary", rename_word),
    "a word added, and counted in its layer": (
        "unary",
        lambda document: (document["words"].append(document["words"][3] | {"word": "b"}), count_word(document)),
    ),
    "an interval narrowed as by a higher threshold": ("unary", lower("words", 0, "high", by=0.99)),
    "fewest votes lowered to what is just enough": ("subset selection", add("layers", 0, "fewest_votes", more=-1)),
    "another seed": ("unary", put("seed", value=2)),
    "another description": ("unary", put("population", "description", value="a billion happy users")),
    "another profile": ("unary", put("profile", value="gboard-2024")),
    "an ε that promises less": ("unary", lower("privacy", "item_central", "best", by=2)),
    "a k that promises less": ("unary", add("privacy", "k_anonymity", "k", more=-1)),
    "a chance of unique words that promises less": ("unary", put("privacy", "unique_words", "chance", value=1e-5)),
    "fewer hostile devices": ("unary", put("privacy", "unique_words", "hostile_devices", value=0)),
}
"""Tamperings that leave a release that might have been."""


@pytest.mark.parametrize("name", CONSISTENT)
def test_tampering_that_no_fact_contradicts_is_refused_by_the_digest(
    name: str, releases: dict[str, Json], place: Path
) -> None:
    kind, tamper = CONSISTENT[name]
    document = copy.deepcopy(releases[kind])
    tamper(document)
    assert document != releases[kind]
    found = looked_at(document, place)
    assert not found.passed
    assert found.objections[0].startswith("the digest is not that of the release")


@pytest.mark.parametrize("name", CAUGHT)
def test_tampering_that_facts_contradict_is_refused_with_a_new_digest_too(
    name: str, releases: dict[str, Json], place: Path
) -> None:
    kind, tamper = CAUGHT[name]
    document = copy.deepcopy(releases[kind])
    tamper(document)
    assert digest(document) != document["digest"]
    found = looked_at(with_new_digest(document), place)
    assert not found.passed
    assert not any("digest" in objection for objection in found.objections)


@pytest.mark.parametrize("name", CONSISTENT)
def test_consistent_tampering_with_a_new_digest_is_refused_by_the_signature_alone(
    name: str, releases: dict[str, Json], place: Path
) -> None:
    """What a release says of words, seeds and names follows from nothing else in it.

    So who changes that, and the digest with it, has a release that might have been. Only a signature tells.
    """
    kind, tamper = CONSISTENT[name]
    document = sign_document(copy.deepcopy(releases[kind]), KEY)
    assert looked_at(document, place, KEY).passed
    tamper(document)
    forged = with_new_digest(document)
    assert looked_at(forged, place).passed
    found = looked_at(forged, place, KEY)
    assert not found.passed
    assert any("signature" in objection for objection in found.objections)


def test_a_release_made_up_as_a_whole_is_refused_by_the_signature_alone(releases: dict[str, Json], place: Path) -> None:
    """A forger who raises the reports, in the document too, and states the privacy that follows is believed unsigned.

    The same holds of an operator who lies: no figure of a release can show that so many devices reported.
    """
    document = sign_document(copy.deepcopy(releases["unary"]), KEY)
    document["population"]["users"] = 4 * 3_000_000  # type: ignore[index]
    document["words"] = []
    del document["layers"][1:]  # type: ignore[attr-defined]
    ended = {"kept": 0, "words": 0, "fewest_votes": 0}
    document["layers"][0].update(asked=3_000_000, reports=3_000_000, **ended)  # type: ignore[index]
    (true,) = read_documents(place.parent / NAME, [releases["unary"]["layers"][0]["digest"]]).values()
    layer = replace(read_layer(true), layer_size=3_000_000)
    document["layers"][0]["digest"] = layer.digest.hex()  # type: ignore[index]
    place.write_text(json.dumps(document), "utf-8")
    read = read_release_file(place)
    facts = privacy_facts(read.parameters, read.layers, None, Exposure())
    planted = planting_in(read.parameters, read.users, read.layers, read.words, read.exposure).document()
    stated = {"privacy": privacy_statement(facts, Source.SIMULATION), "planting": planted}
    place.write_text(json.dumps(with_new_digest(document | stated)), "utf-8")
    documents = {layer.digest.hex(): layer.document}
    assert certify(read_release_file(place), documents).passed
    assert not certify(read_release_file(place), documents, KEY.public_key()).passed


def test_a_signature_is_required_where_a_key_is_given(releases: dict[str, Json], place: Path) -> None:
    with pytest.raises(SignatureError, match="not signed"):
        looked_at(releases["unary"], place, KEY)
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    assert not looked_at(sign_document(releases["unary"], other), place, KEY).passed


def test_what_is_wrong_is_named_without_a_word_of_the_release(releases: dict[str, Json], place: Path) -> None:
    document = copy.deepcopy(releases["unary"])
    document["words"][1].update(word="secretword", votes=10**9)
    document["words"][2]["estimate"] = 1.0
    told = " ".join(looked_at(document, place).objections)
    assert "word 2 has 1,000,000,000 votes" in told
    assert "word 3 has an estimate or an interval" in told
    assert "secretword" not in told


def test_an_undecided_layer_is_covered_and_may_not_have_kept_anything(releases: dict[str, Json], place: Path) -> None:
    document = copy.deepcopy(releases["unary"])
    document["words"] = []
    del document["layers"][1:]
    document["layers"][0].update(reports=40, kept=0, words=0, fewest_votes=0, decided=False)
    place.write_text(json.dumps(document), "utf-8")
    read = read_release_file(place)
    facts = privacy_facts(read.parameters, read.layers, None, Exposure())
    document["privacy"] = privacy_statement(facts, Source.SIMULATION)
    document["planting"] = planting_in(read.parameters, read.users, read.layers, read.words, read.exposure).document()
    assert document["privacy"]["item_central"]["best"] == 0
    assert document["privacy"]["trust"]["observers"][1]["smallest_sum"] == 40
    assert looked_at(with_new_digest(document), place).passed
    document["layers"][0]["kept"] = 1
    assert "is not decided, but something" in " ".join(looked_at(document, place).objections)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("parameters", "epsilon"), None),
        (("population", "users"), 0),
        (("population", "users"), 2**40),
        (("layers", 0, "candidates"), 0),
        (("layers", 0, "candidates"), 2**52),
        (("layers", 0, "reports"), -1),
        (("layers", 0, "reports"), 0),
        (("layers", 0, "reports"), 2**52),
        (("layers", 0, "asked"), -1),
        (("layers", 0, "kept"), -1),
        (("exposure", "disk"), 0),
        (("exposure", "server"), -1),
        (("layers", 0, "fewest_votes"), -5),
        (("layers", 0, "extension"), 0),
        (("layers", 0, "extension"), 2**52),
        (("layers", 0, "length"), -3),
    ],
    ids=str,
)
def test_facts_from_which_nothing_follows_are_objected_to(
    path: tuple[str | int, ...], value: object, releases: dict[str, Json], place: Path
) -> None:
    document = copy.deepcopy(releases["unary"])
    put(*path, value=value)(document)
    found = looked_at(with_new_digest(document), place)
    assert found.claims == ()
    assert found.objections
    assert not found.passed


STRANGE: dict[str, tuple[tuple[str | int, ...], str]] = {
    "beside all": (("raw_counts",), "raw_counts"),
    "of the population": (("population", "people"), "population.people"),
    "of a parameter": (("parameters", "noise"), "parameters.noise"),
    "of the alphabet": (("parameters", "alphabet", "letters"), "parameters.alphabet.letters"),
    "of known words": (("parameters", "known", "list"), "parameters.known.list"),
    "of a layer": (("layers", 0, "votes"), "layers[].votes"),
    "of a layer, as Python has it": (("layers", 0, "pass_number"), "layers[].pass_number"),
    "of a word": (("words", 1, "holders"), "words[].holders"),
    "of the measurement": (("measurement", "people"), "measurement.people"),
    "of its coverage": (("measurement", "coverage", "people"), "measurement.coverage.people"),
    "of a word measured": (("measurement", "words", 0, "holders"), "measurement.words[].holders"),
    "of the exposure": (("exposure", "log"), "exposure.log"),
    "of the statement": (("privacy", "user_central", "log"), "privacy.user_central.log"),
    "that is no word": (("words", 0, "\x1b[2J" + "x" * 99), "words[].'\\x1b[2J" + "x" * 32 + "…"),
}


@pytest.mark.parametrize("where", STRANGE)
def test_what_no_release_says_is_objected_to_by_its_place(where: str, releases: dict[str, Json], place: Path) -> None:
    path, named = STRANGE[where]
    value = 1 if path[-1] == "pass_number" else None
    document = copy.deepcopy(releases["measured"])
    put(*path, value=value)(document)
    (objection,) = looked_at(with_new_digest(document), place).objections
    assert objection == f"it has {named}, which no release of format 3 has and no privacy statement covers"


def test_what_no_release_says_of_any_word_is_one_objection(releases: dict[str, Json], place: Path) -> None:
    document = copy.deepcopy(releases["measured"])
    for word in document["words"]:
        word["holders"] = ["user 17"]
    (objection,) = looked_at(with_new_digest(document), place).objections
    assert "user 17" not in objection


@pytest.mark.parametrize(
    "path", [("profile",), ("parameters", "alphabet", "name"), ("parameters", "known", "source")], ids=str
)
def test_a_name_is_a_text(path: tuple[str, ...], releases: dict[str, Json], place: Path) -> None:
    document = copy.deepcopy(releases["unary"])
    put(*path, value={"user 17": ["abba"]})(document)
    assert "Expected `str`" in refused(json.dumps(with_new_digest(document)), place)


@pytest.mark.parametrize("signature", [{"value": "00", "holders": ["user 17"]}, ["user 17"], "user 17"], ids=str)
def test_a_signature_that_nobody_verifies_has_no_more_to_say(
    signature: object, releases: dict[str, Json], place: Path
) -> None:
    assert not looked_at(releases["unary"] | {"signature": signature}, place).passed
    assert looked_at(sign_document(releases["unary"], KEY), place).passed


@pytest.mark.parametrize("name", ["campaign", "simulated", "holders"])
def test_older_formats_have_no_other_names_than_theirs(name: str, releases: dict[str, Json], place: Path) -> None:
    document = older(releases["unary"])
    told = looked_at(document, place).objections
    added = looked_at(with_new_digest(document | {name: True}), place).objections
    assert [said for said in added if said not in told] == [
        f"it has {name}, which no release of format 1 has and no privacy statement covers"
    ]


def refused(content: str | bytes, place: Path) -> str:
    """What is said of a file that is no release."""
    place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ReleaseError) as error:
        read_release_file(place)
    assert str(place) in str(error.value)
    return str(error.value)


def test_a_cut_file_is_refused_wherever_it_is_cut(releases: dict[str, Json], place: Path) -> None:
    text = release_text(releases["unary"]).encode()
    for end in [*range(0, len(text) - 2, 53), len(text) - 2]:
        assert "is not a complete JSON file" in refused(text[:end], place)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00", b"\xff\xfe\x00\xd8", bytes(range(256)), b"PAR1", b"{", b"word,votes\n", b"[" * 100_000, b"9" * 5000],
    ids=repr,
)
def test_what_is_no_json_is_refused(content: bytes, place: Path) -> None:
    assert "give the release.json of a discovery" in refused(content, place)


@pytest.mark.parametrize("content", ["[]", "1", "null", '"release"', "{}", '[{"format": 1}]'])
def test_json_that_is_no_release_is_refused(content: str, place: Path) -> None:
    assert "does not say which format" in refused(content, place)


def of_format_2(document: Json) -> Json:
    """The release as format 2 had it: without digests of layers, with k in each layer alone and no unique words."""
    lacking = ("campaign", "prefixes", "warnings", "planting")
    old = {name: value for name, value in copy.deepcopy(document).items() if name not in lacking} | {"format": 2}
    old["layers"] = [{name: value for name, value in layer.items() if name != "digest"} for layer in document["layers"]]
    for word in old["words"]:
        del word["since"]
    if old["measurement"]:
        del old["measurement"]["digest"]
    for name in LACKING_PARAMETERS:
        del old["parameters"][name]
    old["parameters"] |= DROPPED_PARAMETERS
    old["layers"] = [layer | {"doubtful": 0} for layer in old["layers"]]
    for name in ("unique_words", "thresholds"):
        del old["privacy"][name]
    for central in (old["privacy"]["item_central"], old["privacy"]["user_central"]):
        for part in (central, central["theorems"], central["reasons"]):
            part.pop("allocation", None)
    anonymity = old["privacy"]["k_anonymity"]
    anonymity["covers"] = (
        "released words, and prefixes and words in doubt that devices are told, by holders in their cohort"
    )
    for name in ("passes", "expected_below_k"):
        del anonymity[name]
    anonymity["reasons"].pop("expected_below_k", None)
    return with_new_digest(old)


def test_a_release_without_digests_is_read_and_what_it_lacks_is_said(releases: dict[str, Json], place: Path) -> None:
    found = looked_at(of_format_2(releases["unary"]), place)
    assert uncovered(found) == []
    (objection,) = found.objections
    assert objection.startswith("it has format 2, without its campaign's identity and the digests of layer documents")


def older(document: Json, **changes: object) -> Json:
    """The release as version 0.2.0 wrote it."""
    old = {name: value for name, value in of_format_2(document).items() if name != "simulated"}
    old["privacy"] = {name: value for name, value in old["privacy"].items() if name != "applies_to"}
    return with_new_digest(old | {"format": 1, "score": None} | changes)


ADAPTIVE: dict[str, Tampering] = {
    "of several symbols a layer": put("parameters", "adaptive", value=True),
    "with words in doubt": put("parameters", "doubtful", value=20_000),
}


@pytest.mark.parametrize("change", ADAPTIVE)
@pytest.mark.parametrize("number", [2, 3])
def test_a_release_of_a_trie_that_is_no_more_is_refused_with_a_reason(
    change: str, number: int, releases: dict[str, Json], place: Path
) -> None:
    document = copy.deepcopy(releases["unary"])
    if number == 2:
        document = of_format_2(document)
    ADAPTIVE[change](document)
    assert "was made by an older version: its layers may extend prefixes by several" in refused(
        json.dumps(with_new_digest(document)), place
    )


TWO_PASSES = "unary in two passes"


def with_votes_for_k(document: Json, passes: int) -> Json:
    """The release as if each layer had kept something with just the votes for k, if so many passes share 1-α."""
    found = copy.deepcopy(document)
    parameters = found["parameters"]
    for layer in found["layers"]:
        channel = randomizer("unary", layer["candidates"], parameters["epsilon"], parameters["words_per_user"]).channel
        layer["fewest_votes"] = AnonymityPromise(10, 0.95, passes=passes).votes_for_k(channel, layer["reports"])
    return with_new_digest(found)


def test_the_figures_of_older_formats_are_those_that_they_promised(releases: dict[str, Json], place: Path) -> None:
    per_pass, shared = (with_votes_for_k(releases[TWO_PASSES], passes) for passes in (1, 2))
    assert per_pass["layers"] != shared["layers"]
    tries = [document for document in releases.values() if document["parameters"]["layers"] is None]
    for document in (per_pass, shared, *tries):
        found = looked_at(of_format_2(document), place)
        assert uncovered(found) == []
        assert [objection[:15] for objection in found.objections] == ["it has format 2"]
        assert not any(claim.name.startswith(("unique_words", "thresholds")) for claim in found.claims)


def test_thresholds_of_each_pass_alone_are_not_enough_for_a_release_of_today(
    releases: dict[str, Json], place: Path
) -> None:
    promising = copy.deepcopy(releases[TWO_PASSES])
    promising["parameters"] |= {"unique_chance": 0.0, "hostile_devices": 0}
    for passes, enough in ((1, False), (2, True)):
        document = with_votes_for_k(promising, passes)
        place.write_text(json.dumps(document), "utf-8")
        read = read_release_file(place)
        facts = privacy_facts(read.parameters, read.layers, None, Exposure())
        found = looked_at(with_new_digest(document | {"privacy": privacy_statement(facts, Source.SIMULATION)}), place)
        assert found.passed == enough
        assert any("are needed" in objection for objection in found.objections) != enough


def test_an_older_release_that_claims_what_its_format_never_promised_is_refused(
    releases: dict[str, Json], place: Path
) -> None:
    document = of_format_2(releases["unary"])
    document["privacy"]["unique_words"] = releases["unary"]["privacy"]["unique_words"]
    found = looked_at(with_new_digest(document), place)
    assert not found.passed
    assert any(name.startswith("unique_words") for name in uncovered(found))


def test_an_older_release_is_still_read_but_a_score_of_real_people_is_objected_to(
    releases: dict[str, Json], place: Path
) -> None:
    score = {"precision": 1.0}
    simulation = looked_at(older(releases["unary"], score=score), place)
    assert ([each[:15] for each in simulation.objections], simulation.simulated) == (["it has format 1"], True)
    exposure = {"disk": 100, "server": 1, "masked": None}
    live = {"fidelity": "live", "seed": None, "exposure": exposure}
    found = looked_at(older(releases["unary"], **live), place)
    assert ([each[:15] for each in found.objections], found.simulated) == (["it has format 1"], False)
    scored = looked_at(older(releases["unary"], **live, score=score), place)
    assert [objection[:7] for objection in scored.objections] == ["a score", "it has "]


@pytest.mark.parametrize("version", [0, 4, 99, "1", 3.0, True, None, [1], {}])
def test_another_format_is_named(version: object, releases: dict[str, Json], place: Path) -> None:
    told = refused(json.dumps(releases["unary"] | {"format": version}), place)
    assert f"has format {version!r}, and this neologue reads 3" in told


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a document."""
    if path:
        yield path
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from paths(each, (*path, step))


NEEDED = (
    ("parameters",),
    ("population",),
    ("layers",),
    ("words",),
    ("privacy",),
    ("population", "users"),
    ("parameters", "epsilon"),
    ("parameters", "colluders"),
    ("parameters", "alphabet", "symbols"),
    ("layers", 0, "reports"),
    ("layers", 0, "pass"),
    ("words", 0, "votes"),
    ("words", 0, "word"),
)


@pytest.mark.parametrize("path", NEEDED, ids=str)
def test_a_missing_field_is_named(path: tuple[str | int, ...], releases: dict[str, Json], place: Path) -> None:
    document = copy.deepcopy(releases["unary"])
    del inside(document, path[:-1])[path[-1]]
    told = refused(json.dumps(document), place)
    assert ("pass_number" if path[-1] == "pass" else str(path[-1])) in told


@pytest.mark.parametrize("value", [None, "7", 7.5, [7], {"a": 7}, True], ids=repr)
@pytest.mark.parametrize("path", NEEDED, ids=str)
def test_a_field_of_another_type_is_refused_or_objected_to(
    path: tuple[str | int, ...], value: object, releases: dict[str, Json], place: Path
) -> None:
    document = copy.deepcopy(releases["unary"])
    put(*path, value=value)(document)
    found = looked_at_if_readable(document, place)
    # A few of these values are of the right type.
    assert found is None or (path[-1] in {"epsilon", "word", "colluders", "privacy"} and not found.passed)


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", str(2**53), "1" + "0" * 400, '"\\ud800"']
)
@pytest.mark.parametrize("path", [("seed",), ("privacy", "item_central", "best"), ("words", 0, "estimate"), ("more",)])
def test_a_value_that_not_every_reader_of_json_takes_is_refused(
    literal: str, path: tuple[str | int, ...], releases: dict[str, Json], place: Path
) -> None:
    document = copy.deepcopy(releases["unary"])
    put(*path, value="@@")(document)
    refused(json.dumps(document).replace('"@@"', literal), place)


def test_a_name_that_stands_twice_is_refused_for_readers_differ_in_which_they_take(
    releases: dict[str, Json], place: Path
) -> None:
    text = json.dumps(sign_document(releases["unary"], KEY))
    assert looked_at(text, place, KEY).passed
    refused('{"words": [], ' + text[1:], place)
    refused(text.replace('"item_central": {', '"item_central": {"best": 0.1, '), place)


def test_nesting_has_an_end(releases: dict[str, Json], place: Path) -> None:
    for levels in (30, 400):
        deep = "[" * levels + "]" * levels
        document = releases["unary"] | {"more": "@@"}
        assert "nested too deeply" in refused(json.dumps(document).replace('"@@"', deep), place)


def test_a_file_larger_than_any_release_is_refused(
    releases: dict[str, Json], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(releases["unary"])
    monkeypatch.setattr(codec, "LARGEST_FILE", len(text))
    assert looked_at(text, place).passed
    assert "has more than" in refused(text + " ", place)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**31, 2**53 - 1, 2**53, 10**30, 10**400])
    | st.floats()
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=120)
@given(data=st.data())
def test_no_change_whatever_gives_a_traceback_or_passes(
    data: st.DataObject, releases: dict[str, Json], place: Path
) -> None:
    original = releases[data.draw(st.sampled_from(["unary", "subset selection with k"]))]
    document = copy.deepcopy(original)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(paths(document), key=str)))
        holder = inside(document, path[:-1])
        if data.draw(st.booleans()):
            holder[path[-1]] = data.draw(values)
        else:
            del holder[path[-1]]
        if not document:
            return
    if found := looked_at_if_readable(document, place):
        same = digest(document) == digest(original) and document.get("digest") == original["digest"]
        assert found.passed == same


FACTS = ("parameters", "layers", "population")


@settings(max_examples=60)
@given(data=st.data())
def test_no_figure_of_the_facts_gives_a_traceback_even_with_a_new_digest(
    data: st.DataObject, releases: dict[str, Json], place: Path
) -> None:
    document = copy.deepcopy(releases[data.draw(st.sampled_from(["unary", "subset selection with k"]))])
    figures = [
        path
        for path in paths(document)
        if path[0] in FACTS and isinstance(inside(document, path), int | float) and path[-1] != "decided"
    ]
    path = data.draw(st.sampled_from(figures))
    small, large = st.integers(-3, 3), st.integers(-(2**53) + 1, 2**53 - 1)
    real = st.floats(0, 1) if isinstance(inside(document, path), float) else small
    put(*path, value=data.draw(small | large | st.integers(1, 5000) | real))(document)
    looked_at_if_readable(with_new_digest(document), place)
