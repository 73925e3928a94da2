"""What became of the report that the visitor's own browser sent to the sandbox."""

from typing import Literal

import msgspec

from neologue.protocol.credential import Credential
from neologue.service.campaigns import layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.storage.database import Database
from neologue.service.storage.spent_serials import spent_among
from neologue.service.storage.states import CampaignState, LayerState
from neologue.web.campaign_trie import campaign_trie


class VoteProgress(msgspec.Struct, frozen=True):
    """How far a report has come, with nothing of what it says: the service has only sums."""

    state: Literal["waiting", "added", "decided", "released"]
    """Waiting for its batch, added to the sum of its layer, or part of a decision or of a release."""
    reports: int
    """How many reports the sum of its layer has by now."""
    needed: int
    """How many reports the layer needs."""
    kept: list[str]
    """The beginnings of words that stand out so far, and the words once they are released."""


def vote_progress(database: Database, entry: CampaignRow, credential: Credential, layer_index: int) -> VoteProgress:
    """How far the report of a credential has come, which the layer with this index has invited."""
    with database.reading() as db:
        counted = bool(spent_among(db, entry.id, [credential.serial]))
        layer = layer_store.layers_of(db, entry.id)[layer_index]
    kept: list[str] = []
    state: Literal["waiting", "added", "decided", "released"] = "added" if counted else "waiting"
    if counted and layer.state == LayerState.DECIDED:
        released = entry.state == CampaignState.RELEASED
        state, kept = "released" if released else "decided", list(campaign_trie(database, entry).texts)
    return VoteProgress(state, layer.round.reports, layer.round.layer_size, kept)
