"""Publishes the log: gives entries their places, signs checkpoints, and asks witnesses to co-sign them."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import LogError
from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE, StoredCheckpoint
from neologue.service.log.witness_client import Conflict, WitnessClient
from neologue.service.storage.database import Connection, Database
from neologue.transparency.add_checkpoint import AddCheckpoint
from neologue.transparency.checkpoint import Checkpoint, campaign_origin, operator_origin, sign_checkpoint
from neologue.transparency.merkle import prove_consistency, tree_root
from neologue.transparency.trust import Server


class LogPublisher:
    """Publishes the log of one service; any of its workers may, at any time."""

    def __init__(self, database: Database, private: Ed25519PrivateKey) -> None:
        self._database, self._private = database, private
        self.key = private.public_key().public_bytes_raw()

    def publish(self) -> bool:
        """Put new entries into their trees, and sign checkpoints of these; whether there were any."""
        with self._database.reading() as db:
            if not log_store.has_new_entries(db):
                return False
        with self._database.transaction() as db:
            db.lock_alone()
            for tree, size in log_store.place_entries(db).items():
                root = tree_root(size, log_store.stored_subtrees(db, tree))
                note = sign_checkpoint(Checkpoint(self.origin(tree), size, root), self._private)
                log_store.keep_checkpoint(db, tree, size, note)
        return True

    def ask(self, witness: Server, client: WitnessClient) -> int:
        """Ask a witness to co-sign what it has not yet; how many checkpoints it has. A LaterError if it can't be asked.

        A witness that has co-signed something else refuses, with a LogError.
        """
        public = witness.key.public
        with self._database.reading() as db:
            wanted = [
                (checkpoint, log_store.last_cosigned(db, checkpoint.tree, public))
                for checkpoint in log_store.not_cosigned(db, public)
            ]
        for checkpoint, old in wanted:
            answer = client.add_checkpoint(self._request(checkpoint, old))
            if isinstance(answer, Conflict):
                # It has seen more of the log than this service remembers, or less.
                answer = client.add_checkpoint(self._request(checkpoint, answer.size))
            if isinstance(answer, Conflict):
                raise LogError(
                    f"the witness {witness.key.name} has co-signed {answer.size:,} entries of "
                    f"{self.origin(checkpoint.tree)} and refuses to go on from there: was it shown another log?"
                )
            line = checkpoint.note.with_signatures(answer).cosignature_line(witness.key)
            if line is None:
                raise LogError(f"the witness {witness.key.name} has answered with a signature that is not its own")
            with self._database.transaction() as db:
                log_store.keep_cosignature(db, checkpoint.tree, checkpoint.size, public, str(line))
        return len(wanted)

    def origin(self, tree: bytes) -> str:
        """The origin of a tree."""
        return operator_origin(self.key) if tree == OPERATOR_TREE else campaign_origin(self.key, tree)

    def _request(self, checkpoint: StoredCheckpoint, old: int) -> bytes:
        if old > checkpoint.size:
            raise LogError(
                f"a witness has co-signed {old:,} entries of {self.origin(checkpoint.tree)}, and this service has only "
                f"{checkpoint.size:,}: its database is older than what was published; restore the newest copy"
            )
        with self._database.reading() as db:
            path = _consistency(db, checkpoint, old)
        return bytes(AddCheckpoint(old, path, bytes(checkpoint.note)))


def _consistency(db: Connection, checkpoint: StoredCheckpoint, old: int) -> tuple[bytes, ...]:
    subtrees = log_store.stored_subtrees(db, checkpoint.tree)
    return tuple(prove_consistency(old, checkpoint.size, subtrees))
