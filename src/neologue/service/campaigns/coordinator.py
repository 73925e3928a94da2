"""The coordinator: carries out what operators do to campaigns, and advances running campaigns as time passes.

All its state is in the database: a worker that dies at any moment is replaced by another, which arrives at the same
layers and the same words, because a discovery is a function of its decisions, and a decision one of its votes. Every
step is one transaction, together with its charge to the population that pays: none is taken that is not paid for.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from neologue.aggregation.made_up import made_up_votes
from neologue.errors import CampaignError, StorageError
from neologue.ledger.ledger import Ledger
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import known_document
from neologue.protocol.layer import Layer
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_progress import CampaignProgress, ProgressCache
from neologue.service.campaigns.campaign_release import signed_release
from neologue.service.campaigns.campaign_store import CampaignRow, move_or_fail
from neologue.service.campaigns.charging import Charging, Due, unpaid
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.drafts import draft_named, new_draft
from neologue.service.campaigns.layer_store import LayerOutcome, LayerRow
from neologue.service.campaigns.layer_warnings import find_warnings
from neologue.service.campaigns.planned_rounds import PlannedRounds
from neologue.service.campaigns.promises import promise_of
from neologue.service.campaigns.rounds import advance_round, open_round, resume_round
from neologue.service.masked.group_store import under_way
from neologue.service.ops import access
from neologue.service.ops.access import NOBODY
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.database import Connection
from neologue.service.storage.place_store import kept_places
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import CampaignState, LayerState

LEASE = 10.0
"""For how many seconds the worker that advances a campaign keeps others from doing so."""
START = "start campaign"
SUMS = 32
"""If a layer has more sums of batches than that, neighbours are merged, until there are half as many."""


class Coordinator:
    """Creates, starts, pauses, aborts and advances campaigns."""

    def __init__(self, storage: ReportStore, keys: Keys, ledger: Ledger, worker: str) -> None:
        self._storage, self._keys, self._worker = storage, keys, worker
        self._database = storage.database
        self.charging = Charging(storage.database, ledger)
        self._progress = ProgressCache(storage.database)
        self.leading: frozenset[bytes] = frozenset()
        """The campaigns that this worker advanced in its last turn."""
        self._scrubbing = threading.Lock()
        self._scrubbed = False
        """Whether nothing is left of deleted sums on disk; a worker before this one may have been killed halfway."""

    def create(self, definition: Definition, now: float, by: str = NOBODY) -> CampaignRow:
        """Create a draft; no device is asked yet."""
        self.charging.check_payer(definition)
        entry = new_draft(definition, now)
        with self._database.transaction() as db:
            campaign_store.add(db, entry)
            access.audit(db, by, "create campaign", entry.name, now)
        return entry

    def replace(self, name: str, definition: Definition, now: float, by: str = NOBODY) -> CampaignRow:
        """Put another draft in the place of one; it is another campaign, and credentials of the one before are void."""
        self.charging.check_payer(definition)
        entry = new_draft(definition, now)
        with self._database.transaction() as db:
            campaign_store.remove_draft(db, draft_named(db, name))
            campaign_store.add(db, entry)
            access.audit(db, by, "change draft", entry.name, now)
        return entry

    def delete(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Delete a draft; its name can be used again."""
        with self._database.transaction() as db:
            entry = draft_named(db, name)
            campaign_store.remove_draft(db, entry)
            access.audit(db, by, "delete draft", name, now)
        return entry

    def start(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Charge the campaign to its population and start it, or resume it after a pause."""
        with self._database.reading() as db:
            entry = campaign_store.campaign_named(db, name)
        if entry.state == CampaignState.PAUSED:
            return self._resume(entry, now, by)
        if entry.state != CampaignState.DRAFT:
            raise CampaignError(f"the campaign {name!r} is {entry.state}: only a draft or a paused one can be started")
        words = known_document(entry.definition.campaign.known)
        while True:
            due = self.charging.due_at_start(entry)
            with self._database.transaction() as db:
                if self.charging.charge_start(db, entry, due):
                    campaign_store.publish(db, entry, words)
                    started = move_or_fail(db, entry, (CampaignState.DRAFT,), CampaignState.RUNNING, now)
                    access.audit(db, by, START, name, now)
                    return started

    def pause(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Ask no device and count no report until the campaign is started again."""
        with self._database.transaction() as db:
            paused = move_or_fail(
                db, campaign_store.campaign_named(db, name), (CampaignState.RUNNING,), CampaignState.PAUSED, now
            )
            access.audit(db, by, "pause campaign", name, now)
        return paused

    def abort(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """End the campaign without a release. What was collected stays charged, or its note says why it can't be."""
        with self._database.transaction() as db:
            entry = campaign_store.campaign_named(db, name)
            ended = move_or_fail(
                db,
                entry,
                (CampaignState.DRAFT, CampaignState.RUNNING, CampaignState.PAUSED),
                CampaignState.ABORTED,
                now,
            )
            layer_store.drop_layers(db, entry.id)
            # Only now: until its layers were closed, more could be collected.
            uncharged = self.charging.settle_aborted(db, entry)
            if uncharged:
                ended = move_or_fail(db, entry, (CampaignState.ABORTED,), CampaignState.ABORTED, now, note=uncharged)
            access.audit(db, by, "abort campaign", name, now)
        # It has ended, even if the rest fails: the next turn tries again, and reports the error.
        with suppress(StorageError):
            self._scrub()
        return ended

    def turn(self, now: float, on_event: Callable[[str, CampaignRow], None] = lambda what, entry: None) -> None:
        """Advance every running campaign as far as possible now, or pause it if nobody is charged who should pay.

        A campaign that fails does not stop the others; the first error is raised at the end.
        """
        if not self._scrubbed:
            self._scrub()
        wrong: list[Exception] = []
        with self._database.reading() as db:
            running = [entry for entry in campaign_store.all_campaigns(db) if entry.state == CampaignState.RUNNING]
        self._progress.keep({entry.id for entry in running})
        leading: set[bytes] = set()
        for entry in running:
            try:
                with self._database.transaction() as db:
                    leads = self._leads(db, entry, now)
                    held = unpaid(db, entry) if leads else ""
                    if held:
                        move_or_fail(db, entry, (CampaignState.RUNNING,), CampaignState.PAUSED, now, note=held)
                if held:
                    on_event("campaign paused: not charged", entry)
                elif leads:
                    leading.add(entry.id)
                    self._advance(entry, now, on_event)
            except Exception as error:
                if not self._was_overtaken(entry, now):
                    wrong.append(error)
        self.leading = frozenset(leading)
        if wrong:
            raise wrong[0]

    def rest(self) -> None:
        """Leave the campaigns to other workers at once."""
        with self._database.transaction() as db:
            campaign_store.leave(db, self._worker)

    def is_leading(self, campaign: bytes) -> bool:
        """Whether this worker moved a campaign on in its last turn."""
        return campaign in self.leading

    def _leads(self, db: Connection, entry: CampaignRow, now: float) -> bool:
        """Whether this worker still leads a campaign: it is neither paused nor ended, nor led by another worker."""
        return campaign_store.lead(db, entry.id, self._worker, now, now + LEASE)

    def _was_overtaken(self, entry: CampaignRow, now: float) -> bool:
        """Whether somebody else has changed a campaign meanwhile, which is no error."""
        with suppress(StorageError), self._database.transaction() as db:
            return not self._leads(db, entry, now)
        return False

    def _advance(self, entry: CampaignRow, now: float, on_event: Callable[[str, CampaignRow], None]) -> None:
        with self._database.reading() as db:
            layers = layer_store.layers_of(db, entry.id)
        if not layers:
            if self._begin(entry, now):
                on_event("layer opened", entry)
            return
        last = layers[-1]
        if last.state == LayerState.OPEN and self._check_round(entry, last, now):
            last = replace(last, state=LayerState.CLOSED)
        if last.state == LayerState.CLOSED:
            if self._decide(entry, [*layers[:-1], last], now, on_event):
                on_event("layer decided", entry)
        elif last.state == LayerState.DECIDED and self._finish(entry, layers, now):
            on_event("campaign ended", entry)

    def _begin(self, entry: CampaignRow, now: float) -> bool:
        """Open the first layer; whether this worker did it."""
        progress = self._progress.load(entry)

        def open_first(db: Connection, due: Due) -> bool:
            self._open(db, entry, progress, layer_index=0, low=0, now=now)
            self.charging.charge_next(db, entry, due, told=False)
            return True

        return self._step(entry, now, lambda: self.charging.due_next(entry, [], progress.state.layer), open_first)

    def _step(
        self, entry: CampaignRow, now: float, assess: Callable[[], Due], take: Callable[[Connection, Due], bool]
    ) -> bool:
        """Take the next step of a campaign in one transaction with its charge; whether this worker did anything.

        If the population's budget does not cover the step, the campaign ends instead: its votes are erased, and what it
        collected is charged.
        """
        while True:
            due = assess()
            with self._database.transaction() as db:
                # Not if the campaign was paused or aborted meanwhile.
                if not self._leads(db, entry, now):
                    return False
                if not due.claim(db):
                    continue  # others have spent or changed the budget meanwhile
                if due.refusal is None:
                    return take(db, due)
                move_or_fail(db, entry, (CampaignState.RUNNING,), CampaignState.REFUSED, now, note=str(due.refusal))
                layer_store.drop_layers(db, entry.id)
                self.charging.settle(db, entry)
            self._progress.forget(entry.id)
            return True

    def _check_round(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Give an open layer more devices or time if it needs them, or close it if it is over; whether it is closed."""
        if entry.definition.drawn:
            return self._check_planned(entry, last, now)
        rules = entry.definition.rules_for(last.candidates)  # which may take a while, so not while others wait
        with self._database.transaction() as db:
            if not self._leads(db, entry, now):
                return False
            # Devices in a group, or with a place, are as good as counted: nobody else is to be invited instead.
            coming = under_way(db, entry.id, last.layer_index, now)
            coming += sum(kept_places(db, entry.id, last.layer_index, now).values())
            with_them = replace(last.round, reports=last.round.reports + coming)
            later = advance_round(with_them, rules, now)
            if later is None and coming:
                return False  # they may still arrive, and nobody else is invited
            if later is None:
                layer_store.close_layer(db, entry.id, last.layer_index)
            elif later != with_them:
                layer_store.update_round(db, entry.id, last.layer_index, later)
        if later is not None:
            self._storage.merge_sums(entry.id, last.layer_index, SUMS)
        return later is None

    def _check_planned(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Close a layer whose slots are drawn when its time is over, whoever came; whether it is closed.

        The made-up reports are drawn outside the transaction that keeps them and closes the layer, because that may
        take a while: what was drawn for nothing is forgotten, and nobody has seen anything of it.
        """
        planned = PlannedRounds(entry.definition)
        while now >= planned.closes(last.round):
            layer = self._asked_layer(entry, last)
            missing = planned.missing(last.round, last.made_up)
            votes = made_up_votes(layer, missing)
            with self._database.transaction() as db:
                if not self._leads(db, entry, now):
                    return False
                if planned.breaks_promise(last.round, last.made_up):
                    self._end_unpromised(db, entry, now)
                    return False
                if layer_store.close_planned(db, entry.id, last, missing, votes):
                    return True
                last = layer_store.layers_of(db, entry.id)[-1]
                if last.state != LayerState.OPEN:
                    return False
        self._storage.merge_sums(entry.id, last.layer_index, SUMS)
        return False

    def _end_unpromised(self, db: Connection, entry: CampaignRow, now: float) -> None:
        """End a campaign whose promise rests on planned numbers, because more reports came."""
        note = (
            "a layer had more reports than were planned, so that it could be told who was in it, and the promised "
            "central ε would be broken"
        )
        move_or_fail(db, entry, (CampaignState.RUNNING,), CampaignState.REFUSED, now, note=note)
        layer_store.drop_layers(db, entry.id)
        self.charging.settle(db, entry)

    def _asked_layer(self, entry: CampaignRow, last: LayerRow) -> Layer | ClosedLayer:
        """The layer that is asked now, as its decisions make it."""
        layer = self._progress.load(entry).state.layer
        if layer is None or layer.digest != last.digest:
            raise CampaignError(
                f"the campaign {entry.name!r} was started by another version of neologue: continue with that version, "
                "or abort it"
            )
        return layer

    def _decide(
        self, entry: CampaignRow, layers: list[LayerRow], now: float, on_event: Callable[[str, CampaignRow], None]
    ) -> bool:
        """Decide the last layer, which is closed, erase its votes and open the next one, in one transaction.

        Whether it was done, or the campaign ended because its population's budget does not cover it.
        """
        last = layers[-1]
        layer, progress = self._asked_layer(entry, last), self._progress.load(entry)
        tally = self._storage.tally(entry.id, last.layer_index)
        # Some may have been counted just before it was closed.
        size = tally.reports if entry.definition.drawn else last.round.layer_size
        counted = [*layers[:-1], replace(last, round=replace(last.round, layer_size=size, reports=tally.reports))]
        decision = progress.state.decide(tally)
        warnings, gathered = find_warnings(self._storage, entry, layers, progress.state, tally, decision)
        progress.take(decision)
        facts = LayerOutcome(None if isinstance(layer, ClosedLayer) else progress.facts[-1], warnings, gathered)

        def settle_and_open(db: Connection, due: Due) -> bool:
            if not layer_store.settle_layer(db, entry.id, last.layer_index, decision, facts):
                return False
            if progress.state.layer is not None:
                self._open(db, entry, progress, layer_index=last.layer_index + 1, low=last.round.high, now=now)
            self.charging.charge_next(db, entry, due, told=True)
            return True

        settled = self._step(
            entry, now, lambda: self.charging.due_next(entry, counted, progress.state.layer), settle_and_open
        )
        self._scrub()
        if not settled:
            # Another worker was faster, or the campaign was paused: what this worker knows is outdated.
            self._progress.forget(entry.id)
        elif facts.all_warnings:
            on_event("votes of a layer are implausible", entry)
        return settled

    def _open(
        self, db: Connection, entry: CampaignRow, progress: CampaignProgress, *, layer_index: int, low: int, now: float
    ) -> None:
        layer = progress.state.layer
        assert layer is not None
        if entry.definition.drawn:
            round_ = PlannedRounds(entry.definition).open(layer, now)
        else:
            round_ = open_round(layer.layer_size, low, entry.definition.rules, now)
        row = LayerRow(layer_index, layer.digest, layer.randomizer.candidates, LayerState.OPEN, round_, None)
        layer_store.open_layer(db, entry.id, row, layer.document, promise_of(entry, self._keys))

    def _finish(self, entry: CampaignRow, layers: list[LayerRow], now: float) -> bool:
        """Release what was found, if the population's budget covers what was collected; whether it was done."""
        found = self._progress.load(entry).state.release
        with self._database.reading() as db:
            self._keys.refresh(db)  # another worker may have replaced the key a moment ago
        text, digest = signed_release(entry, found, layers, self._keys)

        def publish(db: Connection, due: Due) -> bool:
            self.charging.settle(db, entry, told=True)
            campaign_store.keep_release(db, entry.id, text, digest)
            return campaign_store.move(db, entry.id, (CampaignState.RUNNING,), CampaignState.RELEASED, now)

        done = self._step(entry, now, lambda: self.charging.due_at_release(entry, layers), publish)
        self._scrub()
        return done

    def _resume(self, entry: CampaignRow, now: float, by: str) -> CampaignRow:
        with self._database.transaction() as db:
            # First, so that only one of two concurrent requests succeeds.
            running = move_or_fail(db, entry, (CampaignState.PAUSED,), CampaignState.RUNNING, now)
            held = unpaid(db, entry)
            if held:
                raise CampaignError(held)
            for layer in layer_store.layers_of(db, entry.id):
                if layer.state == LayerState.OPEN:
                    layer_store.update_round(
                        db, entry.id, layer.layer_index, resume_round(layer.round, now - entry.changed)
                    )
            access.audit(db, by, START, entry.name, now)
        return running

    def _scrub(self) -> None:
        """Erase what deleted sums have left on disk, now or, while somebody reads the database, at a later turn."""
        with self._scrubbing:  # an earlier call must not vouch for what was deleted after it
            self._scrubbed = False
            self._scrubbed = self._storage.scrub()
