"""Which operator keys a device trusts now: those that its owner pinned, or what has taken their place since.

A check-in may bring a succession document (`neologue.protocol.succession`). What of it leads on from a pinned key is
on the disk before anything else of the answer is looked at, and is never forgotten: a device does not go back to a key
that was replaced, whoever signs with it. There is no file as long as no key was replaced.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from neologue.device.policy import Policy
from neologue.errors import MembershipError, PolicyError, SignatureError
from neologue.protocol.succession import KeyHistory
from neologue.sqlite_file import FileKind, VersionedFile

_PATIENCE: Final = 10.0

_KIND: Final = FileKind(
    name="record of operator keys",
    error=MembershipError,
    version=1,
    schema=(
        """
        CREATE TABLE successions (
            old BLOB PRIMARY KEY NOT NULL,  -- the key that signed,
            new BLOB NOT NULL               -- and the one that it named; the first one counts
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE revocations (
            recovery  BLOB NOT NULL,        -- the digest of the recovery key that signed,
            revoked   BLOB NOT NULL,        -- the key that nobody may trust any more,
            successor BLOB NOT NULL,        -- and the one in its place
            PRIMARY KEY (recovery, revoked)
        ) WITHOUT ROWID
        """,
    ),
    pragmas=("PRAGMA synchronous = FULL",),
    damaged="is damaged or not a record of operator keys: a revoked key may be in force again if it is deleted, so let "
    "the app pin the operator's present key first",
    foreign="name another folder",
)


class OperatorKeys:
    """The record; every change is on the disk when its method returns. Several processes may share it."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._history = KeyHistory()

    def learn(self, document: bytes, policy: Policy) -> None:
        """Take in a succession document; a PolicyError, and nothing is taken in, if a signature in it is wrong."""
        try:
            known = self._read().learn(document, policy.pins)
        except SignatureError as error:
            raise PolicyError(f"the keys of the operator can't be followed: {error}") from None
        if known != self._history:
            self._write(known)

    def apply(self, policy: Policy) -> Policy:
        """The policy with the keys that are trusted now in the place of those that were pinned."""
        history = self._read()
        now = (history.trusted(*pin) for pin in policy.pins.items())
        trusted = frozenset(key for key in now if key is not None)
        return policy if trusted == policy.operators else replace(policy, operators=trusted, recovery={})

    def was_replaced(self, operator: bytes, policy: Policy) -> bool:
        """Whether a key is trusted no more because another took its place."""
        return any(self._complaints(operator, policy))

    def check(self, operator: bytes, policy: Policy) -> None:
        """Raise a PolicyError if a key was replaced or revoked, whatever it signs."""
        for complaint in self._complaints(operator, policy):
            raise PolicyError(complaint)

    def _complaints(self, operator: bytes, policy: Policy) -> Iterator[str]:
        history = self._read()
        if any(history.trusted(*pin) == operator for pin in policy.pins.items()):
            return
        for pinned, recovery in policy.pins.items():
            if history.is_revoked(operator, recovery):
                yield (
                    f"the operator's key {operator.hex()} was revoked, and this device never trusts it again: the "
                    "service must use its successor"
                )
            path = history.path(pinned, recovery)
            if operator in path:
                yield (
                    f"the operator's key {operator.hex()} was replaced by {path[-1].hex()}, and this device does not "
                    "go back: the service must use that one"
                )

    def valid_keys(self, key: bytes) -> frozenset[bytes]:
        """The keys by which a release may be signed, whose operator asked with this key."""
        history = self._read()
        recoveries = {None, *(recovery for recovery, _ in history.revocations)}
        reached = {reached for recovery in recoveries for reached in history.path(key, recovery)}
        return frozenset(key for key in reached if not any(history.is_revoked(key, each) for each in recoveries))

    def signers(self, operator: bytes | None, policy: Policy) -> frozenset[bytes]:
        """The keys by which a release may be signed: of the operator that asked, or if that is unknown of any."""
        asking = policy.operators if operator is None else {operator}
        return frozenset[bytes]().union(*(self.valid_keys(key) for key in asking))

    def __repr__(self) -> str:
        return f"OperatorKeys({str(self._path)!r})"

    def _read(self) -> KeyHistory:
        """What is on the disk, which another process may have written."""
        if self._path.exists():
            file = VersionedFile(_KIND, self._path, _PATIENCE)
            with file.transaction() as db:
                file.prepare(db)
                self._history = KeyHistory(
                    dict(db.execute("SELECT old, new FROM successions").fetchall()),
                    {
                        (recovery, revoked): successor
                        for recovery, revoked, successor in db.execute("SELECT * FROM revocations").fetchall()
                    },
                )
        return self._history

    def _write(self, history: KeyHistory) -> None:
        file = VersionedFile(_KIND, self._path, _PATIENCE)
        with file.transaction() as db:
            file.prepare(db)
            # Another process may have been faster: what it has seen first counts for this one, too.
            db.executemany("INSERT OR IGNORE INTO successions VALUES (?, ?)", history.successions.items())
            rows = ((*known, successor) for known, successor in history.revocations.items())
            db.executemany("INSERT OR IGNORE INTO revocations VALUES (?, ?, ?)", rows)
        self._read()
