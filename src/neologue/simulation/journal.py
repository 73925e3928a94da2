"""The journal of an unfinished campaign: the tallies of its finished layers, from which it can be resumed.

Algorithm 2 is a function of the tallies, so a run with the old tallies arrives at the same state. A journal holds only
sums over whole layers and the seed of the run, from which their noise can be computed: it is as confidential as the
data. It is bound to one campaign by the campaign's identity, and each tally to its layer by the layer's digest, so that
every change in between is noticed.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from neologue.campaign.campaign import MOST_USERS
from neologue.discovery.tally import Tally
from neologue.errors import JournalError
from neologue.populations.streams import SecretSeed
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.simulation.unfinished_run import UnfinishedRun

FORMAT = 1
IDENTITY = "campaign.json"


class Journal:
    """A folder with one file for every finished layer."""

    def __init__(self, folder: Path, identity: dict[str, object], *, resume: bool) -> None:
        whole = {"format": FORMAT, **identity}
        self._unfinished = UnfinishedRun(folder, "discovery", IDENTITY, whole, resume=resume)

    @property
    def resumed(self) -> bool:
        """Whether an unfinished campaign is being resumed."""
        return self._unfinished.resumed

    def recall(self, layer: Layer | ClosedLayer) -> Tally | None:
        """The tally of a layer that was finished before, or None."""
        folder = self._unfinished.folder
        path = folder / _name(layer)
        if not self.resumed or not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file) as stored:
                digest, votes, reports = bytes(stored["digest"]), stored["votes"], int(stored["reports"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise JournalError(f"{path} is damaged; delete it, and its layer is asked again with --resume") from error
        if votes.dtype.kind != "u" or not 0 <= reports < MOST_USERS:
            raise JournalError(f"{path} is damaged; delete it, and its layer is asked again with --resume")
        if digest != layer.digest or len(votes) != layer.randomizer.candidates:
            raise JournalError(f"{path} belongs to another layer; delete {folder} to start again")
        return Tally(votes.astype(np.int64), reports)

    def record(self, layer: Layer | ClosedLayer, tally: Tally) -> None:
        """Keep the tally of a finished layer, whole or not at all."""
        # Most counts are small: the smallest type that holds them all makes small files.
        votes = tally.votes.astype(np.min_scalar_type(int(tally.votes.max(initial=0))))
        file = io.BytesIO()
        np.savez_compressed(
            file, digest=np.frombuffer(layer.digest, np.uint8), votes=votes, reports=np.int64(tally.reports)
        )
        self._unfinished.write(_name(layer), file.getvalue())

    def close(self) -> None:
        """Delete the journal, once the release is written."""
        self._unfinished.close()


def stored_secret_seed(folder: Path) -> SecretSeed | None:
    """The secret seed of the unfinished discovery in a folder; None if there is none or its seed was asked for."""
    try:
        stored = json.loads((folder / IDENTITY).read_text("utf-8"))
        return SecretSeed(stored["seed"]) if stored["secret"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # opening the journal says what is wrong with it


def _name(layer: Layer | ClosedLayer) -> str:
    if isinstance(layer, ClosedLayer):
        return "measurement.npz"
    return f"pass-{layer.pass_number}-layer-{layer.number}.npz"
