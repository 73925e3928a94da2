"""The coordinator: carries out what operators do to campaigns, and advances running campaigns as time passes.

All its state is in the database: a worker that dies at any moment is replaced by another, which arrives at the same
layers and the same words, because a discovery is a function of its decisions, and a decision one of its votes.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from neologue.discovery.plausibility import find_implausible
from neologue.discovery.result import LayerFacts, Release
from neologue.discovery.state import DiscoveryState
from neologue.errors import BudgetError, CampaignError, LedgerError, StorageError
from neologue.ledger.ledger import ChargeState, Ledger
from neologue.privacy.collection import Batch, Collection
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import CAMPAIGN_BYTES
from neologue.protocol.ticket import SECRET_BYTES
from neologue.release.codec import Provenance, release_document, release_text
from neologue.release.foreseen import foreseen_charge
from neologue.release.signature import sign_document
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow, LayerOutcome, LayerRow
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.rounds import advance_round, open_round, resume_round
from neologue.service.masked.group_store import under_way
from neologue.service.ops import access
from neologue.service.ops.access import NOBODY
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.database import Connection
from neologue.service.storage.report_store import ReportStore
from neologue.service.storage.states import CampaignState, LayerState

LEASE = 10.0
"""For how many seconds the worker that advances a campaign keeps others from doing so."""
START = "start campaign"
SUMS = 32
"""If a layer has at least so many sums of batches, they are merged into one."""


@dataclass
class CampaignProgress:
    """How far a campaign has come, as this worker knows it."""

    state: DiscoveryState
    facts: list[LayerFacts]
    taken: int = 0
    """How many decisions the state has taken."""


class Coordinator:
    """Creates, starts, pauses, aborts and advances campaigns."""

    def __init__(self, storage: ReportStore, keys: Keys, ledger: Ledger | None, worker: str) -> None:
        self._storage, self._keys, self._ledger, self._worker = storage, keys, ledger, worker
        self._database = storage.database
        self._progress: dict[bytes, CampaignProgress] = {}
        self.leading: frozenset[bytes] = frozenset()
        """The campaigns that this worker advanced in its last turn."""
        self._scrubbing = threading.Lock()
        self._scrubbed = False
        """Whether nothing is left of deleted sums on disk; a worker before this one may have been killed halfway."""
        self._settling = threading.Lock()
        self._settled = False
        """Whether the ledger knows what aborted campaigns have collected."""

    def create(self, definition: Definition, now: float, by: str = NOBODY) -> CampaignRow:
        """Create a draft; no device is asked yet."""
        self._check_payer(definition)
        entry = CampaignRow(
            id=os.urandom(CAMPAIGN_BYTES),
            name=definition.name,
            definition=definition,
            state=CampaignState.DRAFT,
            slot_secret=os.urandom(SECRET_BYTES),
            created=now,
            changed=now,
            note="",
        )
        known = definition.campaign.known
        words = known_document(known)
        with self._database.transaction() as db:
            campaign_store.keep_known(db, bytes.fromhex(known.digest), words)
            campaign_store.add(db, entry)
            access.audit(db, by, "create campaign", entry.name, now)
        return entry

    def start(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Charge the campaign to its population and start it, or resume it after a pause."""
        with self._database.reading() as db:
            entry = campaign_store.campaign_named(db, name)
        if entry.state == CampaignState.PAUSED:
            self._check_ledger(entry.definition)
            return self._resume(entry, now, by)
        if entry.state != CampaignState.DRAFT:
            raise CampaignError(f"the campaign {name!r} is {entry.state}: only a draft or a paused one can be started")
        self._check_payer(entry.definition)
        self._charge(entry)
        try:
            with self._database.transaction() as db:
                started = _move(db, entry, (CampaignState.DRAFT,), CampaignState.RUNNING, now)
                access.audit(db, by, START, name, now)
        except CampaignError:
            self._settle_if_possible()  # it was aborted meanwhile, and is charged
            raise
        return started

    def pause(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Ask no device and count no report until the campaign is started again."""
        with self._database.transaction() as db:
            paused = _move(
                db, campaign_store.campaign_named(db, name), (CampaignState.RUNNING,), CampaignState.PAUSED, now
            )
            access.audit(db, by, "pause campaign", name, now)
        return paused

    def abort(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """End the campaign without a release. What was collected stays charged."""
        with self._database.transaction() as db:
            entry = campaign_store.campaign_named(db, name)
            ended = _move(
                db,
                entry,
                (CampaignState.DRAFT, CampaignState.RUNNING, CampaignState.PAUSED),
                CampaignState.ABORTED,
                now,
            )
            campaign_store.drop_layers(db, entry.id)
            access.audit(db, by, "abort campaign", name, now)
        # It has ended, even if the rest fails: the next turn tries again, and reports the error.
        with suppress(StorageError):
            self._scrub()
        # Only now: until its layers were closed, more could be collected.
        self._settle_if_possible()
        return ended

    def turn(self, now: float, on_event: Callable[[str, CampaignRow], None] = lambda what, entry: None) -> None:
        """Advance every running campaign as far as possible now.

        A campaign that fails does not stop the others; the first error is raised at the end.
        """
        if not self._scrubbed:
            self._scrub()
        wrong: list[Exception] = []
        if not self._settled:
            try:
                self._settle_aborted()
            except LedgerError as error:
                wrong.append(error)
        with self._database.reading() as db:
            running = [entry for entry in campaign_store.all_campaigns(db) if entry.state == CampaignState.RUNNING]
        for ended in self._progress.keys() - {entry.id for entry in running}:
            self._progress.pop(ended, None)
        leading: set[bytes] = set()
        for entry in running:
            try:
                with self._database.transaction() as db:
                    leads = self._leads(db, entry, now)
                if leads:
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
        # A worker that was started without the ledger must not publish what nobody paid for.
        self._check_ledger(entry.definition)
        with self._database.reading() as db:
            layers = campaign_store.layers_of(db, entry.id)
        if not layers:
            if self._begin(entry, now):
                on_event("layer opened", entry)
            return
        last = layers[-1]
        if last.state == LayerState.OPEN and self._check_round(entry, last, now):
            last = replace(last, state=LayerState.CLOSED)
        if last.state == LayerState.CLOSED:
            if self._decide(entry, last, now):
                on_event("layer decided", entry)
        elif last.state == LayerState.DECIDED and self._finish(entry, self._load_progress(entry).state.release, now):
            on_event("campaign ended", entry)

    def _begin(self, entry: CampaignRow, now: float) -> bool:
        """Open the first layer; whether this worker did it."""
        progress = self._load_progress(entry)
        with self._database.transaction() as db:
            leads = self._leads(db, entry, now)
            if leads:
                self._open(db, entry, progress, layer_index=0, low=0, now=now)
        return leads

    def _check_round(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Give an open layer more devices or time if it needs them, or close it if it is over; whether it is closed."""
        with self._database.transaction() as db:
            if not self._leads(db, entry, now):
                return False
            # Devices in a group are as good as counted: nobody else has to be invited in their place.
            coming = under_way(db, entry.id, last.layer_index, now)
            with_them = replace(last.round, reports=last.round.reports + coming)
            later = advance_round(with_them, entry.definition.rules, now)
            if later is None and coming:
                return False  # a sum may still arrive, and no new group begins
            if later is None:
                campaign_store.close_layer(db, entry.id, last.layer_index)
            elif later != with_them:
                campaign_store.update_round(db, entry.id, last.layer_index, later)
        if later is not None:
            self._storage.merge_sums(entry.id, last.layer_index, SUMS)
        return later is None

    def _decide(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Decide a closed layer, erase its votes and open the next one, in one transaction; whether it was done."""
        progress = self._load_progress(entry)
        layer = progress.state.layer
        if layer is None or layer.digest != last.digest:
            raise CampaignError(
                f"the campaign {entry.name!r} was started by another version of neologue: continue with that version, "
                "or abort it"
            )
        tally = self._storage.tally(entry.id, last.layer_index)
        decision = progress.state.decide(tally)
        warnings = find_implausible(layer, tally)
        progress.state.take(decision)
        progress.taken += 1
        facts = LayerOutcome(None if isinstance(layer, ClosedLayer) else progress.facts[-1], warnings)
        with self._database.transaction() as db:
            # Not if the campaign was paused or aborted meanwhile.
            settled = self._leads(db, entry, now) and campaign_store.settle_layer(
                db, entry.id, last.layer_index, decision, facts
            )
            if settled and progress.state.layer is not None:
                self._open(db, entry, progress, layer_index=last.layer_index + 1, low=last.round.high, now=now)
        self._scrub()
        if not settled:
            # Another worker was faster, or the campaign was paused: what this worker knows is outdated.
            self._progress.pop(entry.id, None)
        return settled

    def _open(
        self, db: Connection, entry: CampaignRow, progress: CampaignProgress, *, layer_index: int, low: int, now: float
    ) -> None:
        layer = progress.state.layer
        assert layer is not None
        round_ = open_round(layer.layer_size, low, entry.definition.rules, now)
        row = LayerRow(layer_index, layer.digest, layer.randomizer.candidates, LayerState.OPEN, round_, None)
        campaign_store.open_layer(db, entry.id, row, layer.document)

    def _finish(self, entry: CampaignRow, release: Release, now: float) -> bool:
        """Release what was found, if the population's budget covers what was collected; whether it was done."""
        try:
            self._settle(entry)
        except BudgetError as error:
            with self._database.transaction() as db:
                _move(db, entry, (CampaignState.RUNNING,), CampaignState.REFUSED, now, note=str(error))
            return True
        release = replace(release, exposure=entry.definition.aggregator.exposure)
        provenance = Provenance(_describe_population(entry), entry.definition.fidelity, campaign=entry.id.hex())
        document = release_document(release, provenance)
        with self._database.transaction() as db:
            ended = campaign_store.move(db, entry.id, (CampaignState.RUNNING,), CampaignState.RELEASED, now)
            if ended:
                campaign_store.keep_release(db, entry.id, release_text(sign_document(document, self._keys.operator)))
        return ended

    def _load_progress(self, entry: CampaignRow) -> CampaignProgress:
        """How far the campaign has come, from memory and the decisions in the database."""
        with self._database.reading() as db:
            decided = campaign_store.decisions(db, entry.id)
        progress = self._progress.get(entry.id)
        if progress is None or progress.taken > len(decided):
            facts: list[LayerFacts] = []
            definition = entry.definition
            state = DiscoveryState(definition.campaign, definition.measuring, lambda layer, words: facts.append(layer))
            progress = self._progress[entry.id] = CampaignProgress(state, facts)
        for decision in decided[progress.taken :]:
            progress.state.take(decision)
            progress.taken += 1
        return progress

    def _resume(self, entry: CampaignRow, now: float, by: str) -> CampaignRow:
        with self._database.transaction() as db:
            # First, so that only one of two concurrent requests succeeds.
            running = _move(db, entry, (CampaignState.PAUSED,), CampaignState.RUNNING, now)
            for layer in campaign_store.layers_of(db, entry.id):
                if layer.state == LayerState.OPEN:
                    campaign_store.update_round(
                        db, entry.id, layer.layer_index, resume_round(layer.round, now - entry.changed)
                    )
            access.audit(db, by, START, entry.name, now)
        return running

    def _check_payer(self, definition: Definition) -> None:
        """Refuse a new campaign unless its population can be charged, or there is no ledger at all."""
        self._check_ledger(definition)
        if self._ledger and definition.population is None:
            raise CampaignError(
                "this service has a ledger: say which of its populations pays (population)", parameter="population"
            )

    def _check_ledger(self, definition: Definition) -> None:
        """Refuse a campaign that is charged to a population, if this worker was started without a ledger."""
        if definition.population is not None and not self._ledger:
            raise CampaignError(
                f"the population {definition.population!r} needs a ledger: start the service with --ledger",
                parameter="population",
            )

    def _charge(self, entry: CampaignRow) -> None:
        population = entry.definition.population
        if not self._ledger or population is None:
            return
        # With its reference, so that a campaign of somebody else with the same name is not taken for this one.
        planned = foreseen_charge(entry.definition.campaign, entry.definition.measuring)
        self._ledger.plan(population, entry.name, planned, entry.id.hex())

    def _settle(self, entry: CampaignRow) -> None:
        """Record in the ledger what was collected; then raise a BudgetError if that is over the budget."""
        if self._ledger:
            self._ledger.settle(entry.name, self._collection(entry))

    def _settle_aborted(self) -> None:
        """Record in the ledger what aborted campaigns have collected, where it is not recorded yet."""
        with self._settling:  # an earlier call must not vouch for a campaign that was aborted after it
            self._settled = False
            with self._database.reading() as db:
                aborted = [entry for entry in campaign_store.all_campaigns(db) if entry.state == CampaignState.ABORTED]
            for entry in filter(self._awaits_settlement, aborted):
                with suppress(BudgetError):  # over budget or not, it has ended
                    self._settle(entry)
            self._settled = True

    def _settle_if_possible(self) -> None:
        """Do so now, or at a later turn if it fails."""
        with suppress(LedgerError, StorageError):
            self._settle_aborted()

    def _awaits_settlement(self, entry: CampaignRow) -> bool:
        """Whether the ledger still has to learn what a campaign collected; charges that may not be ours stay alone."""
        population = entry.definition.population
        if not self._ledger or population is None:
            return False
        entries = self._ledger.entries(population)
        known = next((known for known in entries if known.campaign == entry.name), None)
        if known is None or known.state == ChargeState.SETTLED:
            return False
        if self._collection(entry).batches:
            # It was collected, even if the charge was abandoned; campaigns older than references have none.
            return known.reference in (None, entry.id.hex())
        return known.state == ChargeState.PLANNED and known.reference == entry.id.hex()

    def _collection(self, entry: CampaignRow) -> Collection:
        """The honest reports that a campaign has collected, whether their layers were decided or not."""
        with self._database.reading() as db:
            layers = campaign_store.layers_of(db, entry.id)
        batches = (Batch(layer.round.reports, layer.candidates) for layer in layers if layer.round.reports)
        campaign = entry.definition.campaign
        parameters = campaign.parameters
        collected = Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, tuple(batches))
        return collected.in_sums_of(None, parameters.colluders)

    def _scrub(self) -> None:
        """Erase what deleted sums have left on disk, now or, while somebody reads the database, at a later turn."""
        with self._scrubbing:  # an earlier call must not vouch for what was deleted after it
            self._scrubbed = False
            self._scrubbed = self._storage.scrub()


def _move(
    db: Connection,
    entry: CampaignRow,
    states: tuple[CampaignState, ...],
    state: CampaignState,
    now: float,
    note: str = "",
) -> CampaignRow:
    if not campaign_store.move(db, entry.id, states, state, now, note):
        present = campaign_store.campaign_named(db, entry.name).state
        raise CampaignError(f"the campaign {entry.name!r} is {present}, and can't become {state}")
    return campaign_store.campaign_named(db, entry.name)


def _describe_population(entry: CampaignRow) -> str:
    """The population as a release names it."""
    devices = f"{entry.definition.devices:,} devices expected"
    return f"{entry.definition.population}, {devices}" if entry.definition.population else devices
