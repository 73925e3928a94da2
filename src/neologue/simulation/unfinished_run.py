"""The folder of an unfinished run, bound to everything that its result depends on, so that changes are noticed."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from neologue.errors import JournalError


class UnfinishedRun:
    """Files that are written atomically, beside one with the identity of the run that they belong to."""

    def __init__(
        self, folder: Path, kind: str, identity_file: str, identity: Mapping[str, object], *, resume: bool
    ) -> None:
        self.folder = folder
        self._identity_path = folder / identity_file
        self._identity = identity
        self.resumed = self._identity_path.exists()
        if self.resumed and not resume:
            raise JournalError(
                f"{folder} has an unfinished {kind}; continue it with --resume, or delete the folder to start again"
            )
        if self.resumed:
            self._check()
        elif resume:
            raise JournalError(f"{folder} has no unfinished {kind}; start one without --resume")

    def write(self, name: str, content: bytes) -> None:
        """Write a file into the folder, which is created with the first one."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._identity_path.exists():
            _write(self._identity_path, json.dumps(self._identity, sort_keys=True, indent=1).encode())
        _write(self.folder / name, content)

    def close(self) -> None:
        """Delete the folder, once the results are written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check(self) -> None:
        """Refuse to resume a different run."""
        try:
            stored = json.loads(self._identity_path.read_text("utf-8"))
        except ValueError as error:
            raise JournalError(f"{self._identity_path} is damaged; delete {self.folder} to start again") from error
        if changed := first_difference(stored, self._identity):
            raise JournalError(
                f"{self.folder} is the journal of another run: {changed} is not the same; give the same options and "
                "data, or another folder"
            )


def first_difference(stored: object, wanted: Mapping[str, object]) -> str | None:
    """The first name under which two identities differ as JSON; None if they are the same."""
    written = json.loads(json.dumps(wanted))
    if stored == written:
        return None
    if not isinstance(stored, dict):
        return "everything"
    names = [*written, *(name for name in stored if name not in written)]
    return next((name for name in names if stored.get(name) != written.get(name)), "everything")


def _write(path: Path, content: bytes) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
