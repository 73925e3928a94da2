"""Campaigns that are over, with words that a test chooses: nobody has to be asked."""

from collections.abc import Mapping
from typing import Any

from neologue.discovery.result import Release, ReleasedPrefix, ReleasedWord
from neologue.release.codec import LIVE, Provenance, release_document, release_text
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState

from .campaigns import Town, definition


def released(
    database: Database,
    words: Mapping[str, float],
    name: str = "spring",
    prefixes: tuple[ReleasedPrefix, ...] = (),
    **changes: Any,  # noqa: ANN401
) -> CampaignRow:
    """A released campaign with these words, each with its estimate."""
    town = Town(database)
    entry = town.coordinator.create(definition(name=name, **changes), 0.0)
    found = tuple(
        ReleasedWord(word, 9, estimate, estimate - 1, estimate + 1, layer=1, pass_number=1, since=1)
        for word, estimate in sorted(words.items(), key=lambda item: -item[1])
    )
    release = Release(entry.definition.campaign, (), found, prefixes, exposure=entry.definition.aggregator.exposure)
    document = release_document(release, Provenance("nobody", LIVE))
    with database.transaction() as db:
        campaign_store.move(db, entry.id, (CampaignState.DRAFT,), CampaignState.RELEASED, 1_700_000_000.0)
        campaign_store.keep_release(db, entry.id, release_text(document), bytes(32))
        return campaign_store.campaign_named(db, name)
