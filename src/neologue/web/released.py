"""Releases as pages show them: read once, and kept while they are looked at."""

from functools import lru_cache

from neologue.discovery.result import ReleasedWord
from neologue.errors import CampaignError
from neologue.release.codec import ReleaseDocument, decode_release
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.review import verdicts
from neologue.service.storage.database import Database

KEPT = 4
"""How many releases are kept in memory; one may have tens of thousands of words."""


def release_of(database: Database, entry: CampaignRow) -> ReleaseDocument:
    """The release of a campaign, or a CampaignError that says that there is none."""
    if entry.state != campaign_store.RELEASED:
        raise CampaignError(f"the campaign {entry.name!r} is {entry.state}, and nothing of it is released")
    return read_release(database, entry.id)


def shown_words(database: Database, entry: CampaignRow) -> tuple[ReleasedWord, ...]:
    """The words of a release but those that a reviewer has hidden, which the review shows to whoever asks for them."""
    words = release_of(database, entry).words
    with database.reading() as db:
        hidden = verdicts.hidden(db, entry.id)
    return tuple(word for word in words if word.word not in hidden)


@lru_cache(KEPT)
def read_release(database: Database, campaign: bytes) -> ReleaseDocument:
    """The release of a campaign that has one."""
    with database.reading() as db:
        text = campaign_store.release_of(db, campaign)
    assert text is not None
    return decode_release(text.encode(), "the release")
