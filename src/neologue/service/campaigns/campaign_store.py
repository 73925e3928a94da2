"""Live campaigns, their layers and decisions, as rows of the database.

Every function takes a connection: the caller's transaction decides what is read or written together. What devices are
asked, and what becomes of it, is told to the log in that same transaction.
"""

import io
import zlib
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from neologue.aggregation.kernels import Votes
from neologue.discovery.decision import Decision
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.selected import Integers
from neologue.errors import CampaignError, NoCampaignError
from neologue.service.campaigns.campaign_log import log_definition, log_move, opened_entry, publish_definition
from neologue.service.campaigns.carried_votes import carried_from, erase_carried, keep_carried
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.rounds import Round
from neologue.service.log import log_store
from neologue.service.storage.database import Connection
from neologue.service.storage.report_store import add_sum
from neologue.service.storage.states import OVER, CampaignState, LayerState
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


@dataclass(frozen=True)
class LayerRow:
    """A layer as it is stored."""

    layer_index: int
    """Its index among all layers of the campaign, from 0."""
    digest: bytes
    candidates: int
    state: LayerState
    round: Round
    facts: "LayerOutcome | None"
    """Its outcome, once it is decided."""
    groups_refused: int = 0
    """The masking groups whose sum no honest devices have."""
    made_up: int = 0
    """How many of its reports are made up, where slots are drawn: for the operator alone."""


class LayerOutcome(msgspec.Struct, frozen=True):
    """What an operator may see of a decided layer; `layer` is None for a measurement."""

    layer: LayerFacts | None
    warnings: list[str] = []
    """Those from the votes of the whole layer, which its release repeats."""
    gathered: list[str] = []
    """Those that are for the operator alone: no release tells of sums of batches, or of how many devices came."""

    @property
    def all_warnings(self) -> list[str]:
        """All of them."""
        return [*self.warnings, *self.gathered]


_SELECT_CAMPAIGN = "SELECT id, name, definition, state, slot_secret, created, changed, note FROM campaigns"
_SELECT_LAYER = (
    "SELECT layer_index, digest, candidates, state, layer_size, low, high, opened, deadline, looks, extensions,"
    " reports, facts, groups_refused, made_up FROM layers"
)


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


def layers_of(db: Connection, campaign: bytes) -> list[LayerRow]:
    """The layers of a campaign, in order."""
    return [
        _layer_row(row) for row in db.execute(f"{_SELECT_LAYER} WHERE campaign = ? ORDER BY layer_index", (campaign,))
    ]


def states_of_layers(db: Connection, campaign: bytes) -> dict[bytes, LayerState]:
    """The state of each layer of a campaign, by digest."""
    rows = db.execute("SELECT digest, state FROM layers WHERE campaign = ?", (campaign,))
    return {digest: LayerState(state) for digest, state in rows}


def open_layer(db: Connection, campaign: bytes, layer: LayerRow, document: bytes, promise: bytes | None) -> None:
    """Add a layer that devices can answer from now on, with what is promised of masks if votes are masked."""
    db.execute(
        "INSERT INTO layers (campaign, layer_index, digest, document, candidates, state, layer_size, low, high, opened,"
        " deadline, looks, extensions, reports) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            campaign,
            layer.layer_index,
            layer.digest,
            zlib.compress(document),
            layer.candidates,
            layer.state,
            *_columns(layer.round),
            layer.round.reports,
        ),
    )
    log_store.append(db, opened_entry(campaign, layer.layer_index, layer.digest, promise))


def update_round(db: Connection, campaign: bytes, layer_index: int, round_: Round) -> None:
    """Change whom an open layer invites, and how long it waits; the number of reports stays as it is."""
    db.execute(
        "UPDATE layers SET layer_size = ?, low = ?, high = ?, opened = ?, deadline = ?, looks = ?, extensions = ?"
        " WHERE campaign = ? AND layer_index = ? AND state = ?",
        (*_columns(round_), campaign, layer_index, LayerState.OPEN),
    )


def close_layer(db: Connection, campaign: bytes, layer_index: int) -> None:
    """Close a layer: no more reports are counted."""
    closed = db.execute(
        "UPDATE layers SET state = ? WHERE campaign = ? AND layer_index = ? AND state = ? RETURNING 1",
        (LayerState.CLOSED, campaign, layer_index, LayerState.OPEN),
    )
    if closed:
        log_store.append(db, LogEntry(Deed.CLOSED, campaign=campaign, layer=layer_index))


def close_planned(db: Connection, campaign: bytes, layer: LayerRow, missing: int, votes: Votes) -> bool:
    """Close a layer whose slots are drawn, with the votes of the reports that are made up because they are missing.

    All at once, so that they are drawn once: whoever decides the layer finds them. False, and no change, if the layer
    is not as it was when they were drawn.
    """
    rows = db.select_for_update(
        f"{_SELECT_LAYER} WHERE campaign = ? AND layer_index = ?", (campaign, layer.layer_index)
    )
    if [_layer_row(row) for row in rows] != [layer]:
        return False
    if missing:
        add_sum(db, campaign, layer.layer_index, missing, votes, made_up=missing)
        reports = layer.round.reports + missing
        db.execute(
            "UPDATE layers SET reports = ?, layer_size = ?, made_up = made_up + ?"
            " WHERE campaign = ? AND layer_index = ?",
            (reports, reports, missing, campaign, layer.layer_index),
        )
    close_layer(db, campaign, layer.layer_index)
    return True


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


def drop_layers(db: Connection, campaign: bytes) -> None:
    """Close all layers of an aborted campaign, and erase all votes."""
    # Closed layers too, so that we wait for a worker that is just merging their sums.
    db.execute(
        "UPDATE layers SET state = ? WHERE campaign = ? AND state <> ?",
        (LayerState.CLOSED, campaign, LayerState.DECIDED),
    )
    for table in ("sums", "place_blocks"):
        db.execute(f"DELETE FROM {table} WHERE campaign = ?", (campaign,))


def settle_layer(db: Connection, campaign: bytes, layer_index: int, decision: Decision, facts: LayerOutcome) -> bool:
    """Store the decision on a closed layer, and erase its votes but for those that are carried over.

    False if another worker has done so.
    """
    settled = db.execute(
        "UPDATE layers SET state = ?, decision = ?, facts = ? WHERE campaign = ? AND layer_index = ? AND state = ?"
        " RETURNING 1",
        (
            LayerState.DECIDED,
            _encode_decision(decision),
            msgspec.json.encode(facts).decode(),
            campaign,
            layer_index,
            LayerState.CLOSED,
        ),
    )
    if settled:
        keep_carried(db, campaign, layer_index, decision.carried)
        for table in ("sums", "masking_groups", "place_blocks"):
            db.execute(f"DELETE FROM {table} WHERE campaign = ? AND layer_index = ?", (campaign, layer_index))
    return bool(settled)


def decisions(db: Connection, campaign: bytes) -> list[Decision]:
    """The decisions, layer by layer; the last one alone has the votes that it carries over."""
    rows = db.execute(
        "SELECT layer_index, decision FROM layers WHERE campaign = ? AND state = ? ORDER BY layer_index",
        (campaign, LayerState.DECIDED),
    )
    return [_decode_decision(written, carried_from(db, campaign, layer_index)) for layer_index, written in rows]


def keep_release(db: Connection, campaign: bytes, document: str, digest: bytes) -> None:
    """Store the release of a campaign, which has this digest."""
    db.execute("UPDATE campaigns SET release = ? WHERE id = ?", (document, campaign))
    log_store.append(db, LogEntry(Deed.RELEASED, digest, campaign))


def release_of(db: Connection, campaign: bytes) -> str | None:
    """The release of a campaign, once there is one."""
    ((document,),) = db.execute("SELECT release FROM campaigns WHERE id = ?", (campaign,))
    return None if document is None else str(document)


def document_of(db: Connection, digest: bytes) -> bytes | None:
    """The document of a layer, compressed by zlib."""
    rows = db.execute("SELECT document FROM layers WHERE digest = ?", (digest,))
    return bytes(rows[0][0]) if rows else None


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
        id=_bytes(identity),
        name=str(name),
        definition=_definition(definition),
        state=CampaignState(str(state)),
        slot_secret=_bytes(secret),
        created=msgspec.convert(created, float),
        changed=msgspec.convert(changed, float),
        note=str(note),
    )


@lru_cache(maxsize=64)
def _definition(text: str) -> Definition:
    """The same object for the same text, so that its vocabulary is not built at every read."""
    return msgspec.json.decode(text, type=Definition)


def _layer_row(row: tuple[object, ...]) -> LayerRow:
    layer_index, digest, candidates, state, *round_, facts, groups_refused, made_up = row
    return LayerRow(
        layer_index=msgspec.convert(layer_index, int),
        digest=_bytes(digest),
        candidates=msgspec.convert(candidates, int),
        state=LayerState(str(state)),
        round=Round(*msgspec.convert(round_, tuple[int, int, int, float, float, int, int, int])),
        facts=None if facts is None else msgspec.json.decode(str(facts), type=LayerOutcome),
        groups_refused=msgspec.convert(groups_refused, int),
        made_up=msgspec.convert(made_up, int),
    )


def _columns(round_: Round) -> tuple[float, ...]:
    return (
        round_.layer_size,
        round_.low,
        round_.high,
        round_.opened,
        round_.deadline,
        round_.looks,
        round_.extensions,
    )


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes | memoryview)
    return bytes(value)


def _encode_decision(decision: Decision) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(
        file,
        reports=np.int64(decision.reports),
        made=np.bool_(decision.made),
        index=decision.index,
        votes=decision.votes,
        thresholds=decision.thresholds,
    )
    return file.getvalue()


def _decode_decision(written: object, carried: Integers) -> Decision:
    with np.load(io.BytesIO(_bytes(written))) as stored:
        return Decision(
            reports=int(stored["reports"]),
            made=bool(stored["made"]),
            index=stored["index"],
            votes=stored["votes"],
            thresholds=stored["thresholds"],
            carried=carried,
        )
