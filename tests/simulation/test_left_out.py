"""What a campaign can't find is counted, and words of one form are one word in every fidelity."""

from dataclasses import replace
from typing import Any

import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.reporting.short_facts import MUCH_LEFT_OUT, MUCH_TOO_OLD, as_sentences, left_out_facts, warnings_of
from neologue.reporting.simulated_release import discovery_document, truth_document
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.left_out import LeftOut

USERS = 1600


def run(words: dict[str, int], fidelity: str = "fast", case: str = "fold", punctuation: str = "strip") -> DiscoveryRun:
    """Users of whom half type these words, and half others that become the same."""
    louder = {word.capitalize() + "!": times for word, times in words.items()}
    users = {f"u{number}": words if number % 2 else louder for number in range(USERS)}
    campaign = Campaign.from_profile(
        users=USERS,
        known=Vocabulary(["Abe"]),
        alphabet=Alphabet("abehABEH'"),
        depth=5,
        epsilon=8.0,
        words_per_user=6,
        candidates=5_000,
        case=case,
        punctuation=punctuation,
    )
    return discover(Population.from_words(users), campaign, fidelity=fidelity, seed=1)


WORDS = {"abba": 1, "abe": 1, "hab’e": 1, "bäh": 1, "abbahabba": 1, "…": 1}


@pytest.mark.parametrize("fidelity", ["fast", "exact", "devices"])
def test_one_word_is_found_however_it_is_typed(fidelity: str) -> None:
    found = run(WORDS, fidelity)
    assert sorted(word.word for word in found.release.words) == ["abba", "hab'e"]
    assert found.truth == {"abba": USERS, "hab'e": USERS}
    assert found.score.coverage == 1.0


def test_words_that_are_kept_as_typed_are_several() -> None:
    found = run(WORDS, case="keep", punctuation="keep")
    assert found.truth == {"abba": USERS // 2, "abe": USERS // 2}, (
        "a small abe is not the known Abe, and ! not in the alphabet"
    )


def test_what_is_left_out_is_counted_by_its_reason_and_shown_to_no_reader() -> None:
    found = run(WORDS)
    assert found.left_out == LeftOut(
        pairs=5 * USERS, alphabet=USERS, length=USERS, empty=USERS, characters="ä", rows=6 * USERS, old_rows=0
    )
    document = discovery_document(found)
    truth = truth_document(found, document)
    assert truth["left_out"] == {
        "pairs": 5 * USERS,
        "alphabet": USERS,
        "length": USERS,
        "empty": USERS,
        "characters": "ä",
        "rows": 6 * USERS,
        "old_rows": 0,
        "share": pytest.approx(0.6),
        "old_share": 0.0,
    }
    assert "left_out" not in document
    (said,) = as_sentences(left_out_facts(found.left_out, found.release.campaign))
    assert "Left out: 60.0 % of what users hold besides known words (20.0 % with a character" in said
    assert "that the alphabet own lacks, such as ä" in said
    assert "; the coverage is that of the rest." in said
    assert MUCH_LEFT_OUT in warnings_of(found, privacy_of(found))


def privacy_of(found: DiscoveryRun) -> dict[str, Any]:
    """The privacy statement of a run."""
    statement = discovery_document(found)["privacy"]
    assert isinstance(statement, dict)
    return statement


@pytest.mark.parametrize(("left", "lines"), [(0, 0), (1, 1), (10, 1), (11, 2)])
def test_more_than_a_tenth_is_warned_of(left: int, lines: int) -> None:
    found = run({"abba": 1})
    for mostly_left, warning in (
        (LeftOut(100, left, 0, 0, "", 100, 0), MUCH_LEFT_OUT),
        (LeftOut(100, 0, 0, 0, "", 100, left), MUCH_TOO_OLD),
    ):
        facts = left_out_facts(mostly_left, found.release.campaign)
        warned = warning in warnings_of(replace(found, left_out=mostly_left), privacy_of(found))
        assert len(facts) + warned == lines


def test_rows_that_are_too_old_are_counted() -> None:
    (old,) = left_out_facts(LeftOut(100, 0, 0, 0, "", 100, 11), run({"abba": 1}).release.campaign)
    assert old == ("too old", "11 of 100 rows (11.0 %) are older than the last 60 days, and do not count")


def test_a_character_that_few_type_is_not_shown() -> None:
    users = {f"u{number}": {"abba": 1} for number in range(USERS)}
    for number in range(12):
        users[f"u{number}"] = {"abba": 1, "höh": 1} | ({"ñ": 1} if number < 9 else {})
    campaign = Campaign.from_profile(users=USERS, alphabet=Alphabet("abeh"), depth=5, epsilon=8.0, candidates=5_000)
    found = discover(Population.from_words(users), campaign, seed=1)
    assert found.left_out.alphabet == 12 + 9
    assert found.left_out.characters == "ö", "at least k = 10 hold a word with it; ñ has 9"
