"""Messages as bytes: one form each, and hostile bytes of every kind refused with one kind of error."""

from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from groups import ISSUER, ISSUERS, LAYER, identity, some_terms
from neologue.errors import MaskingError, ParameterError
from neologue.masking.agreement import Confirmation, ShareRequest, Survivors
from neologue.masking.graph import circle, neighbours_at
from neologue.masking.keys import PublicKeys, pairwise_mask_key, seal, self_mask_key, tag, unseal
from neologue.masking.messages import SEALED_BYTES, Deal, Delivery, MaskedVector, ShareKind, Sharing, Unmasking
from neologue.masking.roster import Advertisement, Roster, roster_digest
from neologue.masking.terms import MaskingGroup, Promise, Terms
from neologue.masking.vote_packing import pack, unpack
from neologue.masking.voucher import Issuers, vouch

TERMS = some_terms(entries=11, votes=3, dropout=20, corrupt=2)
COHORT = MaskingGroup(TERMS, 10)
DEGREE = COHORT.neighbourhood.degree
AROUND = range(1, 1 + DEGREE)
SHARED = frozenset({0, 1, 2, 9})

KEYS = PublicKeys(b"\x09".ljust(32, b"\0"), b"\x0a".ljust(32, b"\0"))
DEVICES = tuple(
    Advertisement.sign(KEYS, TERMS, who.signer, 0, who.voucher) for who in (identity(number) for number in range(10))
)
ROSTER = roster_digest(COHORT, DEVICES)
OTHER_ROSTERS = (
    roster_digest(MaskingGroup(TERMS, 11), DEVICES),
    roster_digest(MaskingGroup(some_terms(entries=12), 10), DEVICES),
    roster_digest(COHORT, (*DEVICES[1:], DEVICES[0])),
)
SIGNED = DEVICES[0]
DEAL = Deal(bytes(range(SEALED_BYTES)), (b"seed".ljust(16), b"key".ljust(16)))
SIGNATURES = {1: b"one".ljust(64), 8: b"eight".ljust(64)}

EXAMPLES: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "terms": (bytes(TERMS), Terms.parse),
    "advertisement": (SIGNED.body(TERMS), lambda body: Advertisement.parse(body, TERMS)),
    "roster": (Roster(COHORT, 0, DEVICES).body(), lambda body: Roster.parse(body, TERMS)),
    "sharing": (Sharing(3, b"t" * 16, bytes(DEAL) * DEGREE).body(COHORT), lambda body: Sharing.parse(body, COHORT)),
    "delivery": (
        Delivery(9, SHARED, (DEAL,) * len(SHARED.intersection(AROUND))).body(COHORT),
        lambda body: Delivery.parse(body, COHORT, AROUND),
    ),
    "masked vector": (
        MaskedVector(2, b"signed".ljust(64), bytes(COHORT.vector_bytes)).body(COHORT),
        lambda body: MaskedVector.parse(body, COHORT),
    ),
    "survivors": (Survivors(2, SIGNATURES).body(COHORT), lambda body: Survivors.parse(body, COHORT)),
    "confirmation": (Confirmation(2, b"signed".ljust(64)).body(COHORT), lambda body: Confirmation.parse(body, COHORT)),
    "request": (ShareRequest(2, SIGNATURES).body(COHORT), lambda body: ShareRequest.parse(body, COHORT)),
    "unmasking": (
        Unmasking(2, ((ShareKind.NEITHER, 0), *((ShareKind.SEED, 2**254),) * (DEGREE - 1))).body(COHORT),
        lambda body: Unmasking.parse(body, COHORT),
    ),
}
NUMBERS = {
    "advertisement": 1, "roster": 2, "sharing": 3, "delivery": 4, "masked vector": 5, "survivors": 6, "confirmation": 7,
    "request": 8, "unmasking": 9
}  # fmt: skip
named = pytest.mark.parametrize("name", list(EXAMPLES))


def again(message: object) -> bytes:
    """The bytes of what was read."""
    match message:
        case Terms():
            return bytes(message)
        case Advertisement():
            return message.body(TERMS)
        case Roster():
            return message.body()
        case Sharing() | Delivery() | MaskedVector() | Survivors() | Confirmation() | ShareRequest() | Unmasking():
            return message.body(COHORT)
    raise AssertionError(message)


@named
def test_what_is_read_is_what_was_written(name: str) -> None:
    body, parse = EXAMPLES[name]
    assert again(parse(body)) == body


@named
def test_every_shorter_and_longer_form_is_refused(name: str) -> None:
    body, parse = EXAMPLES[name]
    for wrong in [*(body[:end] for end in range(len(body))), body + b"\0", body + body, body + bytes(1 << 20)]:
        with pytest.raises(MaskingError):
            parse(wrong)


@named
def test_a_changed_bit_is_an_error_or_another_message(name: str) -> None:
    body, parse = EXAMPLES[name]
    for bit in range(0, 8 * len(body), 1 if len(body) < 1000 else 13):
        changed = bytearray(body)
        changed[bit // 8] ^= 128 >> bit % 8
        try:
            read = parse(bytes(changed))
        except MaskingError:
            continue
        assert again(read) == bytes(changed)


@named
@given(data=st.data())
def test_hostile_bytes_are_refused_or_read_as_they_are(name: str, data: st.DataObject) -> None:
    body, parse = EXAMPLES[name]
    kept = data.draw(st.integers(0, min(len(body), 60)))
    hostile = body[:kept] + data.draw(st.binary(max_size=len(body) + 10))
    try:
        read = parse(hostile)
    except MaskingError:
        return
    assert again(read) == hostile


@pytest.mark.parametrize("name", list(NUMBERS))
def test_another_version_stage_or_group_is_named(name: str) -> None:
    body, parse = EXAMPLES[name]
    assert body[:2] == bytes([2, NUMBERS[name]])
    with pytest.raises(MaskingError, match="version 1"):
        parse(b"\1" + body[1:])
    with pytest.raises(MaskingError, match="message 10 where"):
        parse(b"\2\x0a" + body[2:])
    with pytest.raises(MaskingError, match="another group"):
        parse(body[:2] + bytes(16) + body[18:])


def roster(index: int, devices: tuple[Advertisement, ...], size: int = 10) -> bytes:
    header = bytes([2, 2]) + TERMS.group_id + size.to_bytes(2, "big") + index.to_bytes(2, "big")
    return header + b"".join(map(bytes, devices))


class TestRoster:
    @pytest.mark.parametrize(
        ("index", "devices", "reason"),
        [
            (0, (*DEVICES[:-1], DEVICES[-2]), "twice"),
            (10, DEVICES, "device 10 in a group of 10"),
            (0, DEVICES[:-1], "is too short"),
            (0, (*DEVICES, DEVICES[0]), "is too long"),
        ],
    )
    def test_a_wrong_list_is_refused(self, index: int, devices: tuple[Advertisement, ...], reason: str) -> None:
        assert Roster.parse(roster(0, DEVICES), TERMS).index == 0
        with pytest.raises(MaskingError, match=reason):
            Roster.parse(roster(index, devices), TERMS)

    @pytest.mark.parametrize("size", [0, 2, 2001, 65535])
    def test_a_size_that_was_not_promised_is_refused(self, size: int) -> None:
        with pytest.raises(MaskingError, match="were promised"):
            Roster.parse(roster(0, DEVICES, size), TERMS)

    def test_neighbours_follow_from_everybody_in_it(self) -> None:
        """The same for all devices, and others as soon as anybody is another one, or elsewhere."""
        whole = Roster(COHORT, 3, DEVICES)
        assert Roster(COHORT, 5, DEVICES).digest == whole.digest
        order = circle(10, whole.digest)
        assert whole.neighbours == neighbours_at(order, order.index(3), DEGREE)
        swapped = Roster(COHORT, 3, (DEVICES[1], DEVICES[0], *DEVICES[2:]))
        terms = some_terms(entries=11, votes=3, dropout=20, corrupt=2, group_id=b"another")
        elsewhere = Roster(MaskingGroup(terms, 10), 3, DEVICES)
        assert len({whole.digest, swapped.digest, elsewhere.digest}) == 3
        assert circle(10, swapped.digest) != order

    def test_a_size_that_can_not_be_protected_is_refused(self) -> None:
        read = Roster.parse(roster(0, DEVICES[:3], 3), TERMS)
        with pytest.raises(MaskingError, match="can't be protected"):
            _ = read.neighbours


class TestTerms:
    @pytest.mark.parametrize(
        ("place", "octets"),
        [
            (49, bytes(4)),
            (49, b"\xff" * 4),
            (53, bytes(2)),
            (53, b"\xff\xff"),
            (55, b"\0\2"),
            (57, b"\x1f"),
            (58, b"\xff\xff"),
        ],
    )
    def test_numbers_out_of_range_are_refused(self, place: int, octets: bytes) -> None:
        body = bytearray(bytes(TERMS))
        body[place : place + len(octets)] = octets
        with pytest.raises(MaskingError, match="can't be met"):
            Terms.parse(bytes(body))

    def test_identities_have_one_length(self) -> None:
        with pytest.raises(ParameterError, match="16 bytes and a layer's digest 32"):
            Terms(b"short", LAYER, 1, 1, 3, 0, 0)

    @pytest.mark.parametrize(
        ("votes", "size", "bits"), [(1, 3, 2), (1, 100, 7), (1, 127, 7), (1, 128, 8), (60, 100, 13), (4096, 2000, 23)]
    )
    def test_an_entry_has_just_the_bits_for_all_votes(self, votes: int, size: int, bits: int) -> None:
        group = MaskingGroup(some_terms(votes=votes), size)
        assert group.bits == bits
        assert 2 ** (bits - 1) <= votes * size < 2**bits

    def test_other_terms_than_promised_are_refused(self) -> None:
        Promise(3, 20, 2, ISSUERS.keys).check(TERMS)
        with pytest.raises(MaskingError, match="3 devices, and 4 were promised"):
            Promise(4, 20, 2, ISSUERS.keys).check(TERMS)
        with pytest.raises(MaskingError, match="2 corrupt devices, and 3 were promised"):
            Promise(3, 20, 3, ISSUERS.keys).check(TERMS)
        with pytest.raises(MaskingError, match="2 corrupt devices, and 1 were promised"):
            Promise(3, 20, 1, ISSUERS.keys).check(TERMS)
        with pytest.raises(MaskingError, match="20 per cent of dropouts, and 10 were promised"):
            Promise(3, 10, 2, ISSUERS.keys).check(TERMS)

    @pytest.mark.parametrize(
        ("size", "corrupt", "smallest", "quorum"),
        [(10, 0, 3, 6), (11, 0, 3, 6), (10, 3, 3, 7), (10, 4, 3, 8), (10, 0, 9, 9)],
    )
    def test_no_two_sets_can_both_have_a_quorum(self, size: int, corrupt: int, smallest: int, quorum: int) -> None:
        """Of the honest devices more than half must have signed, whatever the corrupt ones do."""
        group = MaskingGroup(some_terms(corrupt=corrupt, smallest=smallest), size)
        assert group.quorum == quorum
        assert 2 * (quorum - corrupt) > size - corrupt
        assert quorum == smallest or 2 * (quorum - 1 - corrupt) <= size - corrupt


class TestKeys:
    SMALL_ORDER = (bytes(32), b"\x01".ljust(32, b"\0"), bytes.fromhex(
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"
    ))  # fmt: skip

    @pytest.mark.parametrize("point", SMALL_ORDER)
    def test_a_point_of_small_order_is_no_key(self, point: bytes) -> None:
        assert KEYS.usable
        assert not PublicKeys(KEYS.sealing, point).usable
        assert not PublicKeys(point, KEYS.masking).usable
        with pytest.raises(MaskingError, match="no secret"):
            pairwise_mask_key(X25519PrivateKey.generate(), point, ROSTER, (0, 1))

    def test_both_of_a_pair_have_the_same_mask_and_no_other_pair_or_group_has_it(self) -> None:
        one, two = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        publics = [key.public_key().public_bytes_raw() for key in (one, two)]
        key = pairwise_mask_key(one, publics[1], ROSTER, (4, 7))
        assert pairwise_mask_key(two, publics[0], ROSTER, (7, 4)) == key
        others = {
            pairwise_mask_key(one, publics[1], ROSTER, (4, 8)),
            *(pairwise_mask_key(one, publics[1], roster, (4, 7)) for roster in OTHER_ROSTERS),
            pairwise_mask_key(one, publics[0], ROSTER, (4, 7)),
        }
        assert len(others | {key}) == 3 + len(OTHER_ROSTERS)

    def test_what_is_sealed_is_opened_by_one_device_from_one_other(self) -> None:
        one, two = X25519PrivateKey.generate(), X25519PrivateKey.generate()
        publics = [key.public_key().public_bytes_raw() for key in (one, two)]
        sealed = seal(b"shares", one, publics[1], ROSTER, 4, 7)
        assert unseal(sealed, two, publics[0], ROSTER, 4, 7) == b"shares"
        elsewhere = [(roster, 4, 7) for roster in OTHER_ROSTERS]
        for roster, sender, receiver in [(ROSTER, 7, 4), (ROSTER, 4, 8), *elsewhere]:
            with pytest.raises(MaskingError, match="can't be opened"):
                unseal(sealed, two, publics[0], roster, sender, receiver)

    def test_masks_and_tags_are_of_one_roster(self) -> None:
        rosters = (ROSTER, *OTHER_ROSTERS)
        assert len({self_mask_key(1, roster, 4) for roster in rosters}) == len(rosters)
        assert len({tag(1, roster, ShareKind.SEED, 4, 7) for roster in rosters}) == len(rosters)


class TestSignatures:
    def test_a_signature_is_of_these_keys_in_this_group_by_this_signer(self) -> None:
        assert SIGNED.is_genuine(TERMS)
        signer, issuer, voucher = SIGNED.signer, SIGNED.issuer, SIGNED.voucher
        other = PublicKeys(KEYS.masking, KEYS.sealing)
        assert not Advertisement(signer, issuer, voucher, other, SIGNED.signature).is_genuine(TERMS)
        assert not SIGNED.is_genuine(some_terms(group_id=b"another"))
        assert not Advertisement(DEVICES[1].signer, issuer, voucher, KEYS, SIGNED.signature).is_genuine(TERMS)

    def test_a_voucher_is_an_issuer_s_for_one_key_in_one_campaign(self) -> None:
        assert SIGNED.is_vouched(ISSUERS)
        assert ISSUERS.issuer_of(SIGNED.signer, SIGNED.voucher) == 0
        assert not SIGNED.is_vouched(Issuers(bytes(16), ISSUERS.keys))
        stranger = Ed25519PrivateKey.generate()
        both = Issuers(ISSUERS.campaign_id, (stranger.public_key().public_bytes_raw(), *ISSUERS.keys))
        assert not SIGNED.is_vouched(both), "it names the first issuer"
        assert both.issuer_of(SIGNED.signer, SIGNED.voucher) == 1
        assert not both.vouch_for(SIGNED.signer, 2, SIGNED.voucher)
        assert not both.vouch_for(DEVICES[1].signer, 1, SIGNED.voucher)
        assert ISSUERS.issuer_of(SIGNED.signer, vouch(ISSUERS.campaign_id, SIGNED.signer, stranger)) is None
        assert ISSUERS.issuer_of(SIGNED.signer, vouch(ISSUERS.campaign_id, SIGNED.signer, ISSUER)) == 0


def test_the_padding_of_a_vector_is_zero() -> None:
    packed = pack(unpack(bytes(COHORT.vector_bytes), COHORT.bits, TERMS.entries), COHORT.bits)
    assert COHORT.bits * TERMS.entries % 8
    with pytest.raises(MaskingError, match="after the last entry"):
        unpack(packed[:-1] + bytes([packed[-1] | 1]), COHORT.bits, TERMS.entries)
