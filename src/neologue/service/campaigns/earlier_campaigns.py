"""Campaigns of a service that had no log yet when they were created: the log is told of them afterwards."""

from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_log import log_definition, opened_entry, publish_definition
from neologue.service.campaigns.promises import promise_of
from neologue.service.log import log_store
from neologue.service.ops.service_keys import Keys, log_key
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState
from neologue.transparency.log_entry import Deed, LogEntry


def log_earlier_campaigns(database: Database, keys: Keys) -> None:
    """Tell the log of the key in force, and of campaigns and layers, that it lacks."""
    with database.transaction() as db:
        db.lock_alone()
        entries = log_store.all_entries(db)
        if not any(entry.deed is Deed.KEY for entry in entries):
            log_key(db, keys.public)
        told = {entry.campaign for entry in entries if entry.deed is Deed.CREATED}
        for entry in campaign_store.all_campaigns(db):
            if entry.id in told:
                continue
            log_definition(db, entry.id, entry.definition)
            if entry.state != CampaignState.DRAFT:
                publish_definition(db, entry.id, entry.definition)
                log_store.append(db, LogEntry(Deed.STARTED, campaign=entry.id))
            for layer in layer_store.layers_of(db, entry.id):
                promise = promise_of(entry, keys)
                log_store.append(db, opened_entry(entry.id, layer.layer_index, layer.digest, promise))
