"""The journal of a campaign under way: the tallies of finished layers, so that it can go on where it was broken off.

Algorithm 2 is a function of the tallies, so a run that is given the old ones again arrives where it was. A journal
holds sums of whole layers and nothing smaller. It is bound to one campaign by its identity, and each tally to its layer
by the layer's digest: whatever has changed in between is noticed.
"""

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np

from neologue.discovery.tally import Tally
from neologue.errors import JournalError
from neologue.protocol.layer import Layer

FORMAT = 1
IDENTITY = "campaign.json"


class Journal:
    """A folder with one file for every finished layer."""

    def __init__(self, folder: Path, identity: dict[str, object], *, resume: bool) -> None:
        self._folder = folder
        self._identity = {"format": FORMAT, **identity}
        self.resumed = (folder / IDENTITY).exists()
        if self.resumed and not resume:
            raise JournalError(
                f"{folder} has an unfinished discovery; go on with --resume, or delete the folder to start anew"
            )
        if self.resumed:
            self._check()
        elif resume:
            raise JournalError(f"{folder} has no unfinished discovery; start one without --resume")

    def recall(self, layer: Layer) -> Tally | None:
        """The tally of a layer that was finished before."""
        path = self._path(layer)
        if not self.resumed or not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file) as stored:
                digest, votes, reports = bytes(stored["digest"]), stored["votes"], int(stored["reports"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise JournalError(f"{path} is damaged; delete it, and its layer is asked again with --resume") from error
        if digest != layer.digest or len(votes) != layer.candidates.size:
            raise JournalError(f"{path} is of another layer; delete {self._folder} to start anew")
        return Tally(votes.astype(np.int64), reports)

    def record(self, layer: Layer, tally: Tally) -> None:
        """Keep the tally of a finished layer, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / IDENTITY).exists():
            _write(self._folder / IDENTITY, json.dumps(self._identity, sort_keys=True, indent=1).encode())
        draft = self._path(layer).with_suffix(".draft")
        # Most votes are few: the smallest type that holds them all makes small files.
        votes = tally.votes.astype(np.min_scalar_type(int(tally.votes.max(initial=0))))
        with draft.open("wb") as file:
            np.savez_compressed(
                file, digest=np.frombuffer(layer.digest, np.uint8), votes=votes, reports=np.int64(tally.reports)
            )
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path(layer))

    def close(self) -> None:
        """The release is written: nothing is left to resume."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, layer: Layer) -> Path:
        return self._folder / f"pass-{layer.passage}-layer-{layer.number}.npz"

    def _check(self) -> None:
        """Refuse to go on with anything but the very same run."""
        try:
            stored = json.loads((self._folder / IDENTITY).read_text("utf-8"))
        except ValueError as error:
            raise JournalError(f"{self._folder / IDENTITY} is damaged; delete {self._folder} to start anew") from error
        wanted = json.loads(json.dumps(self._identity))
        if stored == wanted:
            return
        names = [*wanted, *(name for name in stored if name not in wanted)] if isinstance(stored, dict) else []
        changed = next((name for name in names if stored.get(name) != wanted.get(name)), "everything")
        raise JournalError(
            f"{self._folder} is the journal of another run: {changed} is not the same; give the options and data it "
            "was begun with, or another folder"
        )


def _write(path: Path, content: bytes) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
