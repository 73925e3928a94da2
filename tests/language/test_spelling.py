"""Spelling: the chances of symbols, learnt from known words."""

import numpy as np
import pytest

from neologue.language import spelling as module
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, root, strings
from neologue.language.spelling import Spelling

ABC = Alphabet("abc")


@pytest.mark.parametrize("extension", [1, 2, 3])
@pytest.mark.parametrize("words", [[], ["abc", "abb", "cab"], ["xyz"]])
def test_the_chances_of_all_extensions_of_a_prefix_sum_to_one(words: list[str], extension: int) -> None:
    spelling = Spelling.of(ABC, words)
    for frontier in (root(ABC), strings(["ab", "ca"])):
        chances = spelling.after(Candidates(ABC, frontier, extension)).reshape(len(frontier), -1)
        assert chances.shape[1] == Candidates(ABC, frontier[:1], extension).size
        assert np.allclose(chances.sum(axis=1), 1)
        assert (chances > 0).all()
    assert spelling.beginning().sum() <= 1


def test_what_follows_often_is_likely() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 1000)
    candidates = Candidates(ABC, strings(["ab"]), 2)
    chances = spelling.after(candidates)
    assert np.argmax(chances) == candidates.index(strings(["abc"]))[0]
    assert np.argmax(spelling.beginning()) == 0


def test_a_word_ends_where_known_words_end_and_not_in_their_middle() -> None:
    spelling = Spelling.of(ABC, ["ab"] * 500 + ["cb"] * 500)
    ends = spelling.after(Candidates(ABC, strings(["ab", "ca"]), 1)).reshape(2, -1)[:, 0]
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
                chance = spelling.after(candidates)[candidates.index(strings([word]))[0]]
                assert steps[row, length : length + extension].prod() == pytest.approx(chance)


def test_after_its_end_a_word_takes_no_more_steps() -> None:
    steps = Spelling.of(ABC, ["ab"]).steps(strings(["a", "abc"]))
    assert (steps[0, :2] < 1).all()
    assert (steps[0, 2:] == 1).all()
    assert (steps[1] < 1).all()


def test_the_likeliest_extensions_are_listed_for_each_last_character() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 500 + ["cab"] * 300 + ["bb"] * 200)
    frontier = strings(["ca", "cb", "ab"])[[2, 0, 1]]
    lists = spelling.likeliest(frontier, np.array([0.6, 0.3, 0.1]), 2, 3)
    assert lists.ways.sum() == 3 * 3
    every = spelling.after(Candidates(ABC, frontier, 2)).reshape(3, -1)
    together = [every[1], (0.6 * every[0] + 0.1 * every[2]) / 0.7]
    for row, chances in zip(lists.rows, together, strict=True):
        assert row.tolist() == np.argsort(-chances)[: len(row)].tolist(), "for a and for b, the likeliest first"


def test_prefixes_that_many_hold_are_asked_about_in_more_ways_and_others_in_fewer() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 500 + ["cab"] * 300 + ["bb"] * 200)
    frontier, shares = strings(["aa", "ba", "ca"]), np.array([0.01, 0.5, 0.06])
    lists = spelling.likeliest(frontier, shares, 2, 4)
    assert lists.ways.sum() == 3 * 4
    assert lists.ways[1] > lists.ways[2] > lists.ways[0] > 0
    # Whatever is asked about is expected at least half as often as what is not: shares count by their power of two.
    average = spelling.likeliest(frontier, shares, 2, 13).rows[0]
    every = spelling.after(Candidates(ABC, frontier, 2)).reshape(3, -1)
    chances = (shares @ every / shares.sum())[average]
    asked = [share * chances[:ways] for share, ways in zip(shares, lists.ways, strict=True)]
    not_asked = [share * chances[ways:] for share, ways in zip(shares, lists.ways, strict=True)]
    assert min(row[1:].min(initial=1) for row in asked) * 2 >= max(row.max(initial=0) for row in not_asked)


def test_listed_extensions_have_the_chances_that_they_have_among_all() -> None:
    spelling = Spelling.of(ABC, ["abc"] * 50 + ["cab"] * 30 + ["bb"] * 20)
    frontier = strings(["ab", "bb", "ca"])
    listed = Candidates(ABC, frontier, 2, spelling.likeliest(frontier, np.array([0.2, 0.5, 0.1]), 2, 5))
    every = Candidates(ABC, frontier, 2)
    assert len(set(listed.ways)) > 1
    texts, ended = listed.prefixes(np.arange(listed.size))
    whole = list(zip(*(array.tolist() for array in every.prefixes(np.arange(every.size))), strict=True))
    places = [whole.index(one) for one in zip(texts.tolist(), ended.tolist(), strict=True)]
    assert np.array_equal(spelling.after(listed), spelling.after(every)[places])


def test_the_likeliest_long_extensions_are_the_likeliest_of_all() -> None:
    spelling = Spelling.of(ABC, ["abcab"] * 500 + ["cabba"] * 300 + ["bbc"] * 200)
    frontier = strings(["ab", "ca"])
    every = spelling.after(Candidates(ABC, frontier, 4)).reshape(2, -1)
    lists = spelling.likeliest(frontier, np.array([0.6, 0.4]), 4, 20)
    for row, chances in zip(lists.rows, every[::-1], strict=True):
        assert chances[row].sum() == pytest.approx(np.sort(chances)[-len(row) :].sum()), "for a, then for b"
    some = spelling.after(Candidates(ABC, frontier, 4, lists))
    assert np.allclose(some, np.append(every[0, lists.rows[1]], every[1, lists.rows[0]]))


@pytest.mark.parametrize("tabulated", [True, False])
def test_what_a_search_leaves_out_is_not_among_the_likeliest(monkeypatch: pytest.MonkeyPatch, tabulated: bool) -> None:
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    lots = np.random.default_rng(5)
    weights = lots.dirichlet(np.full(26, 0.3))
    words = ["".join(lots.choice(letters, lots.integers(2, 9), p=weights)) for _ in range(3000)]
    spelling = Spelling.of(Alphabet("".join(letters)), words)
    frontier, shares = strings(sorted({word[:2] for word in words})), lots.random(len({word[:2] for word in words}))
    left_out = []

    def everything(reached: np.ndarray, table: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
        left_out.append(len(reached) - len(promising(reached, table, rows, count)))
        return np.arange(len(reached))

    promising = module._promising
    found = spelling.likeliest(frontier, shares, 4, 150)
    monkeypatch.setattr(module, "_promising", everything)
    if not tabulated:
        monkeypatch.setattr(module, "TABULATED", 0)
    every = spelling.likeliest(frontier, shares, 4, 150)
    assert max(left_out) > 100
    assert [row.tolist() for row in found.rows] == [row.tolist() for row in every.rows]
    assert found.ways.tolist() == every.ways.tolist()


def test_new_words_are_spelled_as_the_prefixes_of_new_words_are() -> None:
    known = Spelling.of(ABC, ["ab"] * 1000)
    candidates = Candidates(ABC, strings(["cc"]), 1)
    learnt = known.learning(strings(["ccc", "cca"]), np.array([0.3, 0.1]))
    before, after = known.after(candidates), learnt.after(candidates)
    assert after[3] / before[3] > after[1] / before[1], "c more often than a, as by the shares"
    assert after[3] > before[3]
    assert after.sum() == pytest.approx(1)
    assert learnt.beginning()[2] > known.beginning()[2]
    assert after[0] < before[0], "a prefix does not say that a word ends"


def test_prefixes_teach_a_spelling_that_knows_no_words() -> None:
    learnt = Spelling.of(ABC, []).learning(strings(["ab", "ac"]), np.array([0.9, 0.1]))
    chances = learnt.after(Candidates(ABC, strings(["a"]), 1))
    assert np.argmax(chances) == 2
