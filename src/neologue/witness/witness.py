"""A witness: what it answers to a log that asks it to co-sign (c2sp.org/tlog-witness), without any network.

It co-signs a checkpoint if the log has signed it and it only adds to the last one that was co-signed. Two checkpoints
of a log that contradict each other are kept, and nothing of that operator is ever co-signed again.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from neologue.errors import LogError
from neologue.transparency.add_checkpoint import SIZE_MEDIA, AddCheckpoint
from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.merkle import check_consistency, tree_root
from neologue.transparency.signed_note import ED25519, Note, NoteKey, cosign_note
from neologue.transparency.tiles import Fetch, subtrees_of_tiles
from neologue.witness.witness_file import Fork, WitnessFile, WitnessRows

TEXT: Final = "text/plain; charset=utf-8"
_CAMPAIGN: Final = re.compile("/[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class WitnessResponse:
    """An HTTP response."""

    status: int
    body: str
    media: str = TEXT


class Witness:
    """A witness of some logs; of each it also takes the trees of campaigns, whose origins begin like its own."""

    def __init__(
        self, file: WitnessFile, logs: Sequence[NoteKey], clock: Callable[[], float], on_fork: Callable[[Fork], None]
    ) -> None:
        """`on_fork` is called with every fork that is shown to it."""
        self._file, self._logs, self._clock, self._on_fork = file, logs, clock, on_fork

    def add_checkpoint(self, request: bytes) -> WitnessResponse:
        """Co-sign a checkpoint, or say why not."""
        try:
            wanted = AddCheckpoint.parse(request)
            note = Note.parse(wanted.note)
            checkpoint = Checkpoint.parse(note.text)
        except LogError as error:
            return WitnessResponse(400, f"{error}\n")
        log = self._log_of(checkpoint.origin)
        if log is None:
            return WitnessResponse(404, f"this witness does not follow the log {checkpoint.origin[:200]}\n")
        if not note.signed_by(NoteKey(checkpoint.origin, ED25519, log.public)):
            return WitnessResponse(403, "the checkpoint is not signed by its log\n")
        if wanted.old > checkpoint.size:
            return WitnessResponse(400, "the old size is larger than the checkpoint\n")
        with self._file.transaction() as rows:
            fork = self._fork_of(rows, log) or self._find_fork(rows, checkpoint, note)
            return _forked(fork) if fork else self._cosign(rows, wanted, checkpoint, note)

    def observe(self, content: bytes, origin: str, fetch: Fetch) -> bool:
        """Look at the checkpoint that a log shows everybody; whether it is the log that was co-signed.

        One that is larger is not co-signed here, but its files must show the last one that was: a LogError if they are
        cut or do not belong to it.
        """
        log = self._log_of(origin)
        note = Note.parse(content)
        checkpoint = Checkpoint.parse(note.text)
        if log is None or checkpoint.origin != origin or not note.signed_by(NoteKey(origin, ED25519, log.public)):
            raise LogError(f"what is shown as the log {origin} is not signed by it")
        with self._file.transaction() as rows:
            newest = rows.newest(origin)
        seen = b""
        if newest is not None and newest[0].size < checkpoint.size:
            subtrees = subtrees_of_tiles(checkpoint.size, fetch)
            if tree_root(checkpoint.size, subtrees) != checkpoint.root:
                raise LogError(f"the files of the log {origin} do not belong to its checkpoint")
            seen = tree_root(newest[0].size, subtrees)
        with self._file.transaction() as rows:
            fork = self._fork_of(rows, log) or self._find_fork(rows, checkpoint, note)
            if fork is None and newest is not None and seen not in (b"", newest[0].root):
                fork = self._keep_fork(rows, Fork(origin, newest[0].size, bytes(newest[1]), bytes(note)))
        return fork is None

    def _cosign(self, rows: WitnessRows, wanted: AddCheckpoint, checkpoint: Checkpoint, note: Note) -> WitnessResponse:
        newest = rows.newest(checkpoint.origin)
        size, root = (newest[0].size, newest[0].root) if newest else (0, b"")
        if wanted.old != size:
            return WitnessResponse(409, f"{size}\n", SIZE_MEDIA)
        try:
            check_consistency(size, root, checkpoint.size, checkpoint.root, wanted.path)
        except LogError as error:
            return WitnessResponse(422, f"{error}\n")
        rows.keep(checkpoint, note)
        line = cosign_note(note.text, self._file.name, self._file.private, int(self._clock()))
        return WitnessResponse(200, str(line))

    def _find_fork(self, rows: WitnessRows, checkpoint: Checkpoint, note: Note) -> Fork | None:
        """Whether a checkpoint contradicts one of the same size, which is kept then."""
        same = rows.with_size(checkpoint.origin, checkpoint.size)
        if same is None or same[0].root == checkpoint.root:
            return None
        return self._keep_fork(rows, Fork(checkpoint.origin, checkpoint.size, bytes(same[1]), bytes(note)))

    def _keep_fork(self, rows: WitnessRows, fork: Fork) -> Fork:
        rows.keep_fork(fork)
        self._on_fork(fork)
        return fork

    def _fork_of(self, rows: WitnessRows, log: NoteKey) -> Fork | None:
        """A fork of any tree of an operator, if one was ever seen."""
        return next((fork for fork in rows.forks() if self._log_of(fork.origin) == log), None)

    def _log_of(self, origin: str) -> NoteKey | None:
        for log in self._logs:
            rest = origin.removeprefix(log.name)
            if origin.startswith(log.name) and (not rest or _CAMPAIGN.fullmatch(rest)):
                return log
        return None


def _forked(fork: Fork) -> WitnessResponse:
    return WitnessResponse(
        409,
        f"the log {fork.origin} was forked: it has signed two checkpoints that contradict each other, which this "
        f"witness keeps, from {fork.size:,} entries on; nothing of its operator is co-signed any more\n",
    )
