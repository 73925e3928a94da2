"""Spelling: the chances of symbols, learnt from known words."""

import numpy as np
import pytest

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, root, strings
from neologue.language.spelling import Spelling

ABC = Alphabet("abc")


@pytest.mark.parametrize("extension", [1, 2, 3])
@pytest.mark.parametrize("words", [[], ["abc", "abb", "cab"], ["xyz"]])
def test_the_chances_of_all_extensions_of_a_prefix_sum_to_one(words: list[str], extension: int) -> None:
    spelling = Spelling.of(ABC, words)
    for frontier in (root(ABC), strings(["ab", "ca"])):
        chances = spelling.after(Candidates(ABC, frontier, extension))
        assert chances.shape == (len(frontier), Candidates(ABC, frontier[:1], extension).size)
        assert np.allclose(chances.sum(axis=1), 1)
        assert (chances > 0).all()
    assert spelling.beginning().sum() <= 1


def test_what_follows_often_is_likely() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 1000)
    candidates = Candidates(ABC, strings(["ab"]), 2)
    chances = spelling.after(candidates)[0]
    assert np.argmax(chances) == candidates.index(strings(["abc"]))[0]
    assert np.argmax(spelling.beginning()) == 0


def test_a_word_ends_where_known_words_end_and_not_in_their_middle() -> None:
    spelling = Spelling.of(ABC, ["ab"] * 500 + ["cb"] * 500)
    ends = spelling.after(Candidates(ABC, strings(["ab", "ca"]), 1))[:, 0]
    assert ends[0] > 0.9
    assert ends[1] < 0.5


def test_without_known_words_all_symbols_are_alike() -> None:
    assert np.allclose(Spelling.of(ABC, []).after(Candidates(ABC, strings(["ab"]), 1)), 1 / ABC.size)


@pytest.mark.parametrize("known", [[], ["abc", "abb", "cab", "c", "abba"]])
def test_the_steps_of_a_word_are_the_chances_of_its_extensions(known: list[str]) -> None:
    spelling = Spelling.of(ABC, known)
    words = ["a", "abba", "bc", "cab", "cccc"]
    steps = spelling.steps(strings(words))
    assert steps.shape == (len(words), 5)
    assert np.allclose(steps[:, 0], [spelling.beginning()["abc".index(word[0])] for word in words])
    for length in (1, 2, 3):
        for extension in (1, 2, 3):
            for row, word in enumerate(words):
                if len(word) < length:
                    continue
                candidates = Candidates(ABC, strings([word[:length]]), extension)
                chance = spelling.after(candidates)[0, candidates.index(strings([word]))[0]]
                assert steps[row, length : length + extension].prod() == pytest.approx(chance)


def test_after_its_end_a_word_takes_no_more_steps() -> None:
    steps = Spelling.of(ABC, ["ab"]).steps(strings(["a", "abc"]))
    assert (steps[0, :2] < 1).all()
    assert (steps[0, 2:] == 1).all()
    assert (steps[1] < 1).all()


def test_the_likeliest_extensions_are_listed_for_each_last_character() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 500 + ["cab"] * 300 + ["bb"] * 200)
    frontier = strings(["ca", "cb", "ab"])[[2, 0, 1]]
    listed = spelling.likeliest(frontier, np.array([0.6, 0.3, 0.1]), 2, 3)
    assert listed.shape == (2, 3), "for a and for b"
    assert (np.diff(listed, axis=1) > 0).all()
    every = spelling.after(Candidates(ABC, frontier, 2))
    together = [every[1], (0.6 * every[0] + 0.1 * every[2]) / 0.7]
    for row, chances in zip(listed, together, strict=True):
        assert set(row.tolist()) == set(np.argsort(-chances)[:3].tolist())


def test_listed_extensions_have_the_chances_that_they_have_among_all() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 50 + ["cab"] * 30 + ["bb"] * 20)
    frontier = strings(["ab", "bb", "ca"])
    listed = spelling.likeliest(frontier, np.array([0.2, 0.5, 0.3]), 2, 5)
    some, every = (spelling.after(Candidates(ABC, frontier, 2, lists)) for lists in (listed, None))
    assert np.array_equal(some, np.take_along_axis(every, listed[[1, 1, 0]], axis=1))


def test_the_likeliest_long_extensions_are_the_likeliest_of_all() -> None:
    spelling = Spelling.of(ABC, ["abcab"] * 500 + ["cabba"] * 300 + ["bbc"] * 200)
    frontier = strings(["ab", "ca"])
    every = spelling.after(Candidates(ABC, frontier, 4))
    listed = spelling.likeliest(frontier, np.array([0.6, 0.4]), 4, 20)
    for row, chances in zip(listed, every[::-1], strict=True):
        assert chances[row].sum() == pytest.approx(np.sort(chances)[-20:].sum()), "for a, then for b"
    some = spelling.after(Candidates(ABC, frontier, 4, listed))
    assert np.allclose(some, np.take_along_axis(every, listed[[1, 0]], axis=1))


def test_new_words_are_spelled_as_the_prefixes_of_new_words_are() -> None:
    known = Spelling.of(ABC, ["ab"] * 1000)
    candidates = Candidates(ABC, strings(["cc"]), 1)
    learnt = known.learning(strings(["ccc", "cca"]), np.array([0.3, 0.1]))
    before, after = known.after(candidates)[0], learnt.after(candidates)[0]
    assert after[3] / before[3] > after[1] / before[1], "c more often than a, as by the shares"
    assert after[3] > before[3]
    assert after.sum() == pytest.approx(1)
    assert learnt.beginning()[2] > known.beginning()[2]
    assert after[0] < before[0], "a prefix does not say that a word ends"


def test_prefixes_teach_a_spelling_that_knows_no_words() -> None:
    learnt = Spelling.of(ABC, []).learning(strings(["ab", "ac"]), np.array([0.9, 0.1]))
    chances = learnt.after(Candidates(ABC, strings(["a"]), 1))[0]
    assert np.argmax(chances) == 2
