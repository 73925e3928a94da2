"""Sums of votes as bytes: whatever is packed comes back, in few bytes, and damage is noticed."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neologue.aggregation.kernels import Votes
from neologue.aggregation.packed_sum import add_packed, pack_sum
from neologue.errors import StorageError


def unpacked(packed: bytes, candidates: int) -> Votes:
    votes = np.zeros(candidates, np.uint32)
    add_packed(packed, votes)
    return votes


def votes_at(candidates: int, where: dict[int, int]) -> Votes:
    votes = np.zeros(candidates, np.uint32)
    for place, count in where.items():
        votes[place] = count
    return votes


@st.composite
def sums(draw: st.DrawFn) -> Votes:
    candidates = draw(st.integers(1, 3000))
    most = draw(st.sampled_from([1, 15, 16, 255, 256, 65_535, 65_536, 2**32 - 1]))
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    present = source.random(candidates) < draw(st.sampled_from([0.0, 0.001, 0.01, 0.1, 1.0]))
    return (source.integers(1, most, candidates, endpoint=True) * present).astype(np.uint32)


@given(sums())
@example(votes_at(5000, {0: 1}))
@example(votes_at(5000, {255: 1, 511: 3, 4999: 2}))
@example(votes_at(5000, {254: 1, 255: 1, 256: 1, 765: 70_000}))
@example(votes_at(5000, {}))
@example(votes_at(1, {0: 300}))
@example(votes_at(5, dict.fromkeys(range(5), 15)))
@example(votes_at(6, {0: 1, 1: 2, 4: 14, 5: 15}))
def test_a_sum_comes_back(votes: Votes) -> None:
    packed = pack_sum(votes)
    assert (unpacked(packed, len(votes)) == votes).all()
    doubled = votes.copy()
    add_packed(packed, doubled)
    assert (doubled == 2 * votes).all(), "adding up is modulo 2^32, as counting is"


@pytest.mark.parametrize(
    ("share", "most", "bytes_each"),
    [(1.0, 15, 0.5), (1.0, 16, 1), (1.0, 255, 1), (1.0, 256, 2), (1.0, 70_000, 4), (0.1, 1, 0.21), (0.01, 1, 0.03)],
)
def test_a_sum_takes_no_more_bytes_than_it_needs(share: float, most: int, bytes_each: float) -> None:
    votes = np.where(np.random.default_rng(1).random(100_000) < share, most, 0).astype(np.uint32)
    assert len(pack_sum(votes)) <= 1 + 100_000 * bytes_each


@pytest.mark.parametrize(
    "where",
    [{3: 1}, dict.fromkeys(range(1000), 300), dict.fromkeys(range(1000), 3)],
    ids=["sparse", "dense", "halves"],
)
def test_a_damaged_sum_is_noticed(where: dict[int, int]) -> None:
    packed = pack_sum(votes_at(1000, where))
    for damaged in (b"", packed[:-1], packed + b"\0", bytes([packed[0] ^ 8]) + packed[1:], bytes([99]) + packed[1:]):
        with pytest.raises(StorageError, match="damaged"):
            unpacked(damaged, 1000)


def test_a_half_that_is_left_over_has_no_votes() -> None:
    packed = pack_sum(votes_at(5, dict.fromkeys(range(5), 9)))
    with pytest.raises(StorageError, match="damaged"):
        unpacked(packed[:-1] + bytes([packed[-1] | 16]), 5)


def test_a_sparse_sum_of_a_larger_layer_is_noticed() -> None:
    with pytest.raises(StorageError, match="another layer"):
        unpacked(pack_sum(votes_at(1000, {999: 1})), 998)
