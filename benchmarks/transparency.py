"""What the log costs: a device that checks a proof, a service that writes entries, a witness that co-signs."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.measure import Part, Work, cpu_seconds, elapsed_seconds, measure_in_turn, ratio
from benchmarks.setting import Setting
from neologue.ed25519 import forget_signatures, is_signed
from neologue.service.log import log_store
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase
from neologue.transparency.add_checkpoint import AddCheckpoint
from neologue.transparency.checkpoint import (
    Checkpoint,
    campaign_origin,
    log_verifier,
    operator_origin,
    sign_checkpoint,
)
from neologue.transparency.inclusion_proof import HINT_BYTES, InclusionProof, TreeProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import Subtrees, prove_consistency, prove_inclusion, tree_root
from neologue.transparency.signed_note import Cosignature, cosigned_message
from neologue.transparency.tiles import pack_entries, subtrees_of_entries
from neologue.witness.witness import Witness
from neologue.witness.witness_file import WitnessFile

WITNESSES = 3
LAYERS = 6
"""Of the campaign that a proof is about."""
CAMPAIGN = bytes(range(16))
NOW = 1_700_000_000
CHECKED, VERIFIED = "a device checks a proof", "one Ed25519 verification"
WRITTEN, PLACED, COSIGNED = "entries written", "entries placed and signed", "checkpoints co-signed"
REPEATED = 20
"""How often a round checks a proof."""


def measure(setting: Setting) -> Part:
    """Measure the three of them in turn."""
    with TemporaryDirectory() as folder:
        log = _Log(setting.log_entries)
        proof = bytes(log.proof(LAYERS - 1))
        measured = measure_in_turn(_works(log, proof, Path(folder)), setting.rounds)
    campaign = [bytes(entry) for entry in log.campaign_entries()]
    return Part(
        title=f"The log: {setting.log_entries:,} entries, {WITNESSES} of {WITNESSES} witnesses",
        measured=list(measured.values()),
        ratios=[ratio(measured[CHECKED], measured[VERIFIED])],
        notes=[
            f"{len(proof):,} bytes of proof beside an invitation, with {2 + 2 * WITNESSES} signatures to verify",
            f"{len(campaign)} entries of a campaign of {LAYERS} layers, {len(pack_entries(campaign)):,} bytes",
        ],
    )


class _Log:
    """An operator's log that begins with one campaign, whose entries have the longest paths."""

    def __init__(self, size: int) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = self.private.public_key().public_bytes_raw()
        self.witnesses = [Ed25519PrivateKey.generate() for _ in range(WITNESSES)]
        own = list(self.campaign_entries())
        after = [LogEntry(Deed.KNOWN, number.to_bytes(32, "big")) for number in range(max(0, size - len(own)))]
        self.entries = [bytes(entry) for entry in (*own, *after)]
        self.layers = [bytes(entry) for entry in own if entry.deed is Deed.OPENED]
        self.subtrees = subtrees_of_entries(self.entries)

    @staticmethod
    def layer(index: int) -> LogEntry:
        return LogEntry(Deed.OPENED, bytes([index]) * 32, CAMPAIGN, index)

    def campaign_entries(self) -> Iterator[LogEntry]:
        yield LogEntry(Deed.CREATED, bytes(32), CAMPAIGN)
        yield LogEntry(Deed.STARTED, campaign=CAMPAIGN)
        for index in range(LAYERS):
            yield self.layer(index)
            yield LogEntry(Deed.CLOSED, campaign=CAMPAIGN, layer=index)
        yield LogEntry(Deed.RELEASED, bytes(32), CAMPAIGN)

    def proof(self, layer: int) -> InclusionProof:
        index = self.entries.index(bytes(self.layer(layer)))
        operator = self._tree(operator_origin(self.key), self.entries, self.subtrees, index)
        own = subtrees_of_entries(self.layers)
        return InclusionProof(
            layer, index, operator, self._tree(campaign_origin(self.key, CAMPAIGN), self.layers, own, layer)
        )

    def _tree(self, origin: str, entries: Sequence[bytes], subtrees: Subtrees, index: int) -> TreeProof:
        size = len(entries)
        text = str(Checkpoint(origin, size, tree_root(size, subtrees)))
        cosigned = tuple(
            (
                witness.public_key().public_bytes_raw()[:HINT_BYTES],
                Cosignature(NOW, witness.sign(cosigned_message(text, NOW))),
            )
            for witness in self.witnesses
        )
        path = tuple(prove_inclusion(index, size, subtrees))
        return TreeProof(size, path, self.private.sign(text.encode()), cosigned)


def _works(log: _Log, proof: bytes, folder: Path) -> Iterator[Work]:
    keys = [witness.public_key().public_bytes_raw() for witness in log.witnesses]
    entry = log.layer(LAYERS - 1)

    def check() -> None:
        for _ in range(REPEATED):
            forget_signatures()  # a device verifies each once
            InclusionProof.parse(proof).check(entry, [log.key], keys, WITNESSES, NOW)

    message = b"a checkpoint has about as many bytes as this text of some hundred and fifty has" * 2
    signature = log.private.sign(message)

    def verify_signatures() -> None:
        for _ in range(REPEATED):
            forget_signatures()
            assert is_signed(log.key, signature, message)

    yield Work(CHECKED, REPEATED, "proofs", cpu_seconds(check))
    yield Work(VERIFIED, REPEATED, "signatures", cpu_seconds(verify_signatures))
    database = SqliteDatabase(str(folder / "service.db"))
    migrate(database)
    publisher = LogPublisher(database, log.private)
    campaign = list(log.campaign_entries())

    def write() -> None:
        with database.transaction() as db:
            for each in campaign:
                log_store.append(db, each)

    yield Work(WRITTEN, len(campaign), "entries", elapsed_seconds(write), "in one transaction of SQLite")

    def place() -> float:
        write()
        started = time.perf_counter()
        publisher.publish()
        return time.perf_counter() - started

    yield Work(PLACED, len(campaign), "entries", place)
    witness = Witness(
        WitnessFile(folder / "witness.db", "witness.example"), [log_verifier(log.key)], lambda: NOW, lambda fork: None
    )
    sizes = [1]

    def cosign() -> None:
        old, new = (sizes[-1] if len(sizes) > 1 else 0), sizes[-1] + 1
        root = tree_root(new, log.subtrees)
        note = sign_checkpoint(Checkpoint(operator_origin(log.key), new, root), log.private)
        request = AddCheckpoint(old, tuple(prove_consistency(old, new, log.subtrees)), bytes(note))
        assert witness.add_checkpoint(bytes(request)).status == 200
        sizes.append(new)

    yield Work(COSIGNED, 1, "checkpoints", elapsed_seconds(cosign), "on the disk of SQLite")
