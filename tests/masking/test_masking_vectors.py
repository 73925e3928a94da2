"""The committed groups are what a plain reading of docs/secure-aggregation.md gives, with nothing of neologue."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

Case = dict[str, Any]
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "masking.json").read_text("ascii"))
PRIME = 2**255 - 19
V1 = b"neologue masking v1 "


def number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def two(value: int) -> bytes:
    return value.to_bytes(2, "big")


def derived(secret: bytes, salt: bytes, label: bytes, *parts: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, V1 + label + b"\0" + b"".join(parts)).derive(secret)


class Device:
    """What a device draws and derives."""

    def __init__(self, case: Case, terms: bytes, threshold: int) -> None:
        octets = bytes.fromhex(case["secrets"])
        self.sealing = X25519PrivateKey.from_private_bytes(octets[:32])
        drawn = [number(octets[place : place + 32]) >> 1 for place in range(32, len(octets), 32)]
        seed, key, *rest = (element for element in drawn if element < PRIME)
        assert len(rest) == 2 * threshold - 2
        self.seed, self.polynomials = seed, ([seed, *rest[: threshold - 1]], [key, *rest[threshold - 1 :]])
        private = derived(key.to_bytes(32, "big"), hashlib.sha256(terms).digest(), b"mask pair")
        self.masking = X25519PrivateKey.from_private_bytes(private)

    @property
    def keys(self) -> bytes:
        return b"".join(key.public_key().public_bytes_raw() for key in (self.sealing, self.masking))

    def shares(self, other: int) -> list[int]:
        """Of the seed and of the key, at the point of another device."""
        return [sum(c * (other + 1) ** power for power, c in enumerate(p)) % PRIME for p in self.polynomials]


class Reading:
    """A group, worked out from the secrets of its devices."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.terms = bytes.fromhex(case["terms"])
        self.group_id = self.terms[1:17]
        self.entries, votes = number(self.terms[49:53]), number(self.terms[53:55])
        self.size, self.bits = case["size"], case["bits"]
        assert self.bits == (votes * self.size).bit_length()
        self.context = hashlib.sha256(self.terms + two(self.size)).digest()
        self.devices = [Device(told, self.terms, case["threshold"]) for told in case["devices"]]
        self.word = 1 if self.bits <= 8 else 2 if self.bits <= 16 else 4
        self.neighbours = [self.roster(index) for index in range(self.size)]

    def told(self, index: int, message: str) -> bytes:
        return bytes.fromhex(self.case["devices"][index][message])

    def header(self, kind: int, index: int | None = None) -> bytes:
        return bytes([1, kind]) + self.group_id + (b"" if index is None else two(index))

    def roster(self, index: int) -> list[int]:
        rest = self.told(index, "roster").removeprefix(self.header(2) + two(self.size) + two(index))
        records = [rest[place : place + 67] for place in range(0, len(rest), 67)]
        others = [number(record[:2]) for record in records]
        assert [record[2:] for record in records] == [self.devices[other].keys + b"\0" for other in others]
        assert len(others) == self.case["degree"]
        assert all(one < other for one, other in pairwise(others))
        return others

    def tag(self, kind: int, owner: int, holder: int, element: int) -> bytes:
        place = bytes([kind]) + two(owner) + two(holder)
        return hashlib.sha256(V1 + b"tag\0" + self.context + place + element.to_bytes(32, "big")).digest()[:16]

    def deal(self, owner: int, holder: int) -> bytes:
        shares = self.devices[owner].shares(holder)
        public = self.devices[holder].sealing.public_key().public_bytes_raw()
        agreed = self.devices[owner].sealing.exchange(X25519PublicKey.from_public_bytes(public))
        key = derived(agreed, self.context, b"seal", self.group_id, two(owner), two(holder))
        sealed = ChaCha20Poly1305(key).encrypt(bytes(12), b"".join(s.to_bytes(32, "big") for s in shares), None)
        return sealed + b"".join(self.tag(kind, owner, holder, share) for kind, share in enumerate(shares, 1))

    def mask(self, key: bytes) -> list[int]:
        stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(self.entries * self.word))
        words = [stream[place : place + self.word] for place in range(0, len(stream), self.word)]
        return [int.from_bytes(word, "little") for word in words]

    def masks(self, index: int, others: list[int]) -> list[list[int]]:
        """All masks of a device, those that it takes off with a minus."""
        own = self.devices[index]
        seed = own.seed.to_bytes(32, "big")
        masks = [self.mask(derived(seed, self.context, b"self mask", self.group_id, two(index)))]
        for other in others:
            public = self.devices[other].masking.public_key().public_bytes_raw()
            agreed = own.masking.exchange(X25519PublicKey.from_public_bytes(public))
            between = two(min(index, other)) + two(max(index, other))
            mask = self.mask(derived(agreed, self.context, b"pairwise mask", self.group_id, between))
            masks.append([word if index < other else -word for word in mask])
        return masks


@pytest.fixture(params=VECTORS["cohorts"], ids=[case["name"] for case in VECTORS["cohorts"]])
def reading(request: pytest.FixtureRequest) -> Reading:
    return Reading(request.param)


def test_keys_are_advertised(reading: Reading) -> None:
    for index, device in enumerate(reading.devices):
        assert reading.told(index, "advertisement") == reading.header(1) + device.keys + b"\0"


def test_secrets_are_shared(reading: Reading) -> None:
    for index, device in enumerate(reading.devices):
        deals = [reading.deal(index, other) for other in reading.neighbours[index]]
        expected = reading.header(3, index) + reading.tag(1, index, index, device.seed) + b"".join(deals)
        assert reading.told(index, "sharing") == expected


def test_shares_are_delivered_and_votes_masked(reading: Reading) -> None:
    arrived = 0
    for index, told in enumerate(reading.case["devices"]):
        if "masked" not in told:
            continue
        arrived += 1
        others = reading.neighbours[index]
        deals = b"".join(b"\1" + reading.deal(other, index) for other in others)
        assert reading.told(index, "delivery") == reading.header(4, index) + deals
        columns = zip(told["votes"], *reading.masks(index, others), strict=True)
        digits = "".join(format(sum(column) % 2**reading.bits, f"0{reading.bits}b") for column in columns)
        packed = bytes(number_of(digits[place : place + 8]) for place in range(0, len(digits), 8))
        assert reading.told(index, "masked") == reading.header(5, index) + packed
    assert arrived == reading.size - 1


def number_of(digits: str) -> int:
    return int(digits.ljust(8, "0"), 2)


def test_one_share_of_each_neighbour_is_asked_for_and_given(reading: Reading) -> None:
    here = {index for index, told in enumerate(reading.case["devices"]) if "masked" in told}
    for index in here:
        others = reading.neighbours[index]
        kinds = [1 if other in here else 2 for other in others]
        expected = reading.header(6, index) + two(len(here)) + bytes(kinds)
        assert reading.told(index, "request") == expected
        shares = [reading.devices[other].shares(index)[kind - 1] for other, kind in zip(others, kinds, strict=True)]
        records = (bytes([kind]) + share.to_bytes(32, "big") for kind, share in zip(kinds, shares, strict=True))
        assert reading.told(index, "unmasking") == reading.header(7, index) + b"".join(records)


def test_the_sum_is_that_of_the_votes_that_arrived(reading: Reading) -> None:
    arrived = [told["votes"] for told in reading.case["devices"] if "masked" in told]
    assert reading.case["sum"] == [sum(column) for column in zip(*arrived, strict=True)]


def test_the_statement_is_signed(reading: Reading) -> None:
    operator = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(reading.case["operator_private_key"]))
    message = b"neologue no sum of v1\0" + reading.group_id + hashlib.sha256(reading.terms).digest()
    assert operator.sign(message).hex() == reading.case["statement"]
