"""A release claims that nobody knows who was where only if slots were drawn and layers counted what was planned."""

import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from neologue import Alphabet, Campaign, Measuring, Population, Vocabulary, discover
from neologue.masking.rules import GroupRules
from neologue.privacy.allocation.planned_layers import FILLED, planned_reports
from neologue.privacy.statement import KNOWS_SLOTS, SLOTS, Exposure, Source, privacy_statement
from neologue.protocol.documents import read_layer
from neologue.release.certification.certificate import Certification, certify
from neologue.release.codec import Provenance, decode_release, release_document
from neologue.release.facts import MASKED, privacy_facts, release_facts
from neologue.release.foreseen import foreseen_charge, foreseen_facts
from neologue.release.foreseen_cost import reader_epsilon
from neologue.release.layer_archive import by_digest
from neologue.simulation.discovery_run import DiscoveryRun

Json = dict[str, Any]

USERS = 3000
SHARES = {"abba": 0.6, "cab": 0.5, "bac": 0.4, "cabbac": 0.5}
SMALL: Json = {
    "alphabet": Alphabet("abcdefgh"),
    "known": Vocabulary(["bb", "abbacab", "cabbaca", "bacabba", "aabbacc"]),
    "candidates": 3000,
    "depth": 8,
    "epsilon": 3.0,
    "layers": 3,
    "words_per_user": 4,
    "delta": 1e-6,
}


def people() -> Population:
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(USERS)}
    return Population.from_words({user: words or {"bb": 1} for user, words in held.items()})


def run(measuring: int = 0, seed: int | None = 1, **changes: object) -> DiscoveryRun:
    settings: Json = {"name": "neologue", "users": USERS - measuring, **SMALL} | changes
    measure = Measuring(measuring) if measuring else None
    return discover(people(), Campaign.from_profile(**settings), seed=seed, measure=measure)


@pytest.fixture(scope="module")
def drawn() -> DiscoveryRun:
    return run()


def document_of(discovery: DiscoveryRun, fidelity: str = "fast") -> Json:
    said = release_document(discovery.release, Provenance("people", fidelity, discovery.seed))
    return dict(json.loads(json.dumps(said)))


def certified(document: Json, discovery: DiscoveryRun) -> Certification:
    return certify(decode_release(json.dumps(document).encode(), "release.json"), by_digest(discovery.documents))


def lied(discovery: DiscoveryRun, change: Callable[[Json], object]) -> Certification:
    """A lie, with the statement that follows from it."""
    document = document_of(discovery)
    change(document)
    read = decode_release(json.dumps(document).encode(), "release.json")
    facts = privacy_facts(read.parameters, read.layers, read.measurement, read.exposure)
    return certified(document | {"privacy": privacy_statement(facts, read.provenance.source)}, discovery)


def test_layers_count_what_was_planned_however_many_users_they_have(drawn: DiscoveryRun) -> None:
    planned = planned_reports(1000, 1e-6)
    assert [(layer.asked, layer.reports) for layer in drawn.release.layers] == [(1000, planned)] * 3
    assert {word.word for word in drawn.release.words} >= {"abba", "cab", "cabbac"}


def test_the_claim_is_for_readers_and_for_nobody_who_knows_more(drawn: DiscoveryRun) -> None:
    # As if devices had reported: then the disk and the server are observers, too.
    facts = replace(release_facts(drawn.release), exposure=Exposure(disk=20))
    statement: Json = privacy_statement(facts, Source.DEVICES)
    for part in ("item_central", "user_central"):
        assert statement[part]["best"] == statement[part]["allocation"]
        assert "allocation.md" in statement[part]["theorems"]["best"]
    assert statement["user_central"]["allocation"] < 0.9 * statement["user_central"]["joint"]
    reader, disk, server = statement["trust"]["observers"]
    assert reader["user_epsilon"] == statement["user_central"]["best"]
    whole: Json = privacy_statement(
        replace(facts, allocation=foreseen_filled().allocation, exposure=Exposure(disk=None))
    )
    assert disk["user_epsilon"] > whole["user_central"]["best"]
    assert server["user_epsilon"] > disk["user_epsilon"]
    assert facts.received.allocation.reason == KNOWS_SLOTS
    assert SLOTS in statement["trust"]["assumptions"]
    assert statement["item_central"]["lower_bound"] <= statement["item_central"]["best"]


def foreseen_filled() -> Any:  # noqa: ANN401
    campaign = Campaign.from_profile(**{"name": "neologue", "users": USERS, **SMALL, "allocation": "filled"})
    return foreseen_facts(campaign, None, Exposure())


def test_a_disk_that_has_whole_layers_still_knows_the_slots(drawn: DiscoveryRun) -> None:
    statement: Json = privacy_statement(release_facts(drawn.release), Source.DEVICES)
    reader, disk, _ = statement["trust"]["observers"]
    assert disk["user_epsilon"] == statement["user_central"]["joint"] > reader["user_epsilon"]


def test_what_is_foreseen_is_what_comes(drawn: DiscoveryRun) -> None:
    campaign = drawn.release.campaign
    foreseen = foreseen_facts(campaign, None, Exposure())
    assert foreseen.allocation == release_facts(drawn.release).allocation
    assert foreseen_charge(campaign, None).allocation == release_facts(drawn.release).charged.allocation


def test_a_release_with_drawn_slots_is_certified(drawn: DiscoveryRun) -> None:
    found = certified(document_of(drawn), drawn)
    assert found.objections == ()
    assert found.passed


def test_users_who_measure_have_slots_too() -> None:
    measured = run(measuring=600)
    facts = release_facts(measured.release)
    assert measured.release.measurement is not None
    assert measured.release.measurement.reports == planned_reports(600, 1e-6)
    assert [layer.share for layer in facts.allocation.layers] == pytest.approx([800 / 3000] * 3 + [600 / 3000])
    assert certified(document_of(measured), measured).passed


def test_whoever_was_to_measure_hides_others_too_if_there_is_nothing_to_measure() -> None:
    """Whether anybody measures follows from sums; so the claim is the one that was planned, and not a known layer's."""
    nothing = run(measuring=600, known=Vocabulary(["bb", *SHARES]))
    release = nothing.release
    assert not release.words
    assert release.measurement is not None
    assert (release.measurement.asked, release.measurement.reports) == (600, 0)
    facts, foreseen = release_facts(release), foreseen_facts(release.campaign, Measuring(600), Exposure())
    assert facts.allocation == foreseen.allocation
    assert reader_epsilon(facts, "user") == reader_epsilon(foreseen, "user")
    document = document_of(nothing)
    assert certified(document, nothing).passed
    document["measurement"]["reports"] = 5
    assert certified(document, nothing).objections


def test_layers_that_fill_up_claim_nothing_and_say_why() -> None:
    filled = run(allocation="filled")
    statement: Json = document_of(filled)["privacy"]
    assert [layer.reports for layer in filled.release.layers] == [1000] * 3
    for part in ("item_central", "user_central"):
        assert statement[part]["allocation"] is None
        assert statement[part]["reasons"]["allocation"] == FILLED
    assert SLOTS not in statement["trust"]["assumptions"]
    assert certified(document_of(filled), filled).passed


def test_a_layer_with_more_users_than_planned_withdraws_the_claim(drawn: DiscoveryRun) -> None:
    def overflow(document: Json) -> None:
        document["layers"][2]["reports"] += 1

    facts = release_facts(drawn.release)
    layers = [*drawn.release.layers[:2], replace(drawn.release.layers[2], reports=planned_reports(1000, 1e-6) + 1)]
    withdrawn = privacy_facts(drawn.release.campaign.parameters, layers, None, Exposure())
    assert facts.allocation.layers
    assert "were planned" in (withdrawn.allocation.reason or "")
    document = document_of(drawn)
    overflow(document)
    assert not certified(document, drawn).passed, "the old figures are not covered any more"


def test_later_layers_that_ask_for_fewer_words_cost_a_user_less(drawn: DiscoveryRun) -> None:
    fewer = run(later_words=(3, 2))
    assert [read_layer(document).bound for document in fewer.documents] == [4, 3, 2]
    assert [layer.words for layer in release_facts(fewer.release).allocation.layers] == [4, 3, 2]
    found = certified(document_of(fewer), fewer)
    assert found.passed, found.objections
    costs = [document_of(each)["privacy"]["user_central"]["best"] for each in (fewer, drawn)]
    assert costs[0] < 0.95 * costs[1]
    measured = run(measuring=600, later_words=(3, 2))
    assert [layer.words for layer in release_facts(measured.release).allocation.layers] == [4, 3, 2, 4]
    assert certified(document_of(measured), measured).passed


@pytest.mark.parametrize("stated", [[], [3], [2, 2], [1, 1]], ids=str)
def test_other_numbers_of_words_than_devices_were_told_are_objected_to(stated: list[int]) -> None:
    fewer = run(later_words=(3, 2))
    found = lied(fewer, lambda document: document["parameters"].update(later_words=stated))
    assert any("words per user" in objection for objection in found.objections)


LIES: dict[str, Callable[[Json], object]] = {
    "filled layers": lambda document: document["parameters"].update(allocation="filled"),
    "fewer reports than planned": lambda document: document["layers"][1].update(reports=1000),
    "other shares": lambda document: document["layers"][0].update(asked=1100, reports=planned_reports(1100, 1e-6)),
    "a smaller δ": lambda document: document["parameters"].update(delta=1e-9),
    "more layers": lambda document: document["parameters"].update(layers=4),
    "live": lambda document: document.update(fidelity="live", seed=None, simulated=False, campaign="ab" * 16),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_slots_are_objected_to(lie: str, drawn: DiscoveryRun) -> None:
    assert certified(document_of(drawn), drawn).passed
    assert lied(drawn, LIES[lie]).objections


def test_masked_groups_claim_nothing(drawn: DiscoveryRun) -> None:
    release = replace(drawn.release, exposure=Exposure(masked=GroupRules(size=40, smallest=20)))
    assert release_facts(release).allocation.reason == MASKED


def test_nothing_published_depends_on_how_many_users_a_layer_had(drawn: DiscoveryRun) -> None:
    """Two runs with other slots have the same numbers everywhere but in votes and what follows from them."""
    other = run(seed=2)

    def without_votes(document: Json) -> Json:
        left = copy.deepcopy(document)
        for name in ("seed", "digest", "words", "planting"):
            del left[name]
        for layer in left["layers"]:
            for name in ("fewest_votes", "digest", "kept", "words", "candidates"):
                del layer[name]
        for name in ("thresholds", "k_anonymity"):
            del left["privacy"][name]
        return left

    assert without_votes(document_of(drawn)) == without_votes(document_of(other))
