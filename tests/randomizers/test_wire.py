"""Reports on the wire: lengths that say nothing, one encoding for each report, and no harm from hostile bytes."""

import tracemalloc
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from laws import array
from neologue.entropy import ONE, SeededEntropy
from neologue.errors import OverfullError, ReportError
from neologue.randomizers.bit_fields import pack, unpack
from neologue.randomizers.expansion import _without_repeats, base_subsets
from neologue.randomizers.rice import COUNT_BITS, RiceCode
from neologue.randomizers.subset_selection import SubsetSelection, Translates
from neologue.randomizers.unary import Unary

EPSILONS = st.sampled_from([0.1, 1.0, 3.0, 7.0, 10.0, 20.0])

SMALL = Unary(candidates=300, epsilon=3.0, bound=5)
"""About 14 positions of a report in 41 bytes, enough for several fields and padding."""
MOVED = SubsetSelection(candidates=20, epsilon=1.0, bound=3)
"""Offsets of 5 bits below 21, and one bit of padding."""


def a_report(seed: int = 1) -> bytes:
    return SMALL.encode(SMALL.randomize(array([3, 77]), SeededEntropy(seed)))


def canonical(code: RiceCode, payload: bytes) -> bool:
    """Whether bytes are refused, or else are the only ones for what they say."""
    try:
        positions = code.decode(payload, code.size)
    except ReportError:
        return True
    return code.encode(positions) == payload


# Unary: round trips


@st.composite
def coded_positions(draw: st.DrawFn) -> tuple[RiceCode, list[int]]:
    candidates = draw(st.integers(1, 3000))
    unary = Unary(candidates, draw(EPSILONS), draw(st.integers(1, 100)))
    share = draw(st.sampled_from([0.0, 0.001, 0.05, 0.5, 1.0]))
    chosen = np.random.default_rng(draw(st.integers(0, 2**32))).random(candidates) <= share
    ends = draw(st.lists(st.sampled_from([0, candidates - 1]), max_size=2))
    return unary.code, sorted({*np.flatnonzero(chosen).tolist(), *ends})


@given(coded_positions())
@example((Unary(2000, 20.0, 60).code, list(range(0, 2000, 10))))
def test_any_set_of_positions_comes_back(case: tuple[RiceCode, list[int]]) -> None:
    code, positions = case
    payload = code.encode(array(positions))
    if len(payload) > code.usual_bytes:
        with pytest.raises(ReportError, match="no length"):
            code.decode(payload, code.size)
    else:
        assert code.decode(payload, code.size).tolist() == positions


def test_the_layout_is_the_one_written_down() -> None:
    # Gaps 5, 0 and 8 with two low bits each: remainders 01 00 00, then quotients 10 0 110.
    code = RiceCode(size=100, remainder_bits=2, usual_bytes=8)
    expected = "00000011".rjust(32, "0") + "010000" + "10" + "0" + "110"
    payload = code.encode(array([5, 6, 15]))
    assert "".join(f"{byte:08b}" for byte in payload) == expected.ljust(64, "0")


# Unary: lengths


@pytest.mark.parametrize("candidates", [1, 10, 9900, 1_000_000])
@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_a_report_has_the_same_length_whatever_a_device_holds(candidates: int, epsilon: float) -> None:
    unary = Unary(candidates, epsilon, 60)
    most = min(candidates, 60)
    holdings: list[Iterable[int]] = [[], [0], range(most), range(candidates - most, candidates)]
    lengths = {
        len(unary.encode(unary.randomize(array(held), SeededEntropy(7, turn))))
        for turn in range(5)
        for held in holdings
    }
    assert lengths == {unary.code.usual_bytes}


@pytest.mark.parametrize("candidates", [50, 9900, 10**6, 10**8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0, 10.0, 20.0])
@pytest.mark.parametrize("bound", [1, 60])
def test_a_longer_report_than_usual_is_rarer_than_stated(candidates: int, epsilon: float, bound: int) -> None:
    unary = Unary(candidates, epsilon, bound)
    code = unary.code
    # The most positions that fit however they lie: each costs r + 1 bits, and all gaps together n / 2^r more.
    fitting = (8 * code.usual_bytes - COUNT_BITS - (candidates >> code.remainder_bits)) // (code.remainder_bits + 1)
    if fitting < candidates:
        assert stats.binom.sf(fitting - bound, candidates, unary.noise / ONE) < 2**-40


def test_the_usual_length_is_not_wasteful() -> None:
    # About log2(e/q) = 15.9 bits a position, 45 of noise and up to 60 held; padding takes the rest.
    assert Unary(1_000_000, 10.0, 60).code.usual_bytes <= 320


def test_a_report_longer_than_usual_takes_the_next_doubling_and_is_not_read() -> None:
    unary = Unary(9900, 10.0, 5)
    lengths = set()
    for count in (10, 30, 100, 200):
        payload = unary.code.encode(np.arange(count))
        lengths.add(len(payload) / unary.code.usual_bytes)
        if count > unary.most_votes:
            with pytest.raises(OverfullError, match=f"{count} votes .* at most {unary.most_votes}"):
                unary.decode(payload)
    assert len(lengths) > 2
    assert {length.is_integer() and int(length).bit_count() == 1 for length in lengths} == {True}


# Unary: the most ones


def tail(unary: Unary, most: int) -> float:
    """The chance of more ones than that, if B candidates are held."""
    held = min(unary.bound, unary.candidates)
    kept = np.arange(held + 1)
    beyond = stats.binom.sf(most - kept, unary.candidates - held, unary.noise / ONE)
    return float(stats.binom.pmf(kept, held, 0.5) @ beyond)


@pytest.mark.parametrize("candidates", [1, 50, 9900, 10**6])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 7.0, 10.0])
@pytest.mark.parametrize("bound", [1, 60])
def test_an_honest_report_is_refused_once_in_2_to_40_and_one_more_vote_would_be_once_too_often(
    candidates: int, epsilon: float, bound: int
) -> None:
    unary = Unary(candidates, epsilon, bound)
    assert tail(unary, unary.most_votes) <= 2**-40 * (1 + 1e-6)
    assert tail(unary, unary.most_votes - 1) > 2**-40 * (1 - 1e-6)


@pytest.mark.parametrize("candidates", [1, 50, 9900, 10**6])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 7.0, 10.0, 20.0])
@pytest.mark.parametrize("bound", [1, 60, 2000])
def test_all_that_is_read_has_the_usual_length(candidates: int, epsilon: float, bound: int) -> None:
    """However the ones lie: at the beginning their gaps are shortest, spread out their quotients are longest."""
    unary = Unary(candidates, epsilon, bound)
    for positions in (np.arange(unary.most_votes), np.linspace(0, candidates - 1, unary.most_votes).astype(np.int64)):
        payload = unary.code.encode(positions)
        assert len(payload) == unary.code.usual_bytes
        assert unary.decode(payload).positions.tolist() == positions.tolist()


def test_a_report_that_has_too_many_ones_is_refused_before_it_is_decoded() -> None:
    unary = Unary(100_000, 10.0, 60)
    payload = (unary.most_votes + 1).to_bytes(4, "big").ljust(unary.code.usual_bytes, b"\xff")
    with pytest.raises(OverfullError):
        unary.decode(payload)


@pytest.mark.parametrize(("candidates", "epsilon", "unrepeatable"), [(10**6, 10.0, True), (60_000, 9.7, False)])
def test_the_likeliest_report_is_the_empty_one(candidates: int, epsilon: float, unrepeatable: bool) -> None:
    unary = Unary(candidates, epsilon, 60)
    assert unary.likeliest == pytest.approx(stats.binom.logpmf(0, candidates, unary.noise / ONE), rel=1e-9)
    assert unary.is_unrepeatable == unrepeatable
    small = Unary(3, 1.0, 2)
    chances = [
        np.prod(
            [
                (0.5 if place in held else small.noise / ONE if one else 1 - small.noise / ONE)
                for place, one in enumerate(ones)
            ]
        )
        for held in ((), (0,), (1, 2))
        for ones in np.ndindex(2, 2, 2)
    ]
    assert small.likeliest == pytest.approx(np.log(max(chances)))
    assert small.likeliest >= np.log(max(chances)) - 1e-12


def test_every_report_of_subset_selection_is_unrepeatable() -> None:
    assert SubsetSelection(2, 20.0, 1).is_unrepeatable


# Unary: what is no report


def test_every_flipped_bit_is_refused_or_says_something_else() -> None:
    payload = a_report()
    said = set()
    for place in range(8 * len(payload)):
        flipped = bytearray(payload)
        flipped[place // 8] ^= 1 << place % 8
        assert canonical(SMALL.code, bytes(flipped))
        try:
            said.add(tuple(SMALL.code.decode(bytes(flipped), 300).tolist()))
        except ReportError:
            continue
    # The check has teeth only if some flips are valid reports; none may be the original one.
    assert said
    assert tuple(SMALL.code.decode(payload, 300).tolist()) not in said


def test_every_cut_and_every_extension_is_refused() -> None:
    payload = a_report()
    for length in range(len(payload)):
        with pytest.raises(ReportError):
            SMALL.code.decode(payload[:length], 300)
    for extra in (1, 2, 3, len(payload), 3 * len(payload), 7 * len(payload), 1000):
        for filler in (b"\0", b"\1", b"\xff"):
            with pytest.raises(ReportError):
                SMALL.code.decode(payload + extra * filler, 300)


@given(st.integers(0, 3), st.binary(max_size=200), st.integers(0, 40))
def test_random_bytes_are_refused_or_canonical(doublings: int, content: bytes, count: int) -> None:
    length = SMALL.code.usual_bytes << doublings
    for payload in (content, content[:length].ljust(length, b"\0"), content[:length].ljust(length, b"\xff")):
        assert canonical(SMALL.code, payload)
        assert canonical(SMALL.code, count.to_bytes(4, "big") + payload[4:])


@pytest.mark.parametrize("count", [301, 1000, 2**16, 2**31 - 1, 2**31, 2**32 - 1])
def test_a_count_that_can_not_be_is_refused(count: int) -> None:
    for rest in (a_report()[4:], bytes(len(a_report()) - 4), b"\xff" * (len(a_report()) - 4)):
        with pytest.raises(ReportError, match=str(count)):
            SMALL.decode(count.to_bytes(4, "big") + rest)


def test_a_position_outside_the_layer_is_refused() -> None:
    inside, outside = (RiceCode(places, 2, 30) for places in (100, 101))
    with pytest.raises(ReportError, match="outside"):
        inside.decode(outside.encode(array([100])), 100)
    assert inside.decode(inside.encode(array([99])), 100).tolist() == [99]


def test_a_report_of_usual_length_in_a_doubled_one_is_refused() -> None:
    payload = a_report()
    with pytest.raises(ReportError, match="no length"):
        SMALL.decode(payload + bytes(len(payload)))


# Hostile bytes and memory


def hostile(code: RiceCode, length: int) -> Iterator[bytes]:
    noise = np.random.default_rng(3).bytes(length - 4)
    for count in (0, 1, length, min(code.size, 8 * (length - 4) // (code.remainder_bits + 1)), 2**32 - 1):
        for rest in (bytes(length - 4), b"\xff" * (length - 4), noise):
            yield count.to_bytes(4, "big") + rest


def peak_of_decoding(code: RiceCode, payload: bytes) -> int:
    tracemalloc.start()
    try:
        code.decode(payload, code.size)
    except ReportError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def test_hostile_bytes_take_memory_in_proportion_to_their_length() -> None:
    # Bits as bytes are 8 times a payload, and fields of 64-bit integers up to 64 times as many; a count field
    # that were believed would ask for gigabytes.
    code = Unary(100_000, 10.0, 60).code
    longest = len(code.encode(np.arange(100_000)))
    for length in (code.usual_bytes, longest):
        assert max(peak_of_decoding(code, payload) for payload in hostile(code, length)) < 100 * length + 50_000


def test_bytes_beyond_the_longest_report_are_refused_unread() -> None:
    code = Unary(100_000, 10.0, 60).code
    longest = len(code.encode(np.arange(100_000)))
    assert peak_of_decoding(code, bytes(2 * longest)) < 10_000
    with pytest.raises(ReportError, match="length"):
        code.decode(bytes(2 * longest), code.size)


# Subset Selection


@given(st.lists(st.integers(0, 2**20), max_size=70), st.integers(21, 40))
def test_any_fields_come_back(values: list[int], width: int) -> None:
    packed = pack(array(values), width)
    assert len(packed) == -(-len(values) * width // 8)
    assert unpack(packed, width, len(values)).tolist() == values


@given(st.binary(min_size=16, max_size=16), st.lists(st.integers(0, 20), min_size=3, max_size=3))
def test_any_translates_come_back(seed: bytes, offsets: list[int]) -> None:
    payload = MOVED.encode(Translates(seed, array(offsets)))
    assert len(payload) == MOVED.payload_bytes == 18
    back = MOVED.decode(payload)
    assert (back.seed, back.offsets.tolist()) == (seed, offsets)


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=2, max_size=2))
def test_bytes_of_the_right_length_are_refused_or_canonical(seed: bytes, packed: bytes) -> None:
    value = int.from_bytes(packed, "big")
    valid = value % 2 == 0 and all(value >> shift & 31 < 21 for shift in (1, 6, 11))
    if valid:
        assert MOVED.encode(MOVED.decode(seed + packed)) == seed + packed
    else:
        with pytest.raises(ReportError):
            MOVED.decode(seed + packed)


@pytest.mark.parametrize("length", [0, 15, 16, 17, 19, 36, 10_000])
def test_translates_of_another_length_are_refused(length: int) -> None:
    with pytest.raises(ReportError, match=str(length)):
        MOVED.decode(bytes(length))


@cache
def plain_values(seed: bytes, domain: int, words: int) -> list[int]:
    """The keystream as values below the domain, from the description alone."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    stream = Cipher(algorithms.AES128(seed), modes.CTR(bytes(16))).encryptor().update(bytes(4 * words))
    drawn = (int.from_bytes(stream[place : place + 4], "little") for place in range(0, len(stream), 4))
    return [word * domain >> 32 for word in drawn if word * domain % 2**32 >= 2**32 % domain]


@settings(max_examples=60)
@given(st.binary(min_size=16, max_size=16), st.integers(2, 40), st.integers(1, 6), st.data())
@example(bytes(16), 3 << 30, 4, None)
def test_base_subsets_follow_their_description_with_and_without_repeats(
    seed: bytes, domain: int, rows: int, data: st.DataObject | None
) -> None:
    # Below 3·2^30 a quarter of the words is passed over, so that one helping of them does not do.
    size = 60 if data is None else data.draw(st.integers(1, -(-domain // 2)))
    values = iter(plain_values(seed, domain, 4000))
    expected = []
    for _ in range(rows):
        row: dict[int, None] = {}
        while len(row) < size:
            row[next(values)] = None
        expected.append(list(row))
    assert base_subsets(seed, domain, rows, size).tolist() == expected


def test_both_ways_to_expand_a_seed_agree() -> None:
    for number in range(50):
        seed = number.to_bytes(16, "big")
        quick: NDArray[np.int64] = base_subsets(seed, 10_001, 6, 5)
        assert quick.tolist() == _without_repeats(seed, 10_001, 6, 5).tolist()
