"""What a character model learns from words."""

import numpy as np
import pytest

from neologue.language.alphabet import Alphabet
from neologue.language.spelling_costs import STEPS_PER_NAT, SpellingCosts
from neologue.language.spelling_training import LEAST_CHANCE, learn_spelling

ALPHABET = Alphabet("abcdefghijklmnopqrstuvwxyz")
WORDS = (
    "qua",
    "quad",
    "quaff",
    "quake",
    "quart",
    "quash",
    "quay",
    "quell",
    "anna",
    "bend",
    "cone",
    "dne",
    "end",
    "fnb",
)
"""`u` follows `q` alone, eight times; `n` follows several symbols, fewer times in all."""


@pytest.fixture(scope="module")
def learnt() -> SpellingCosts:
    return learn_spelling(ALPHABET, frozenset(WORDS))


def after(spelling: SpellingCosts, context: str, symbol: str) -> int:
    return int(spelling.cost[spelling.contexts.index(context), ALPHABET.codes(np.array([ord(symbol)], np.uint32))[0]])


def test_the_chances_of_what_follows_a_context_are_those_of_a_law(learnt: SpellingCosts) -> None:
    # Each cost is a chance rounded to half a unit, and so is each of at most three back-offs that it may be added to.
    rounding = np.exp(4 * 0.5 / STEPS_PER_NAT)
    sums = np.exp(-learnt.cost / STEPS_PER_NAT).sum(axis=1)
    assert (sums < rounding).all()
    assert (sums > 1 / rounding).all()


def test_a_symbol_that_follows_many_others_is_likelier_in_a_new_place_than_one_that_often_follows_the_same(
    learnt: SpellingCosts,
) -> None:
    text = "".join(WORDS)
    assert text.count("u") > text.count("n")
    assert after(learnt, "", "n") < after(learnt, "", "u")


def test_any_symbol_may_follow_any_context(learnt: SpellingCosts) -> None:
    dearest = learnt.cost[0].max()
    assert dearest <= round(-STEPS_PER_NAT * np.log(LEAST_CHANCE))
    assert learnt.cost.max() <= dearest + learnt.backoffs.max() * 3


def test_a_large_alphabet_leaves_most_of_the_chances_to_symbols_that_were_seen() -> None:
    words = frozenset(chr(0x4E00) * length for length in range(1, 10))
    spelling = learn_spelling(Alphabet("".join(chr(0x4E00 + number) for number in range(2000))), words)
    seen = np.exp(-spelling.cost[0, :2] / STEPS_PER_NAT).sum()
    assert seen > 0.8


def test_without_known_words_every_symbol_is_as_likely_as_any_other() -> None:
    spelling = learn_spelling(ALPHABET, frozenset())
    assert len(set(spelling.cost[0].tolist())) == 1
