"""Entries in b bits each, and masks on them."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import MaskingError
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.vote_packing import entry_dtype, pack, packed_bytes, unpack

BITS = range(1, 33)


def plainly(values: list[int], bits: int) -> bytes:
    """What packing means, as a string of binary digits."""
    digits = "".join(format(value, f"0{bits}b") for value in values)
    digits += "0" * (-len(digits) % 8)
    return int("1" + digits, 2).to_bytes(len(digits) // 8 + 1, "big")[1:]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 100])
def test_entries_are_packed_one_behind_the_other_and_come_back(bits: int, count: int) -> None:
    values = np.random.default_rng(bits * count).integers(0, 1 << bits, count)
    packed = pack(values.astype(entry_dtype(bits)), bits)
    assert packed == plainly(values.tolist(), bits)
    assert len(packed) == packed_bytes(count, bits)
    unpacked = unpack(packed, bits, count)
    assert unpacked.dtype == entry_dtype(bits)
    assert unpacked.tolist() == values.tolist()


@pytest.mark.parametrize("bits", [1, 3, 7, 9, 15, 17, 31])
def test_what_is_above_the_bits_of_an_entry_is_left_out(bits: int) -> None:
    entries = np.full(11, -1).astype(entry_dtype(bits))
    assert pack(entries, bits) == plainly([(1 << bits) - 1] * 11, bits)


@given(st.binary(max_size=40), st.integers(1, 32), st.integers(1, 40))
def test_only_the_packed_form_is_read(octets: bytes, bits: int, count: int) -> None:
    try:
        entries = unpack(octets, bits, count)
    except MaskingError:
        padding = 8 * len(octets) - count * bits
        assert not 0 <= padding < 8 or int.from_bytes(octets, "big") & ((1 << padding) - 1)
    else:
        assert pack(entries, bits) == octets


@pytest.mark.parametrize(("bits", "count"), [(7, 1), (8, 70_000), (9, 140_001), (20, 100_003)])
def test_a_mask_is_the_keystream_read_in_words(bits: int, count: int) -> None:
    key = bytes(range(32))
    octets = (
        Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(count * entry_dtype(bits).itemsize))
    )
    entries = np.zeros(count, entry_dtype(bits))
    add_mask(entries, key)
    assert entries.tobytes() == octets
    subtract_mask(entries, key)
    assert not entries.any()
