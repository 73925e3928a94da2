"""What is said of words that few report, over all campaigns of a population."""

from pathlib import Path

import pytest

from neologue.ledger.rare_words import RareWords
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances

NEOLOGUE = AnonymityChances(10, 0.05, 1e-6, 1)
DOCUMENT = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_what_the_document_quotes_is_what_two_campaigns_say() -> None:
    rare = RareWords.over([NEOLOGUE, NEOLOGUE])
    assert rare
    lines = DOCUMENT.read_text("utf-8").splitlines()
    quoted = " ".join(line.removeprefix("> ") for line in lines if line.startswith("> "))
    assert quoted == " ".join(rare.sentences)


def test_without_campaigns_that_told_anything_nothing_is_said() -> None:
    assert RareWords.over([]) is None


@pytest.mark.parametrize(
    ("rare", "few", "unique"),
    [
        (AnonymityChances(10, 0.05, 1.0, 0), "What fewer than 10 users", "Nothing is promised for a word of one user"),
        (AnonymityChances(0, 1.0, 1e-6, 1), "At least one campaign", "A word of one user alone may have been shown"),
        (None, "At least one campaign", "Nothing is promised for a word of one user"),
    ],
)
def test_one_promise_that_is_missing_takes_nothing_from_the_other(
    rare: AnonymityChances | None, few: str, unique: str
) -> None:
    over = RareWords.over([NEOLOGUE, rare])
    assert over
    assert over.campaigns == 2
    assert over.sentences[0].startswith(few)
    assert over.sentences[1].startswith(unique)


def test_chances_are_shown_rounded_up() -> None:
    rare = RareWords(10, 0.1001, 0.0001234, 12, campaigns=3)
    assert "a chance of at most 0.101." in rare.sentences[0]
    assert "a chance of at most 0.000124, even if 12 devices of each layer are hostile." in rare.sentences[1]
