"""A release of real people's data holds parameters, numbers of reports and what sums decide, and nothing else."""

import json

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.populations.streams import SecretSeed
from neologue.populations.user_keys import keys_of, ranks
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release, release_text
from neologue.release.layer_archive import by_digest
from neologue.reporting.simulated_release import discovery_document, truth_document
from neologue.simulation.discovery_run import DiscoveryRun

USERS = 3000
Typed = dict[str, dict[str, int]]


@pytest.fixture
def typed() -> Typed:
    """Users of whom many hold "abba", and one holds "hivtest"."""
    users = {f"u{number}": {"abba": 1} if number % 2 else {"bab": 2} for number in range(USERS)}
    users["u5"]["hivtest"] = 1
    return users


@pytest.fixture
def fixed_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same secret seed for every run."""
    monkeypatch.setattr(SecretSeed, "draw", lambda: SecretSeed(2**100 + 7))


def run(users: Typed, fidelity: str = "fast", seed: int | None = None) -> DiscoveryRun:
    alphabet = Alphabet("abehistv")
    # Few candidates, so that real devices make their reports in a moment.
    campaign = Campaign.from_profile(
        users=USERS,
        known=Vocabulary(["known"]),
        depth=7,
        epsilon=6.0,
        alphabet=alphabet,
        words_per_user=4,
        candidates=5_000,
    )
    return discover(Population.from_words(users), campaign, fidelity=fidelity, seed=seed)


def text(discovery: DiscoveryRun) -> bytes:
    return release_text(discovery_document(discovery)).encode()


def last_asked(users: Typed, asked: int) -> str:
    """The user whose place in the order is the last of those asked."""
    names = list(users)
    return names[int(np.argsort(ranks(keys_of(names), 0), kind="stable")[asked - 1])]


@pytest.mark.usefixtures("fixed_secret")
@pytest.mark.parametrize("fidelity", ["fast", "exact"])
def test_a_word_that_decides_nothing_leaves_no_trace_in_the_release(typed: Typed, fidelity: str) -> None:
    """One pair of a user and a word more, of a word whose prefix was dropped before the user was asked."""
    before = run(typed, fidelity)
    user = last_asked(typed, sum(layer.asked for layer in before.release.layers))
    after = run(typed | {user: typed[user] | {"hivtest": 1}}, fidelity)
    assert {word.word for word in before.release.words} == {"abba", "bab"}
    assert before.truth["hivtest"] + 1 == after.truth["hivtest"], "the data differ"
    assert text(before) == text(after)
    assert truth_document(before, discovery_document(before)) != truth_document(after, discovery_document(after))


@pytest.mark.usefixtures("fixed_secret")
def test_a_word_that_nobody_else_holds_leaves_no_trace_in_the_release(typed: Typed) -> None:
    """A new row, a new word: it has a character outside the alphabet, so that no layer asks for it."""
    before, after = run(typed), run(typed | {"u17": typed["u17"] | {"hiv-test!": 1}})
    assert before.population != after.population
    assert text(before) == text(after)


def test_real_people_are_randomized_anew_each_time_and_no_seed_is_told(typed: Typed) -> None:
    documents = [discovery_document(run(typed)) for _ in range(2)]
    assert documents[0]["words"] != documents[1]["words"]
    for document in documents:
        assert (document["seed"], document["simulated"], document["fidelity"]) == (None, False, "fast")
        assert "score" not in document
        assert document["population"] == {"users": USERS, "description": "3,000 users of memory"}


@pytest.mark.parametrize("fidelity", ["fast", "exact", "devices"])
def test_the_statement_of_recorded_words_is_against_readers_only(typed: Typed, fidelity: str) -> None:
    found = run(typed, fidelity)
    certification = certify(decode_release(text(found), "release.json"), by_digest(found.documents))
    assert certification.passed, certification
    assert not certification.simulated
    claims = {claim.name: str(claim.stated) for claim in certification.claims}
    assert "only against readers of the release" in claims["applies_to"]
    assert "protect from nobody" in claims["trust.local"]
    assert "the system's entropy" in claims["trust.assumptions.0"]
    assert "not made for cryptography" in claims["trust.assumptions.0"]
    assert [claims[name] for name in claims if name.endswith(".who")] == ["reader of the release"]


def test_devices_do_not_depend_on_the_secret_seed(typed: Typed, fixed_secret: None) -> None:
    one, other = (run(typed, "devices").release.words for _ in range(2))
    assert {word.word for word in one} == {word.word for word in other} == {"abba", "bab"}
    assert one != other, "their randomness is that of real devices"


def test_with_a_seed_the_release_is_a_simulation_that_promises_nothing(typed: Typed) -> None:
    found = run(typed, seed=4)
    assert text(found) == text(run(typed, seed=4))
    document = json.loads(text(found))
    assert (document["seed"], document["simulated"]) == (4, True)
    assert document["privacy"]["applies_to"].startswith("nobody: a simulation with a known seed")
    certification = certify(decode_release(text(found), "release.json"), by_digest(found.documents))
    assert (certification.passed, certification.simulated) == (True, True)


def test_the_truth_is_a_document_of_its_own_that_says_whom_it_concerns(typed: Typed) -> None:
    found = run(typed)
    release = discovery_document(found)
    truth = truth_document(found, release)
    assert truth["notice"] == (
        "As confidential as the data: exact figures of what users hold, which no privacy statement covers."
    )
    assert truth["release"] == release["digest"]
    assert truth["population"] == "3,000 users of memory, 3,001 rows, 3 words"
    figures = {"coverage": 3000 / 3001, "precision": 1.0, "words_true": 3, "words_released": 2, "words_below_k": 0}
    assert truth["score"] == figures


def test_simulated_users_have_seed_0_and_are_a_simulation() -> None:
    campaign = Campaign.from_profile(
        users=3000, known=Vocabulary.builtin("id"), depth=3, candidates=50_000, epsilon=10.0
    )
    found, same = (discover(Population.embedded("id", 3000), campaign, seed=seed) for seed in (None, 0))
    document = discovery_document(found)
    assert document == discovery_document(same)
    assert (document["seed"], document["simulated"]) == (0, True)
    assert "simulated" in str(truth_document(found, document)["notice"])


def test_a_secret_seed_does_not_show_itself() -> None:
    one, other = SecretSeed.draw(), SecretSeed.draw()
    assert one != other
    assert max(one, other) >= 2**64, "more than can be tried"
    assert str(int(one)) not in f"{one!r} {one!s} {[one]}"
