"""The chances of a lexicon against users drawn from the same law."""

import numpy as np
import pytest
from numpy.typing import NDArray

from neologue.campaign.campaign import Campaign
from neologue.errors import LanguageError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import EmbeddedPopulation
from neologue.randomizers.channel import Floats

USERS = 8000
KNOWN = Vocabulary(["abba", "cab"])


def population(words: dict[str, float], users: int = USERS) -> EmbeddedPopulation:
    """Users who type these words, each with this share of all they type."""
    return EmbeddedPopulation("en", users, words, KNOWN, days=60, seed=5)


def campaign(alphabet: str = "abc", **changes: object) -> Campaign:
    return Campaign.from_profile(users=USERS, known=KNOWN, alphabet=Alphabet(alphabet), **{"epsilon": 10.0} | changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def crowd() -> EmbeddedPopulation:
    """500 words with shares from widely held to rare."""
    lots = np.random.default_rng(4)
    names = sorted({"".join(lots.choice(list("abc"), lots.integers(2, 9))) for _ in range(900)})[:500]
    return population(dict(zip(names, (2e-2 / np.arange(5, len(names) + 5)).tolist(), strict=True)))


@pytest.fixture(scope="module")
def lexicon(crowd: EmbeddedPopulation) -> Lexicon:
    return Lexicon.of(crowd, campaign(depth=8))


def deviations(counted: NDArray[np.int64], chances: Floats, users: int) -> Floats:
    """By how many standard deviations counts are off, where there are enough to tell."""
    expected = users * chances
    return np.asarray((counted - expected) / np.sqrt(expected * (1 - chances)))[expected > 20]


def test_as_many_users_hold_a_word_as_its_chance_says(crowd: EmbeddedPopulation, lexicon: Lexicon) -> None:
    places = {word: place for place, word in enumerate(crowd.words)}
    counted = crowd.holders()[[places[word] for word in lexicon.words.tolist()]]
    off = deviations(counted, lexicon.holding_chance(lexicon.shares), USERS)
    assert len(off) > 400
    assert abs(off.mean()) < 0.5, "users who type much hold many words at once, so that words are off together"
    assert 0.8 < off.std() < 1.25
    assert abs(off).max() < 5


@pytest.mark.parametrize("bound", [1, 5, 20])
def test_a_random_sample_has_a_prefix_as_often_as_its_chance_says(
    crowd: EmbeddedPopulation, lexicon: Lexicon, bound: int
) -> None:
    groups = lexicon.groups(3)
    shares = np.bincount(groups, lexicon.shares).astype(np.float64)
    number = {word: int(group) for word, group in zip(lexicon.words.tolist(), groups, strict=True)}
    lots = np.random.default_rng(bound)
    counted, users = np.zeros(len(shares)), 4000
    held = crowd.draw(0, users)
    for row in range(users):
        words = held.words[held.starts[row] : held.starts[row + 1]].tolist()
        prefixes = list({number[crowd.words[word]] for word in words})
        counted[lots.permutation(prefixes)[:bound].astype(np.int64)] += 1
    chances = lexicon.sampling_chance(shares, np.ones(len(shares)), bound)
    assert counted.sum() == pytest.approx(users * chances.sum(), rel=0.04)
    assert np.abs(counted - users * chances).max() < 0.04 * users


def test_the_smaller_the_sample_the_rarer_a_prefix_is_in_it(lexicon: Lexicon) -> None:
    present = np.ones(len(lexicon.words))
    small, large, unlimited = (lexicon.sampling_chance(lexicon.shares, present, bound) for bound in (3, 30, 10_000))
    assert (small < large).all()
    assert (large <= unlimited).all()
    assert unlimited == pytest.approx(lexicon.holding_chance(lexicon.shares))


def test_words_with_a_common_beginning_are_a_group_and_ended_words_are_their_own() -> None:
    words = {"ab": 0.1, "abc": 0.1, "abca": 0.1, "b": 0.1, "abcb": 0.1, "ca": 0.1}
    lexicon = Lexicon.of(population(words), campaign(depth=4))
    assert lexicon.words.tolist() == ["ab", "abc", "abca", "abcb", "b", "ca"]
    assert lexicon.lengths.tolist() == [2, 3, 4, 4, 1, 2]
    assert lexicon.groups(1).tolist() == [0, 0, 0, 0, 1, 2]
    assert lexicon.groups(2).tolist() == [0, 0, 0, 0, 1, 2]
    assert lexicon.groups(3).tolist() == [0, 1, 1, 1, 2, 3]
    assert lexicon.groups(5).tolist() == [0, 1, 2, 3, 4, 5]


def test_words_that_do_not_count_take_their_draws_but_are_not_listed() -> None:
    words = {"ab": 0.1, "xy": 0.3, "toolong": 0.4}
    lexicon = Lexicon.of(population(words), campaign(depth=4))
    assert lexicon.words.tolist() == ["ab"]
    assert lexicon.shares == pytest.approx([1 / 8])


def test_an_alphabet_that_spells_nothing_is_refused() -> None:
    with pytest.raises(LanguageError, match="no word that could be found has 1 to 4 characters"):
        Lexicon.of(population({"ab": 0.5}), campaign("xyz", depth=4))
