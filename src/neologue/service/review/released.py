"""The one reader of stored releases: each is parsed once, and kept in memory while it is used."""

from functools import lru_cache

from neologue.errors import CampaignError
from neologue.release.codec import ReleaseDocument, decode_release
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState

CACHED_RELEASES = 4
"""How many releases are kept in memory; one may have tens of thousands of words."""


def read_release(database: Database, entry: CampaignRow) -> ReleaseDocument:
    """The release of a campaign, or a CampaignError if there is none."""
    if entry.state != CampaignState.RELEASED:
        raise CampaignError(f"the campaign {entry.name!r} is {entry.state}, and nothing of it is released")
    return _read_stored(database, entry.id)


@lru_cache(CACHED_RELEASES)
def _read_stored(database: Database, campaign: bytes) -> ReleaseDocument:
    with database.reading() as db:
        text = campaign_store.release_of(db, campaign)
    assert text is not None
    return decode_release(text.encode(), "the release")
