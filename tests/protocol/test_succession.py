"""How an operator's key is replaced: what is refused, and what no document can do. The vectors have the rules."""

from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import SignatureError
from neologue.protocol.succession import (
    MOST_SUCCESSION_BYTES,
    KeyHistory,
    Link,
    read_links,
    recovery_digest,
    revoke,
    succeed,
)

KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(6)]
PUBLIC = [key.public_key().public_bytes_raw() for key in KEYS]
RECOVERY = KEYS[5]
DIGEST = recovery_digest(PUBLIC[5])


def document(*links: Link) -> bytes:
    return b"".join(map(bytes, links))


LINK = document(succeed(KEYS[0], PUBLIC[1]))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (LINK[:-1], "cut"),
        (LINK + LINK[:50], "cut"),
        (b"\3" + LINK[1:], "of a kind that"),
        (LINK * 200, f"at most {MOST_SUCCESSION_BYTES:,} bytes"),
    ],
)
def test_what_is_no_succession_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(SignatureError, match=why):
        read_links(content)


def test_links_are_read_as_they_were_written() -> None:
    links: list[Link] = [succeed(KEYS[0], PUBLIC[1]), revoke(RECOVERY, PUBLIC[1], PUBLIC[2])]
    assert read_links(document(*links)) == links
    assert all(link.genuine for link in links)


@given(st.integers(0, len(LINK) - 1), st.integers(1, 255))
def test_no_byte_of_a_link_can_be_changed(place: int, change: int) -> None:
    changed = bytearray(LINK)
    changed[place] ^= change
    history = KeyHistory()
    with suppress(SignatureError):
        history = history.learn(bytes(changed), {PUBLIC[0]: DIGEST})
    assert history.path(PUBLIC[0], DIGEST) == (PUBLIC[0],)


def test_a_key_can_not_succeed_itself() -> None:
    with pytest.raises(SignatureError, match="another successor"):
        revoke(RECOVERY, PUBLIC[0], PUBLIC[0])
    itself = document(succeed(KEYS[0], PUBLIC[0]))
    assert KeyHistory().learn(itself, {PUBLIC[0]: None}).trusted(PUBLIC[0], None) == PUBLIC[0]


def test_strangers_can_not_fill_a_device_with_keys_of_theirs() -> None:
    strange = document(*(succeed(KEYS[number], PUBLIC[number + 1]) for number in range(1, 4)))
    assert KeyHistory().learn(strange, {PUBLIC[0]: DIGEST}) == KeyHistory()


def test_the_recovery_key_of_one_operator_revokes_nothing_of_another() -> None:
    """The device trusts both, each with a recovery key of its own."""
    other = recovery_digest(PUBLIC[4])
    pins = {PUBLIC[0]: DIGEST, PUBLIC[1]: other}
    history = KeyHistory().learn(document(revoke(RECOVERY, PUBLIC[1], PUBLIC[2])), pins)
    assert history.trusted(PUBLIC[1], other) == PUBLIC[1]
    assert not history.is_revoked(PUBLIC[1], other)


links_of_all = st.one_of(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda pair: succeed(KEYS[pair[0]], PUBLIC[pair[1]])),
    st.tuples(st.integers(0, 4), st.integers(0, 4))
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: revoke(RECOVERY, PUBLIC[pair[0]], PUBLIC[pair[1]])),
)


@given(st.lists(st.lists(links_of_all, max_size=5), min_size=1, max_size=5))
def test_whatever_is_shown_nobody_goes_back(shown: list[list[Link]]) -> None:
    """A revoked key is never trusted again, and as long as none is revoked, nor is one that was replaced."""
    history, trusted = KeyHistory(), [PUBLIC[0]]
    for links in shown:
        history = history.learn(document(*links), {PUBLIC[0]: DIGEST})
        now = history.trusted(PUBLIC[0], DIGEST)
        assert now is None or not history.is_revoked(now, DIGEST)
        if history.revocations:
            continue
        assert now is not None
        assert now == trusted[-1] or now not in trusted
        trusted.append(now)
