"""The committed groups are what a plain reading of docs/secure-aggregation.md gives, with nothing of neologue."""

import hashlib
import json
from fractions import Fraction
from math import comb
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
V2 = b"neologue masking v2 "


def number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def two(value: int) -> bytes:
    return value.to_bytes(2, "big")


def derived(secret: bytes, salt: bytes, label: bytes, *parts: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, V2 + label + b"\0" + b"".join(parts)).derive(secret)


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
        self.signer = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["signing_key"]))

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
        smallest, corrupt = number(self.terms[55:57]), number(self.terms[58:60])
        assert len(self.terms) == 60
        self.size, self.bits = case["size"], case["bits"]
        assert self.bits == (votes * self.size).bit_length()
        assert case["quorum"] == max(smallest, (self.size + corrupt) // 2 + 1)
        self.context = hashlib.sha256(self.terms + two(self.size)).digest()
        self.devices = [Device(told, self.terms, case["threshold"]) for told in case["devices"]]
        self.word = 1 if self.bits <= 8 else 2 if self.bits <= 16 else 4
        records = b"".join(self.told(index, "advertisement")[18:] for index in range(self.size))
        self.roster = hashlib.sha256(V2 + b"roster\0" + self.context + records).digest()
        self.neighbours = [self.around(index) for index in range(self.size)]

    def told(self, index: int, message: str) -> bytes:
        return bytes.fromhex(self.case["devices"][index][message])

    def header(self, kind: int, index: int | None = None) -> bytes:
        return bytes([2, kind]) + self.group_id + (b"" if index is None else two(index))

    def around(self, index: int) -> list[int]:
        """The neighbours of a device."""
        degree = self.case["degree"]
        order = sorted(
            range(self.size), key=lambda each: hashlib.sha256(V2 + b"circle\0" + self.roster + two(each)).digest()
        )
        if degree == self.size - 1:
            return [other for other in range(self.size) if other != index]
        place = order.index(index)
        steps = [step for step in range(-degree // 2, degree // 2 + 1) if step]
        return sorted(order[(place + step) % self.size] for step in steps)

    def signed(self, index: int, label: bytes, *sets: set[int]) -> bytes:
        octets = b"".join(map(self.octets_of, sets))
        return self.devices[index].signer.sign(V2 + label + b"\0" + self.roster + octets)

    @property
    def set_bytes(self) -> int:
        return int(-(-self.size // 8))

    def octets_of(self, devices: set[int]) -> bytes:
        digits = "".join("1" if index in devices else "0" for index in range(8 * self.set_bytes))
        return bytes(int(digits[place : place + 8], 2) for place in range(0, len(digits), 8))

    @property
    def everybody(self) -> set[int]:
        return set(range(self.size))

    @property
    def survivors(self) -> set[int]:
        return {index for index, told in enumerate(self.case["devices"]) if "masked" in told}

    def tag(self, kind: int, owner: int, holder: int, element: int) -> bytes:
        place = bytes([kind]) + two(owner) + two(holder)
        return hashlib.sha256(V2 + b"tag\0" + self.roster + place + element.to_bytes(32, "big")).digest()[:16]

    def deal(self, owner: int, holder: int) -> bytes:
        shares = self.devices[owner].shares(holder)
        public = self.devices[holder].sealing.public_key().public_bytes_raw()
        agreed = self.devices[owner].sealing.exchange(X25519PublicKey.from_public_bytes(public))
        key = derived(agreed, self.roster, b"seal", two(owner), two(holder))
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
        masks = [self.mask(derived(seed, self.roster, b"self mask", two(index)))]
        for other in others:
            public = self.devices[other].masking.public_key().public_bytes_raw()
            agreed = own.masking.exchange(X25519PublicKey.from_public_bytes(public))
            between = two(min(index, other)) + two(max(index, other))
            mask = self.mask(derived(agreed, self.roster, b"pairwise mask", between))
            masks.append([word if index < other else -word for word in mask])
        return masks


@pytest.fixture(params=VECTORS["cohorts"], ids=[case["name"] for case in VECTORS["cohorts"]])
def reading(request: pytest.FixtureRequest) -> Reading:
    return Reading(request.param)


def test_keys_are_advertised_with_a_voucher_and_a_signature(reading: Reading) -> None:
    issuer = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(reading.case["issuer_private_key"]))
    campaign, promise = (bytes.fromhex(reading.case[name]) for name in ("campaign", "promise"))
    assert promise == reading.terms[55:60] + b"\2" + bytes(32) + raw(issuer)
    for index, device in enumerate(reading.devices):
        voucher = issuer.sign(b"neologue signing key v1\0" + campaign + raw(device.signer))
        signature = device.signer.sign(V2 + b"advertisement\0" + hashlib.sha256(reading.terms).digest() + device.keys)
        expected = raw(device.signer) + b"\1" + voucher + device.keys + signature
        assert reading.told(index, "advertisement") == reading.header(1) + expected


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def test_everybody_is_told_of_everybody(reading: Reading) -> None:
    records = b"".join(reading.told(index, "advertisement")[18:] for index in range(reading.size))
    for index in range(reading.size):
        expected = reading.header(2) + two(reading.size) + two(index) + records
        assert reading.told(index, "roster") == expected


def test_secrets_are_shared(reading: Reading) -> None:
    for index, device in enumerate(reading.devices):
        deals = [reading.deal(index, other) for other in reading.neighbours[index]]
        expected = reading.header(3, index) + reading.tag(1, index, index, device.seed) + b"".join(deals)
        assert reading.told(index, "sharing") == expected


def test_shares_are_delivered_and_votes_masked(reading: Reading) -> None:
    for index in reading.survivors:
        told, others = reading.case["devices"][index], reading.neighbours[index]
        deals = b"".join(reading.deal(other, index) for other in others)
        shared = reading.octets_of(reading.everybody)
        assert reading.told(index, "delivery") == reading.header(4, index) + shared + deals
        columns = zip(told["votes"], *reading.masks(index, others), strict=True)
        digits = "".join(format(sum(column) % 2**reading.bits, f"0{reading.bits}b") for column in columns)
        packed = bytes(number_of(digits[place : place + 8]) for place in range(0, len(digits), 8))
        signature = reading.signed(index, b"shared", reading.everybody)
        assert reading.told(index, "masked") == reading.header(5, index) + signature + packed
    assert len(reading.survivors) == reading.size - 1


def number_of(digits: str) -> int:
    return int(digits.ljust(8, "0"), 2)


def test_survivors_are_confirmed(reading: Reading) -> None:
    here = reading.survivors
    shared = b"".join(reading.signed(other, b"shared", reading.everybody) for other in sorted(here))
    confirmed = {other: reading.signed(other, b"survivors", reading.everybody, here) for other in sorted(here)}
    for index in here:
        expected = reading.header(6, index) + reading.octets_of(here) + shared
        assert reading.told(index, "survivors") == expected
        assert reading.told(index, "confirmation") == reading.header(7, index) + confirmed[index]
        expected = reading.header(8, index) + reading.octets_of(here) + b"".join(confirmed.values())
        assert reading.told(index, "request") == expected


def test_one_share_of_each_neighbour_is_given(reading: Reading) -> None:
    here = reading.survivors
    for index in here:
        others = reading.neighbours[index]
        kinds = [1 if other in here else 2 for other in others]
        shares = [reading.devices[other].shares(index)[kind - 1] for other, kind in zip(others, kinds, strict=True)]
        records = (bytes([kind]) + share.to_bytes(32, "big") for kind, share in zip(kinds, shares, strict=True))
        assert reading.told(index, "unmasking") == reading.header(9, index) + b"".join(records)


def test_the_sum_is_that_of_the_votes_that_arrived(reading: Reading) -> None:
    arrived = [told["votes"] for told in reading.case["devices"] if "masked" in told]
    assert reading.case["sum"] == [sum(column) for column in zip(*arrived, strict=True)]


@pytest.mark.parametrize("case", VECTORS["corrupt"], ids=str)
def test_more_corrupt_devices_are_seldom_enough(case: Case) -> None:
    size, share, most = case["size"], case["share"], case["most"]

    def above(number: int) -> Fraction:
        ways = (comb(size, each) * share**each * (100 - share) ** (size - each) for each in range(number + 1, size + 1))
        return Fraction(case["groups"] * sum(ways), 100**size)

    assert above(most) <= Fraction(case["risk"]) < above(most - 1)
