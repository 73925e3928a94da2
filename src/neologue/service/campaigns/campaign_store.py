"""Live campaigns and their releases as rows of the database; `layer_store` has their layers.

Every function takes a connection: the caller's transaction decides what is read or written together. What devices are
asked, and what becomes of it, is told to the log in that same transaction.
"""

import zlib
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from neologue.errors import CampaignError, NoCampaignError
from neologue.service.campaigns.campaign_log import log_definition, log_move, publish_definition
from neologue.service.campaigns.carried_votes import erase_carried
from neologue.service.campaigns.definition import Definition
from neologue.service.log import log_store
from neologue.service.storage.database import Connection, stored_bytes
from neologue.service.storage.states import OVER, CampaignState
from neologue.transparency.log_entry import Deed, LogEntry


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as it is stored."""

    id: bytes
    name: str
    definition: Definition
    state: CampaignState
    slot_secret: bytes
    created: float
    changed: float
    """When its state changed last."""
    note: str
    """Why it ended as it did, or is paused, if that needs an explanation."""


_SELECT_CAMPAIGN = "SELECT id, name, definition, state, slot_secret, created, changed, note FROM campaigns"


def add(db: Connection, entry: CampaignRow) -> None:
    """Add a campaign, whose name must be new."""
    if db.execute("SELECT 1 FROM campaigns WHERE name = ?", (entry.name,)):
        raise CampaignError(f"there is already a campaign called {entry.name!r}: choose another name", parameter="name")
    definition = msgspec.json.encode(entry.definition).decode()
    db.execute(
        "INSERT INTO campaigns (id, name, definition, state, slot_secret, created, changed, note)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (entry.id, entry.name, definition, entry.state, entry.slot_secret, entry.created, entry.changed, entry.note),
    )
    log_definition(db, entry.id, entry.definition)


def publish(db: Connection, entry: CampaignRow, words: bytes) -> None:
    """Give everybody the rules of a campaign and its known words; before it is started, they are the operator's own."""
    publish_definition(db, entry.id, entry.definition)
    keep_known(db, bytes.fromhex(entry.definition.campaign.known.digest), words)


def remove_draft(db: Connection, entry: CampaignRow) -> None:
    """Remove a campaign that was never started; the log is told that it will not be."""
    removed = db.execute(
        "DELETE FROM campaigns WHERE id = ? AND state = ? RETURNING 1", (entry.id, CampaignState.DRAFT)
    )
    if not removed:
        raise CampaignError(f"the campaign {entry.name!r} is not a draft any more: abort it if it is to end")
    log_move(db, entry.id, (CampaignState.DRAFT,), CampaignState.ABORTED)


def all_campaigns(db: Connection) -> list[CampaignRow]:
    """All campaigns, the oldest first."""
    return [_campaign_row(row) for row in db.execute(f"{_SELECT_CAMPAIGN} ORDER BY created, name")]


def campaign_named(db: Connection, name: str) -> CampaignRow:
    """The campaign of that name."""
    rows = db.execute(f"{_SELECT_CAMPAIGN} WHERE name = ?", (name,))
    if not rows:
        raise unknown(name)
    return _campaign_row(rows[0])


def unknown(name: str) -> NoCampaignError:
    """What is raised for a name that no campaign has, or none that the person may see."""
    return NoCampaignError(f"no campaign is called {name[:200]!r}; list those there are with neologue campaign list")


def move(
    db: Connection,
    campaign: bytes,
    states: tuple[CampaignState, ...],
    state: CampaignState,
    now: float,
    note: str = "",
) -> bool:
    """Move a campaign from one of `states` to another state; False, and no change, if it was in none of them."""
    marks = ", ".join("?" * len(states))
    moved = db.execute(
        f"UPDATE campaigns SET state = ?, changed = ?, note = ? WHERE id = ? AND state IN ({marks}) RETURNING 1",
        (state, now, note, campaign, *states),
    )
    if moved and state not in states:
        log_move(db, campaign, states, state)
    if moved and state in OVER:
        erase_carried(db, campaign)
        for table in ("void_serials", "group_strikes"):
            db.execute(f"DELETE FROM {table} WHERE campaign = ?", (campaign,))
    return bool(moved)


def move_or_fail(
    db: Connection,
    entry: CampaignRow,
    states: tuple[CampaignState, ...],
    state: CampaignState,
    now: float,
    note: str = "",
) -> CampaignRow:
    """Move a campaign as `move` does, and return it as it is then; or a CampaignError, if it was in another state."""
    if not move(db, entry.id, states, state, now, note):
        present = campaign_named(db, entry.name).state
        raise CampaignError(f"the campaign {entry.name!r} is {present}, and can't become {state}")
    return campaign_named(db, entry.name)


def lead(db: Connection, campaign: bytes, worker: str, now: float, until: float) -> bool:
    """Try to become, or stay, the worker that advances a running campaign until some time; whether it worked."""
    led = db.execute(
        "UPDATE campaigns SET leader = ?, leader_until = ? WHERE id = ? AND state = ?"
        " AND (leader IS NULL OR leader = ? OR leader_until < ?) RETURNING 1",
        (worker, until, campaign, CampaignState.RUNNING, worker, now),
    )
    return bool(led)


def leave(db: Connection, worker: str) -> None:
    """Let other workers lead the campaigns of this one at once."""
    db.execute("UPDATE campaigns SET leader = NULL, leader_until = NULL WHERE leader = ?", (worker,))


def issue_credentials(db: Connection, entry: CampaignRow, count: int) -> None:
    """Count credentials that are issued; where slots are drawn, refuse more than there are devices planned for."""
    ((issued,),) = db.execute(
        "UPDATE campaigns SET credentials = credentials + ? WHERE id = ? RETURNING credentials", (count, entry.id)
    )
    devices = entry.definition.devices
    if entry.definition.drawn and issued > devices:
        raise CampaignError(
            f"the campaign {entry.name!r} has drawn slots for {devices:,} devices, and {issued - count:,} of their "
            f"credentials are issued: ask for at most {devices - issued + count:,} more, or make a campaign for more "
            "devices"
        )


def keep_release(db: Connection, campaign: bytes, document: str, digest: bytes) -> None:
    """Store the release of a campaign, which has this digest."""
    db.execute("UPDATE campaigns SET release = ? WHERE id = ?", (document, campaign))
    log_store.append(db, LogEntry(Deed.RELEASED, digest, campaign))


def release_of(db: Connection, campaign: bytes) -> str | None:
    """The release of a campaign, once there is one."""
    ((document,),) = db.execute("SELECT release FROM campaigns WHERE id = ?", (campaign,))
    return None if document is None else str(document)


def keep_known(db: Connection, digest: bytes, words: bytes) -> None:
    """Store a list of known words; the same list is stored once."""
    new = db.execute(
        "INSERT INTO known VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1", (digest, zlib.compress(words))
    )
    if new:
        log_store.append(db, LogEntry(Deed.KNOWN, digest))


def known_of(db: Connection, digest: bytes) -> bytes | None:
    """A list of known words, compressed by zlib."""
    rows = db.execute("SELECT words FROM known WHERE digest = ?", (digest,))
    return bytes(rows[0][0]) if rows else None


def _campaign_row(row: tuple[object, ...]) -> CampaignRow:
    identity, name, definition, state, secret, created, changed, note = row
    assert isinstance(definition, str)
    return CampaignRow(
        id=stored_bytes(identity),
        name=str(name),
        definition=_definition(definition),
        state=CampaignState(str(state)),
        slot_secret=stored_bytes(secret),
        created=msgspec.convert(created, float),
        changed=msgspec.convert(changed, float),
        note=str(note),
    )


@lru_cache(maxsize=64)
def _definition(text: str) -> Definition:
    """The same object for the same text, so that its vocabulary is not built at every read."""
    return msgspec.json.decode(text, type=Definition)
