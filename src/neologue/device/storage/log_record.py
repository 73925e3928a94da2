"""Which state of an operator's log a device has seen last: it answers nothing that is not in the log, nor in another.

A policy that demands witnesses makes a device ask for a proof beside each invitation (`neologue.transparency.
inclusion_proof`). The checkpoints that it proves are on the disk before anything is answered. From then on the device
takes only a log that goes on from them: it reads the files of the log that show it, which are the same for everybody.
There is no file as long as no proof was demanded.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from neologue.device.policy import Policy
from neologue.device.storage.membership import AnsweredInvitation
from neologue.errors import InputError, LaterError, LogError, MembershipError, PolicyError
from neologue.sqlite_file import FileKind, VersionedFile
from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.evidence import MOST_BYTES, Evidence, Expected, binding_of
from neologue.transparency.inclusion_proof import InclusionProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.log_source import CAMPAIGNS
from neologue.transparency.merkle import tree_root
from neologue.transparency.tiles import MOST_TILE_BYTES, Fetch, subtrees_of_tiles

LOG_PATH: Final = "/log/"
EVIDENCE_PATH: Final = f"{LOG_PATH}evidence"
_PATIENCE: Final = 10.0

_KIND: Final = FileKind(
    name="record of checkpoints",
    error=MembershipError,
    version=1,
    schema=(
        """
        CREATE TABLE checkpoints (
            origin TEXT PRIMARY KEY NOT NULL,
            size   INTEGER NOT NULL,
            root   BLOB NOT NULL
        ) WITHOUT ROWID
        """,
    ),
    pragmas=("PRAGMA synchronous = FULL",),
    damaged="is damaged or not a record of checkpoints: a device that has lost it can be shown another log",
    foreign="name another folder",
)


class LogRecord:
    """The record; every change is on the disk when its method returns. Several processes may share it."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def check(
        self,
        asked: AnsweredInvitation,
        campaign: bytes,
        policy: Policy,
        now: float,
        get: Callable[[str, int], bytes],
    ) -> None:
        """Raise a PolicyError unless enough witnesses vouch that everybody is asked this; a LaterError if it may come.

        `get` gives the bytes at a path of the service, at most so many.
        """
        if not policy.quorum:
            return
        if asked.proof is None:
            raise PolicyError(
                "the invitation comes without a proof that its layer is in a log, and this device answers no other; "
                "its owner can change quorum"
            )
        promise = None if asked.masked is None else hashlib.sha256(asked.masked).digest()
        try:
            proof = InclusionProof.parse(asked.proof)
            entry = LogEntry(Deed.OPENED, asked.layer, campaign, proof.layer, promise)
            witnesses = sorted(policy.witnesses)
            log, (operator, own) = proof.check(entry, sorted(policy.logs), witnesses, policy.quorum, now)
            for checkpoint, folder in ((operator, LOG_PATH), (own, f"{LOG_PATH}{CAMPAIGNS}/{campaign.hex()}/")):
                self._follow(checkpoint, partial(_get_tile, get, folder))
            if policy.measurements:
                _check_evidence(log, policy, get)
        except LogError as error:
            raise PolicyError(f"this device does not answer: {error}") from None

    def newest(self, origin: str) -> Checkpoint | None:
        """The newest checkpoint of a log that this device has seen."""
        if not self._path.exists():
            return None
        file = VersionedFile(_KIND, self._path, _PATIENCE)
        with file.transaction() as db:
            file.prepare(db)
            row = db.execute("SELECT size, root FROM checkpoints WHERE origin = ?", (origin,)).fetchone()
        return None if row is None else Checkpoint(origin, *row)

    def _follow(self, checkpoint: Checkpoint, fetch: Fetch) -> None:
        """Take in a checkpoint that witnesses have co-signed, if it goes on from the newest one."""
        known = self.newest(checkpoint.origin)
        if known is not None:
            check_goes_on(known, checkpoint, fetch)
        file = VersionedFile(_KIND, self._path, _PATIENCE)
        with file.transaction() as db:
            file.prepare(db)
            # Another process may have seen a newer one meanwhile.
            db.execute(
                "INSERT INTO checkpoints VALUES (?, ?, ?) ON CONFLICT (origin) DO UPDATE SET size = excluded.size,"
                " root = excluded.root WHERE excluded.size > size",
                (checkpoint.origin, checkpoint.size, checkpoint.root),
            )

    def __repr__(self) -> str:
        return f"LogRecord({str(self._path)!r})"


def _get_tile(get: Callable[[str, int], bytes], folder: str, path: str) -> bytes:
    return get(folder + path, MOST_TILE_BYTES)


def _check_evidence(log: bytes, policy: Policy, get: Callable[[str, int], bytes]) -> None:
    """Raise a LogError unless evidence shows that one of the policy's images holds the key of a log."""
    evidence = Evidence.parse(get(EVIDENCE_PATH, MOST_BYTES))
    complaint = ""
    for measurement, root in product(sorted(policy.measurements), sorted(policy.vendors)):
        try:
            evidence.verify(Expected(measurement, root, binding_of(log)))
        except InputError as error:
            complaint = str(error)
        else:
            return
    raise LogError(complaint)


def check_goes_on(known: Checkpoint, checkpoint: Checkpoint, fetch: Fetch) -> None:
    """Raise a LaterError if a checkpoint is older than a known one, and a LogError unless it goes on from it.

    `fetch` gives the tile at a path.
    """
    if checkpoint.size < known.size:
        raise LaterError(
            f"the log {checkpoint.origin} is shown with {checkpoint.size:,} entries, and this device has seen "
            f"{known.size:,}: it waits for the newer one"
        )
    seen = checkpoint.root
    if checkpoint.size > known.size:
        subtrees = subtrees_of_tiles(checkpoint.size, fetch)
        if tree_root(checkpoint.size, subtrees) != checkpoint.root:
            raise LogError(f"the files of the log {checkpoint.origin} do not belong to its checkpoint")
        seen = tree_root(known.size, subtrees)
    if seen != known.root:
        raise LogError(
            f"the log {checkpoint.origin} was forked: its first {known.size:,} entries are not those that this device "
            "has seen"
        )
