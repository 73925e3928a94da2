"""How far campaigns have come, remembered from turn to turn: a function of the decisions in the database."""

from collections.abc import Collection
from dataclasses import dataclass

from neologue.discovery.decision import Decision
from neologue.discovery.result import LayerFacts
from neologue.discovery.state import DiscoveryState
from neologue.service.campaigns import layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.definition import Definition
from neologue.service.storage.database import Database


@dataclass
class CampaignProgress:
    """How far a campaign has come, as this worker knows it."""

    state: DiscoveryState
    facts: list[LayerFacts]
    taken: int = 0
    """How many decisions the state has taken."""

    @classmethod
    def start(cls, definition: Definition) -> "CampaignProgress":
        """The progress of a campaign on which nothing is decided."""
        facts: list[LayerFacts] = []
        state = DiscoveryState(definition.campaign, definition.measuring, lambda layer, words: facts.append(layer))
        return cls(state, facts)

    def take(self, decision: Decision) -> None:
        """Go on by one decision."""
        self.state.take(decision)
        self.taken += 1


class ProgressCache:
    """The progress of the campaigns that a worker has looked at."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[bytes, CampaignProgress] = {}

    def load(self, entry: CampaignRow) -> CampaignProgress:
        """How far a campaign has come, from memory and the decisions in the database."""
        with self._database.reading() as db:
            decided = layer_store.decisions(db, entry.id)
        progress = self._known.get(entry.id)
        if progress is None or progress.taken > len(decided):
            progress = self._known[entry.id] = CampaignProgress.start(entry.definition)
        for decision in decided[progress.taken :]:
            progress.take(decision)
        return progress

    def forget(self, campaign: bytes) -> None:
        """Forget a campaign whose progress may be outdated, or whose votes are erased."""
        self._known.pop(campaign, None)

    def keep(self, campaigns: Collection[bytes]) -> None:
        """Forget all campaigns but these."""
        for ended in self._known.keys() - set(campaigns):
            del self._known[ended]
