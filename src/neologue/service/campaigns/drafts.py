"""Drafts: campaigns that are defined, and of which no device is asked anything yet."""

import os

from neologue.errors import CampaignError
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import CAMPAIGN_BYTES
from neologue.protocol.ticket import SECRET_BYTES
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.definition import Definition
from neologue.service.storage.database import Connection
from neologue.service.storage.states import CampaignState


def new_draft(definition: Definition, now: float) -> CampaignRow:
    """A new draft, whose known words devices can be given."""
    known_document(definition.campaign.known)
    return CampaignRow(
        id=os.urandom(CAMPAIGN_BYTES),
        name=definition.name,
        definition=definition,
        state=CampaignState.DRAFT,
        slot_secret=os.urandom(SECRET_BYTES),
        created=now,
        changed=now,
        note="",
    )


def draft_named(db: Connection, name: str) -> CampaignRow:
    """The draft of that name."""
    entry = campaign_store.campaign_named(db, name)
    if entry.state != CampaignState.DRAFT:
        raise CampaignError(f"the campaign {name!r} is {entry.state}: only a draft can be changed or deleted")
    return entry
