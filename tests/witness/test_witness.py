"""A witness: it co-signs a log that grows, and nothing that contradicts what it has co-signed before."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.conformance.scripted_log import tile_files
from neologue.errors import LogError
from neologue.transparency.add_checkpoint import SIZE_MEDIA, AddCheckpoint
from neologue.transparency.checkpoint import Checkpoint, campaign_origin, log_verifier, operator_origin, sign_checkpoint
from neologue.transparency.merkle import prove_consistency, tree_root
from neologue.transparency.signed_note import Note, parse_signatures
from neologue.transparency.tiles import subtrees_of_entries
from neologue.witness.witness import Witness, WitnessResponse
from neologue.witness.witness_app import describe
from neologue.witness.witness_file import Fork, WitnessFile

LOG = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)
KEY = LOG.public_key().public_bytes_raw()
ORIGIN = operator_origin(KEY)
NOW = 1_700_000_000
HONEST = [f"entry {number}".encode() for number in range(20)]
FORKED = [b"for one device alone", *HONEST[1:]]


def note_of(entries: Sequence[bytes], origin: str = ORIGIN, private: Ed25519PrivateKey = LOG) -> Note:
    root = tree_root(len(entries), subtrees_of_entries(entries))
    return sign_checkpoint(Checkpoint(origin, len(entries), root), private)


def request(entries: Sequence[bytes], old: int, origin: str = ORIGIN) -> bytes:
    path = prove_consistency(old, len(entries), subtrees_of_entries(entries))
    return bytes(AddCheckpoint(old, tuple(path), bytes(note_of(entries, origin))))


class Seen(list[Fork]):
    """The forks that a witness was shown."""


@pytest.fixture
def file(tmp_path: Path) -> WitnessFile:
    return WitnessFile(tmp_path / "witness.db", "witness.example/w1")


@pytest.fixture
def forks() -> Seen:
    return Seen()


@pytest.fixture
def witness(file: WitnessFile, forks: Seen) -> Witness:
    return Witness(file, [log_verifier(KEY)], lambda: NOW, forks.append)


def cosigned(answer: WitnessResponse, file: WitnessFile, entries: Sequence[bytes], origin: str = ORIGIN) -> bool:
    """Whether the answer is a right co-signature."""
    assert answer.status == 200, answer.body
    found = note_of(entries, origin).with_signatures(parse_signatures(answer.body)).cosignature_by(file.key)
    return found is not None and found.time == NOW


def test_a_log_that_grows_is_cosigned(witness: Witness, file: WitnessFile) -> None:
    assert cosigned(witness.add_checkpoint(request(HONEST[:3], 0)), file, HONEST[:3])
    assert cosigned(witness.add_checkpoint(request(HONEST[:3], 3)), file, HONEST[:3]), "once more, at another time"
    assert cosigned(witness.add_checkpoint(request(HONEST[:17], 3)), file, HONEST[:17])
    assert f"co-signed {ORIGIN} up to 17 entries" in describe(file)


def test_the_tree_of_a_campaign_is_cosigned_apart(witness: Witness, file: WitnessFile) -> None:
    campaign = campaign_origin(KEY, bytes(16))
    assert cosigned(witness.add_checkpoint(request(HONEST[:2], 0, campaign)), file, HONEST[:2], campaign)
    assert cosigned(witness.add_checkpoint(request(HONEST[:9], 0)), file, HONEST[:9])


def test_whoever_does_not_know_what_was_cosigned_last_is_told(witness: Witness) -> None:
    witness.add_checkpoint(request(HONEST[:3], 0))
    assert witness.add_checkpoint(request(HONEST[:5], 0)) == WitnessResponse(409, "3\n", SIZE_MEDIA)
    assert witness.add_checkpoint(request(HONEST[:2], 2)) == WitnessResponse(409, "3\n", SIZE_MEDIA), (
        "it does not go back"
    )


def test_a_fork_is_not_cosigned(witness: Witness, file: WitnessFile) -> None:
    witness.add_checkpoint(request(HONEST[:3], 0))
    assert witness.add_checkpoint(request(FORKED[:5], 3)).status == 422
    assert cosigned(witness.add_checkpoint(request(HONEST[:5], 3)), file, HONEST[:5]), "a wrong proof proves no fork"


def test_two_checkpoints_that_contradict_each_other_are_kept_for_ever(
    witness: Witness, file: WitnessFile, forks: Seen, tmp_path: Path
) -> None:
    witness.add_checkpoint(request(HONEST[:3], 0))
    witness.add_checkpoint(request(HONEST[:5], 3))
    answer = witness.add_checkpoint(request(FORKED[:3], 3))
    assert answer.status == 409
    assert "was forked" in answer.body
    (fork,) = forks
    assert (fork.ours, fork.theirs) == (bytes(note_of(HONEST[:3])), bytes(note_of(FORKED[:3])))
    # Nothing of the operator any more: not what is right, not another campaign, not after a new start.
    again = Witness(WitnessFile(tmp_path / "witness.db"), [log_verifier(KEY)], lambda: NOW, forks.append)
    for refused in (request(HONEST[:7], 5), request(HONEST[:2], 0, campaign_origin(KEY, bytes(16)))):
        assert "was forked" in again.add_checkpoint(refused).body
    assert f"FORKED {ORIGIN}" in describe(file)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"old 0\n\nnothing", 400),
        (request(HONEST[:3], 0, "another.example/log"), 404),
        (request(HONEST[:3], 0, f"{ORIGIN}/campaign"), 404),
        (request(HONEST[:3], 0, f"{ORIGIN}{'0' * 32}"), 404),
        (bytes(AddCheckpoint(0, (), bytes(note_of(HONEST[:3], private=Ed25519PrivateKey.generate())))), 403),
        (bytes(AddCheckpoint(4, (), bytes(note_of(HONEST[:3])))), 400),
        (bytes(AddCheckpoint(0, (bytes(32),), bytes(note_of(HONEST[:3])))), 422),
    ],
    ids=["empty", "cut", "another log", "a path", "a longer name", "another key", "a later size", "a proof of nothing"],
)
def test_what_is_wrong_is_refused_as_the_protocol_says(witness: Witness, body: bytes, status: int) -> None:
    assert witness.add_checkpoint(body).status == status


def test_a_log_that_shows_everybody_something_else_is_caught(witness: Witness, forks: Seen) -> None:
    """The witness was lied to: it co-signed another log than the one that is served."""
    witness.add_checkpoint(request(FORKED[:3], 0))
    files = tile_files(HONEST[:8])
    assert not witness.observe(bytes(note_of(HONEST[:8])), ORIGIN, files.__getitem__)
    assert len(forks) == 1
    assert "was forked" in witness.add_checkpoint(request(FORKED[:5], 3)).body


def test_a_log_that_shows_what_was_cosigned_is_left_in_peace(witness: Witness, forks: Seen) -> None:
    witness.add_checkpoint(request(HONEST[:3], 0))
    for size in (2, 3, 8):
        files = tile_files(HONEST[:size])
        assert witness.observe(bytes(note_of(HONEST[:size])), ORIGIN, files.__getitem__)
    assert not forks


def test_files_that_do_not_belong_to_a_checkpoint_prove_nothing(witness: Witness, forks: Seen) -> None:
    witness.add_checkpoint(request(HONEST[:3], 0))
    with pytest.raises(LogError, match="do not belong"):
        witness.observe(bytes(note_of(HONEST[:8])), ORIGIN, tile_files(FORKED[:8]).__getitem__)
    with pytest.raises(LogError, match="not signed by it"):
        witness.observe(
            bytes(note_of(HONEST[:8], private=Ed25519PrivateKey.generate())), ORIGIN, dict[str, bytes]().__getitem__
        )
    assert not forks


def test_a_witness_keeps_its_name_and_key(file: WitnessFile, tmp_path: Path) -> None:
    assert WitnessFile(tmp_path / "witness.db").key == file.key
    with pytest.raises(LogError, match="never changed"):
        WitnessFile(tmp_path / "witness.db", "somebody.else/w1")
    with pytest.raises(LogError, match="give it a name"):
        WitnessFile(tmp_path / "none.db")
    with pytest.raises(LogError, match="neither spaces"):
        WitnessFile(tmp_path / "none.db", "two words")
