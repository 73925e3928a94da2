"""Signed notes, checkpoints and co-signatures: what is signed is read again, and nothing that was changed is."""

from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import LogError
from neologue.transparency.add_checkpoint import AddCheckpoint
from neologue.transparency.checkpoint import (
    Checkpoint,
    campaign_origin,
    log_verifier,
    open_checkpoint,
    operator_origin,
    sign_checkpoint,
)
from neologue.transparency.signed_note import COSIGNATURE, ED25519, Note, NoteKey, cosign_note, decode_base64

LOG = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
WITNESS = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
KEY = LOG.public_key().public_bytes_raw()
ORIGIN = operator_origin(KEY)
WITNESS_KEY = NoteKey("witness.example/w1", COSIGNATURE, WITNESS.public_key().public_bytes_raw())
EXAMPLE = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""  # noqa: E501 - as the specification of co-signatures has it


def signed(size: int = 3) -> Note:
    note = sign_checkpoint(Checkpoint(ORIGIN, size, bytes(32)), LOG)
    return note.with_signatures([cosign_note(note.text, WITNESS_KEY.name, WITNESS, 1_679_315_147)])


def test_the_example_of_the_specification_is_read_and_written_as_it_is() -> None:
    note = Note.parse(EXAMPLE.encode())
    checkpoint = Checkpoint.parse(note.text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert str(checkpoint) == note.text
    assert bytes(note) == EXAMPLE.encode()
    assert int.from_bytes(note.signatures[1].value[:8], "big") == 1_679_315_147


def test_a_checkpoint_is_signed_and_cosigned() -> None:
    checkpoint, note = open_checkpoint(bytes(signed()), ORIGIN, KEY)
    assert checkpoint == Checkpoint(ORIGIN, 3, bytes(32))
    found = note.cosignature_by(WITNESS_KEY)
    assert found is not None
    assert found.time == 1_679_315_147


@given(st.data())
def test_no_changed_byte_of_a_checkpoint_passes(data: st.DataObject) -> None:
    content = bytes(signed())
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytes([content[place] ^ data.draw(st.integers(1, 255))])
    tampered = content[:place] + changed + content[place + 1 :]
    try:
        checkpoint, note = open_checkpoint(tampered, ORIGIN, KEY)
    except LogError:
        return
    # Only what is below the log's own signature could be changed, and then it is no co-signature any more.
    assert checkpoint == Checkpoint(ORIGIN, 3, bytes(32))
    assert note.cosignature_by(WITNESS_KEY) is None


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_raise_a_log_error(content: bytes) -> None:
    for read in (Note.parse, AddCheckpoint.parse):
        with suppress(LogError):
            read(content)


def test_a_checkpoint_of_another_log_or_of_another_key_is_refused() -> None:
    with pytest.raises(LogError, match="not of"):
        open_checkpoint(bytes(signed()), campaign_origin(KEY, bytes(16)), KEY)
    with pytest.raises(LogError, match="not signed by its log"):
        open_checkpoint(bytes(signed()), ORIGIN, WITNESS_KEY.public)


def test_a_cosignature_does_not_pass_for_the_signature_of_a_log() -> None:
    note = sign_checkpoint(Checkpoint(ORIGIN, 3, bytes(32)), LOG)
    cosigned = Note(note.text, (cosign_note(note.text, ORIGIN, LOG, 7),))
    assert not cosigned.signed_by(NoteKey(ORIGIN, ED25519, KEY))
    assert note.cosignature_by(NoteKey(ORIGIN, COSIGNATURE, KEY)) is None


def test_a_verifier_key_is_written_and_read() -> None:
    for key in (WITNESS_KEY, log_verifier(KEY)):
        assert NoteKey.parse(str(key)) == key
    known = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    assert str(NoteKey.parse(known)) == known


@pytest.mark.parametrize(
    "text",
    ["", "a+b", "name+00000000+AQ==", f"{WITNESS_KEY}"[:-4], f"x{WITNESS_KEY}", "a b+c74f20a3+AQ==", "name+c74f20a3+!"],
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(LogError):
        NoteKey.parse(text)


@pytest.mark.parametrize("text", ["a\n", "a\n1\n", "a\n01\nAA==\n", "a\n1\nAA==\n", "a\n-1\nAA==\n", "\n1\nAA==\n"])
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(LogError):
        Checkpoint.parse(text)


@pytest.mark.parametrize("text", ["AA", "AB==", "A A=", "A\n==", "AA==\n"])
def test_base64_has_one_spelling(text: str) -> None:
    with pytest.raises(LogError, match="base64"):
        decode_base64(text)


def test_a_request_to_cosign_is_written_and_read() -> None:
    request = AddCheckpoint(20, (bytes(32), bytes(range(32))), bytes(signed()))
    assert AddCheckpoint.parse(bytes(request)) == request
    assert AddCheckpoint.parse(bytes(AddCheckpoint(0, (), b"note"))) == AddCheckpoint(0, (), b"note")


@pytest.mark.parametrize("content", [b"", b"old 1", b"new 1\n\nnote", b"old 01\n\nnote", b"old 1\nAA==\n\nnote"])
def test_what_is_no_request_to_cosign_is_refused(content: bytes) -> None:
    with pytest.raises(LogError):
        AddCheckpoint.parse(content)
