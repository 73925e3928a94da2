"""Draws are exact, and randomness is never given out twice."""

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from laws import fit, uniform
from neologue.entropy import ONE, Entropy, SecureEntropy, SeededEntropy, bounded_integers

WORDS = 1 << 32
ALPHA = 1e-4
"""Every chi-square test here passes a true sampler of a fresh seed with probability 1 - ALPHA."""


class Scripted(Entropy):
    """Gives out the listed words, then fails."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        assert count <= len(self._left), "the script is over"
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, np.uint64)


def halves(*words: int) -> NDArray[np.uint32]:
    return np.array(words, np.uint32)


# Uniform integers


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 6, 7, 10, 100, 641, 1000, 1024])
def test_every_value_below_a_bound_is_reached_by_equally_many_words(bound: int) -> None:
    # The words that lead to v are an interval, and only its first word can be left out: its product is the
    # only one whose low half is below the bound. So the ends of all intervals decide everything.
    starts = [-(-v * WORDS // bound) for v in range(bound + 1)]
    for value, (start, end) in enumerate(pairwise(starts)):
        assert bounded_integers(halves(end - 1), bound).tolist() == [value]
        assert bounded_integers(halves(start + 1), bound).tolist() == [value]
        left_out = 1 - len(bounded_integers(halves(start), bound))
        assert end - start - left_out == WORDS // bound


@pytest.mark.parametrize("bound", [(1 << 16) + 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 3 << 30, WORDS - 1, WORDS])
def test_every_value_below_a_large_bound_is_reached_by_equally_many_words(bound: int) -> None:
    spread = np.random.default_rng(1).integers(bound, size=200).tolist()
    for value in [0, 1, 2, bound // 2, bound - 2, bound - 1, *spread]:
        start, end = -(-value * WORDS // bound), -(-(value + 1) * WORDS // bound)
        ends = {*range(start, min(start + 4, end)), *range(max(start, end - 4), end)}
        reached = bounded_integers(halves(*sorted(ends)), bound)
        assert set(reached.tolist()) <= {value}
        assert len(reached) + (end - start - len(ends)) == WORDS // bound


def test_a_word_that_would_bias_is_passed_over_and_the_next_one_taken() -> None:
    # 2^32 mod 3 = 1, so of all half words only 0 is left out; the low half of a word comes first.
    assert Scripted(0x8000_0000 << 32 | 1).below(3, 2).tolist() == [0, 1]
    assert Scripted(0xFFFF_FFFF << 32, 5).below(3, 2).tolist() == [2, 0]
    assert Scripted(0, 0, 7 << 32 | 0xFFFF_FFFF).below(3, 1).tolist() == [2]


@pytest.mark.parametrize("bound", [0, -1, WORDS + 1])
def test_a_bound_beyond_half_a_word_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match=str(bound)):
        SeededEntropy(1).below(bound, 1)


def test_integers_below_a_bound_are_uniform_and_a_remainder_would_not_be() -> None:
    # By remainder, the lower third of 3·2^30 has chance 1/2, the others 1/4: λ = n/8 = 375, power 1 - 1e-51.
    bound, draws = 3 << 30, 3000
    by_remainder = SeededEntropy(2).words(draws // 2).view("<u4") % bound
    thirds = uniform(range(3))
    assert fit((SeededEntropy(2).below(bound, draws) // (1 << 30)).tolist(), thirds) > ALPHA
    assert fit((by_remainder // (1 << 30)).tolist(), thirds) < ALPHA


def test_a_small_bound_gives_uniform_integers() -> None:
    assert fit(SeededEntropy(3).below(7, 7000).tolist(), uniform(range(7))) > ALPHA


def test_no_draws_use_no_randomness() -> None:
    assert Scripted().below(5, 0).tolist() == []
    assert Scripted().subset(5, 0).tolist() == []
    assert Scripted().subset(5, 5).tolist() == [0, 1, 2, 3, 4]
    assert Scripted().permutation(0).tolist() == []


# Subsets and permutations


@pytest.mark.parametrize(("size", "count"), [(6, 3), (6, 2), (6, 4), (5, 3)])
def test_all_subsets_are_equally_likely_from_either_side(size: int, count: int) -> None:
    # 2·count > size draws the complement. Power: see the next test.
    source = SeededEntropy(4)
    drawn = [tuple(source.subset(size, count).tolist()) for _ in range(2000)]
    assert fit(drawn, uniform(combinations(range(size), count))) > ALPHA


def test_a_subset_that_takes_the_next_free_place_for_a_repeat_would_be_told_apart() -> None:
    # The chances of the 20 subsets then lie between 6/216 and 16/216; λ = 212, power > 1 - 1e-15.
    source = SeededEntropy(5)

    def next_free() -> tuple[int, ...]:
        chosen: set[int] = set()
        for place in source.below(6, 3).tolist():
            while place in chosen:
                place = (place + 1) % 6
            chosen.add(place)
        return tuple(sorted(chosen))

    subsets = uniform(tuple(chosen) for chosen in combinations(range(6), 3))
    assert fit([next_free() for _ in range(2000)], subsets) < ALPHA


def test_a_subset_is_sorted_distinct_and_inside_at_every_size() -> None:
    source = SeededEntropy(6)
    for size, count in [(1, 1), (2, 1), (1000, 500), (1000, 501), (1000, 999), (1_000_000, 1000)]:
        chosen = source.subset(size, count)
        assert len(chosen) == count
        assert (np.diff(chosen) > 0).all()
        assert 0 <= chosen[0] <= chosen[-1] < size


@pytest.mark.parametrize(("size", "count"), [(3, 4), (3, -1), (0, 1)])
def test_a_subset_larger_than_its_set_is_refused(size: int, count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        SeededEntropy(1).subset(size, count)


def test_all_orders_are_equally_likely_and_swapping_anywhere_would_not_make_them_so() -> None:
    # Swapping each place with any place gives orders of 4 the chances 8/256 to 15/256; λ = 179 at 6000 draws
    # on 23 degrees of freedom, power > 1 - 1e-9.
    source = SeededEntropy(7)

    def swapped_anywhere() -> tuple[int, ...]:
        order = list(range(4))
        for place, other in enumerate(source.below(4, 4).tolist()):
            order[place], order[other] = order[other], order[place]
        return tuple(order)

    orders = uniform(permutations(range(4)))
    assert fit((tuple(source.permutation(4).tolist()) for _ in range(6000)), orders) > ALPHA
    assert fit((swapped_anywhere() for _ in range(6000)), orders) < ALPHA


def test_equal_keys_are_drawn_again_because_their_order_would_not_be_random() -> None:
    assert Scripted(5, 5, 9, 2).permutation(2).tolist() == [1, 0]


# Events of a given probability


def test_an_event_happens_on_exactly_as_many_words_as_its_numerator_says() -> None:
    edges = (0, 1, ONE // 2 - 1, ONE // 2, ONE - 2, ONE - 1)
    for numerator in (0, 1, 2, ONE // 2, ONE - 1, ONE):
        happened = Scripted(*edges).chances(numerator, len(edges)).tolist()
        assert happened == [word < numerator for word in edges]


def test_events_of_any_probability_use_the_same_randomness() -> None:
    for numerator in (0, ONE // 2, ONE):
        source = SeededEntropy(8)
        source.chances(numerator, 5)
        assert source.words(1) == SeededEntropy(8).words(6)[5:]


def test_events_of_one_half_are_fair() -> None:
    # A chance of .55 instead gives λ = 6000·.01 = 60 on one degree of freedom: power .9999.
    fair = uniform((False, True))
    assert fit(SeededEntropy(9).chances(ONE // 2, 6000).tolist(), fair) > ALPHA
    assert fit(SeededEntropy(9).chances(ONE * 55 // 100, 6000).tolist(), fair) < ALPHA


# The layout that other languages rely on


def test_octets_and_integers_are_little_endian_words() -> None:
    assert Scripted(0x0807_0605_0403_0201, 0x09).octets(9) == bytes(range(1, 10))
    assert Scripted(1, 2).integer(128) == 2 << 64 | 1


# Seeded


def test_a_seed_gives_the_same_stream_and_another_seed_another() -> None:
    assert SeededEntropy(1, 2).words(100).tolist() == SeededEntropy(1, 2).words(100).tolist()
    assert not set(SeededEntropy(1, 2).words(100).tolist()) & set(SeededEntropy(1, 3).words(100).tolist())


def test_a_seeded_stream_does_not_depend_on_how_it_is_cut() -> None:
    source = SeededEntropy(1)
    assert [*source.words(3).tolist(), *source.words(7).tolist()] == SeededEntropy(1).words(10).tolist()


# Secure


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_secure_entropy_can_not_be_copied_or_stored(duplicate: Callable[[Entropy], object]) -> None:
    with pytest.raises(TypeError, match="repeat randomness"):
        duplicate(SecureEntropy())


def test_instances_of_secure_entropy_share_nothing() -> None:
    streams = [SecureEntropy().words(2000).tolist() for _ in range(4)]
    assert len({word for stream in streams for word in stream}) == 8000


class NeverRekeyed(SecureEntropy):
    """What happens if the key outlives a refill."""

    def _refill(self, count: int) -> bytes:
        key = self._key
        produced = super()._refill(count)
        self._key = key
        return produced


@pytest.mark.parametrize("sizes", [[1] * 3000, [1023, 1, 2, 1024, 1025, 7] * 3, [5000, 1, 5000], [100_000]])
def test_no_word_is_given_out_twice_across_refills_and_large_requests(sizes: list[int]) -> None:
    # Words that are truly random collide with probability below 2^-30.
    source = SecureEntropy()
    drawn = [source.words(size) for size in sizes]
    assert [len(words) for words in drawn] == sizes
    assert len(np.unique(np.concatenate(drawn))) == sum(sizes)


def test_a_key_kept_for_the_next_refill_would_be_seen_to_repeat_words() -> None:
    source = NeverRekeyed()
    assert len(np.unique(np.concatenate([source.words(1) for _ in range(3000)]))) < 1100


def test_what_was_given_out_is_no_longer_in_memory() -> None:
    source = SecureEntropy()
    first_key = source._key
    given = source.words(10).astype("<u8").tobytes()
    kept = source._key + source._buffer
    assert first_key not in kept
    assert not any(given[place : place + 8] in kept for place in range(0, 80, 8))


def test_secure_words_come_from_the_operating_system_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def known(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", known)
    assert SecureEntropy().words(3000).tolist() == SecureEntropy().words(3000).tolist()
    assert asked == [32, 32]
    # ChaCha20 under a key of zeros (RFC 8439, appendix A.1): bytes 0–31 become the next key, and are not given out.
    assert SecureEntropy().octets(32).hex() == "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"


FORK = """
import os, sys
from neologue import entropy

def after_fork(forgotten):
    "The words that parent and child draw next; a forgotten source is not told of the fork."
    source = entropy.SecureEntropy()
    source.words(10)
    if forgotten:
        entropy._IN_USE.discard(source)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.octets(512))
        os._exit(0)
    os.waitpid(child, 0)
    return source.octets(512), os.read(reader, 512)

def repeated(parent, child):
    words = [stream[place:place + 8] for stream in (parent, child) for place in range(0, 512, 8)]
    return len(words) - len(set(words))

print(repeated(*after_fork(forgotten=False)), repeated(*after_fork(forgotten=True)))
"""


def test_a_forked_child_does_not_repeat_its_parent() -> None:
    # In a process of its own: forking under pytest's threads is a warning from Python 3.12 on. The second
    # figure shows that the comparison would see a child that went on from its parent's state.
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "64"]


def test_threads_that_share_a_secure_source_never_get_the_same_words() -> None:
    source = SecureEntropy()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            parts = pool.map(lambda _: [int(source.words(1)[0]) for _ in range(5000)], range(4))
            drawn = [word for part in parts for word in part]
    finally:
        sys.setswitchinterval(before)
    assert len(set(drawn)) == len(drawn)
