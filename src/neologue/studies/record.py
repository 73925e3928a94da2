"""The record of an unfinished study: the results of its finished runs, from which it can be resumed.

Results are figures, never words: nothing in a record is about one user.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neologue.errors import JournalError
from neologue.simulation.unfinished_run import UnfinishedRun

IDENTITY = "study.json"


class Record:
    """A folder with one file for every finished run."""

    def __init__(self, folder: Path, identity: Mapping[str, object], *, resume: bool) -> None:
        self._unfinished = UnfinishedRun(folder, "study", IDENTITY, identity, resume=resume)

    def recall(self) -> Iterator[dict[str, Any]]:
        """The recorded results, in the order of their runs."""
        if not self._unfinished.resumed:
            return
        for path in sorted(self._unfinished.folder.glob("run-*.json")):
            try:
                result = json.loads(path.read_text("utf-8"))
            except ValueError as error:
                raise JournalError(f"{path} is damaged; delete it, and its run is repeated with --resume") from error
            yield result

    def keep(self, number: int, result: Mapping[str, Any]) -> None:
        """Record the result of a run."""
        self._unfinished.write(f"run-{number:05}.json", json.dumps(result, allow_nan=False).encode())

    def close(self) -> None:
        """Delete the record, once the study is written."""
        self._unfinished.close()
