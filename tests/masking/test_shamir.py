"""Shares in the field: any threshold of them give the secret back, and fewer say nothing."""

from collections import Counter
from itertools import product
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.entropy import SecureEntropy, SeededEntropy
from neologue.errors import MaskingError
from neologue.masking import field, shamir

ELEMENTS = st.integers(0, field.PRIME - 1)


def test_the_field_has_a_prime_order() -> None:
    """By Pocklington's theorem, with a large prime factor of p - 1."""
    prime, factor = 2**255 - 19, 74058212732561358302231226437062788676166966415465897661863160754340907
    assert prime == field.PRIME
    assert (prime - 1) % factor == 0
    assert factor**2 > prime
    assert all(pow(base, factor - 1, factor) == 1 for base in (2, 3, 5, 7, 11))
    assert pow(2, prime - 1, prime) == 1
    assert gcd(pow(2, (prime - 1) // factor, prime) - 1, prime) == 1


@given(ELEMENTS)
def test_an_element_has_one_form(element: int) -> None:
    octets = field.to_bytes(element)
    assert len(octets) == field.ELEMENT_BYTES
    assert field.from_bytes(octets) == element


@pytest.mark.parametrize("octets", [b"", bytes(31), bytes(33), b"\xff" * 32, field.PRIME.to_bytes(32, "big")])
def test_what_is_no_element_is_refused(octets: bytes) -> None:
    with pytest.raises(MaskingError, match="no element"):
        field.from_bytes(octets)


def test_draws_cover_the_field_evenly() -> None:
    entropy = SecureEntropy()
    eighths = Counter(8 * field.draw(entropy) // field.PRIME for _ in range(8000))
    # Six standard deviations of a binomial with mean 1000.
    assert all(abs(eighths[eighth] - 1000) < 180 for eighth in range(8))


@given(ELEMENTS, st.data())
def test_any_threshold_of_shares_give_the_secret_back(secret: int, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(1, 2000), min_size=1, max_size=12, unique=True))
    threshold = data.draw(st.integers(1, len(points)))
    shares = dict(zip(points, shamir.shares(secret, points, threshold, SeededEntropy(1)), strict=True))
    chosen = data.draw(st.permutations(points))[: data.draw(st.integers(threshold, len(points)))]
    assert shamir.reconstruct({point: shares[point] for point in chosen}, threshold) == secret


def test_fewer_shares_have_the_same_law_for_every_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted out in the field of 7: two shares of three that it takes, over all polynomials."""
    monkeypatch.setattr(shamir, "PRIME", 7)

    def law(secret: int) -> Counter[tuple[int, ...]]:
        shares: Counter[tuple[int, ...]] = Counter()
        for coefficients in product(range(7), repeat=2):
            dictated = iter(coefficients)
            monkeypatch.setattr(shamir, "draw", lambda _, dictated=dictated: next(dictated))
            shares[tuple(shamir.shares(secret, [2, 5], 3, SeededEntropy(0)))] += 1
        return shares

    laws = [law(secret) for secret in range(7)]
    assert set(laws[0].values()) == {1}
    assert all(other == laws[0] for other in laws)


def test_wrong_shares_give_something_else() -> None:
    points = [1, 2, 3]
    shares = dict(zip(points, shamir.shares(42, points, 3, SeededEntropy(7)), strict=True))
    shares[2] = (shares[2] + 1) % field.PRIME
    assert shamir.reconstruct(shares, 3) != 42
