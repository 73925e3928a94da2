"""The layers of live campaigns and what was decided on them, as rows of the database.

Every function takes a connection, as in `campaign_store`; the log is told in the same transaction.
"""

import io
import zlib
from dataclasses import dataclass

import msgspec
import numpy as np

from neologue.aggregation.kernels import Votes
from neologue.discovery.decision import Decision
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection.selected import Integers
from neologue.service.campaigns.campaign_log import opened_entry
from neologue.service.campaigns.carried_votes import carried_from, keep_carried
from neologue.service.campaigns.rounds import Round
from neologue.service.log import log_store
from neologue.service.storage.database import Connection, stored_bytes
from neologue.service.storage.report_store import add_sum
from neologue.service.storage.states import LayerState
from neologue.transparency.log_entry import Deed, LogEntry


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


_SELECT_LAYER = (
    "SELECT layer_index, digest, candidates, state, layer_size, low, high, opened, deadline, looks, extensions,"
    " reports, facts, groups_refused, made_up FROM layers"
)


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


def document_of(db: Connection, digest: bytes) -> bytes | None:
    """The document of a layer, compressed by zlib."""
    rows = db.execute("SELECT document FROM layers WHERE digest = ?", (digest,))
    return bytes(rows[0][0]) if rows else None


def _layer_row(row: tuple[object, ...]) -> LayerRow:
    layer_index, digest, candidates, state, *round_, facts, groups_refused, made_up = row
    return LayerRow(
        layer_index=msgspec.convert(layer_index, int),
        digest=stored_bytes(digest),
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
    with np.load(io.BytesIO(stored_bytes(written))) as stored:
        return Decision(
            reports=int(stored["reports"]),
            made=bool(stored["made"]),
            index=stored["index"],
            votes=stored["votes"],
            thresholds=stored["thresholds"],
            carried=carried,
        )
