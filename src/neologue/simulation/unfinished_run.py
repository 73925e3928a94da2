"""A folder of work under way, bound to everything that the work is a function of: whatever has changed is noticed."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from neologue.errors import JournalError


class UnfinishedRun:
    """Files that are whole or not there, beside one that says what they belong to."""

    def __init__(
        self, folder: Path, kind: str, identity_file: str, identity: Mapping[str, object], *, resume: bool
    ) -> None:
        self.folder = folder
        self._identity_path = folder / identity_file
        self._identity = identity
        self.resumed = self._identity_path.exists()
        if self.resumed and not resume:
            raise JournalError(
                f"{folder} has an unfinished {kind}; go on with --resume, or delete the folder to start anew"
            )
        if self.resumed:
            self._check()
        elif resume:
            raise JournalError(f"{folder} has no unfinished {kind}; start one without --resume")

    def write(self, name: str, content: bytes) -> None:
        """Put a file into the folder, which is made for the first one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._identity_path.exists():
            _write(self._identity_path, json.dumps(self._identity, sort_keys=True, indent=1).encode())
        _write(self.folder / name, content)

    def close(self) -> None:
        """The results are written: nothing is left to resume."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check(self) -> None:
        """Refuse to go on with anything but the very same work."""
        try:
            stored = json.loads(self._identity_path.read_text("utf-8"))
        except ValueError as error:
            raise JournalError(f"{self._identity_path} is damaged; delete {self.folder} to start anew") from error
        if changed := first_difference(stored, self._identity):
            raise JournalError(
                f"{self.folder} is the journal of another run: {changed} is not the same; give the options and data it "
                "was begun with, or another folder"
            )


def first_difference(stored: object, wanted: Mapping[str, object]) -> str | None:
    """The first name under which two identities differ, once both have been JSON; None if they are the same."""
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
