"""The coordinator: what operators do to campaigns, and what time does to them.

Everything it needs to go on is in the database: a worker that dies at any moment is replaced by another, which arrives
at the same layers and the same words, because a discovery is a function of its decisions and a decision one of its
votes.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from neologue.discovery.measurement import foreseen_batch
from neologue.discovery.plausibility import find_implausible
from neologue.discovery.result import LayerFacts, Release
from neologue.discovery.state import DiscoveryState
from neologue.errors import BudgetError, CampaignError, LedgerError, StorageError
from neologue.layout.schedule import foreseen
from neologue.ledger.ledger import ChargeState, Ledger
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.statement import Exposure
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import CAMPAIGN_BYTES
from neologue.protocol.ticket import SECRET_BYTES
from neologue.release.codec import release_document, release_text
from neologue.release.signature import signed
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow, LayerOutcome, LayerRow
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.rounds import looked_at, opened, resumed
from neologue.service.masked.group_store import under_way
from neologue.service.ops import access
from neologue.service.ops.access import NOBODY
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.database import Connection
from neologue.service.storage.report_store import ReportStore

LEASE = 10.0
"""For how many seconds a worker that moves a campaign on keeps others from doing the same."""
START = "start campaign"
SUMS = 32
"""From how many sums of batches on a layer's are merged into one."""


@dataclass
class CampaignProgress:
    """How far a campaign has come, as this worker knows it."""

    state: DiscoveryState
    facts: list[LayerFacts]
    taken: int = 0
    """How many decisions the course has taken."""


class Coordinator:
    """Moves campaigns on."""

    def __init__(self, storage: ReportStore, keys: Keys, ledger: Ledger | None, worker: str) -> None:
        self._storage, self._keys, self._ledger, self._worker = storage, keys, ledger, worker
        self._database = storage.database
        self._standings: dict[bytes, CampaignProgress] = {}
        self.leading: frozenset[bytes] = frozenset()
        """The campaigns that this worker moved on in its last turn."""
        self._scrubbing = threading.Lock()
        self._scrubbed = False
        """Whether nothing is left of deleted sums; whoever was here before may have been killed in the middle."""
        self._settling = threading.Lock()
        self._settled = False
        """Whether the ledger knows what aborted campaigns have collected, likewise."""

    def create(self, definition: Definition, now: float, by: str = NOBODY) -> CampaignRow:
        """Write a campaign down; nobody is asked yet."""
        if self._ledger and definition.population is None:
            raise CampaignError("this service has a ledger: say which population of it pays (population)")
        if definition.population is not None and not self._ledger:
            raise CampaignError(
                f"the population {definition.population!r} needs a ledger: start the service with --ledger"
            )
        entry = CampaignRow(
            id=os.urandom(CAMPAIGN_BYTES),
            name=definition.name,
            definition=definition,
            state=campaign_store.DRAFT,
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
        """Charge the campaign to its population and begin, or go on after a pause."""
        with self._database.reading() as db:
            entry = campaign_store.named(db, name)
        if entry.state == campaign_store.PAUSED:
            return self._resume(entry, now, by)
        if entry.state != campaign_store.DRAFT:
            raise CampaignError(f"the campaign {name!r} is {entry.state}: only a draft or a paused one can be started")
        self._charge(entry)
        try:
            with self._database.transaction() as db:
                started = _move(db, entry, (campaign_store.DRAFT,), campaign_store.RUNNING, now)
                access.audit(db, by, START, name, now)
        except CampaignError:
            self._settle_if_possible()  # it was aborted under our hands, and is charged
            raise
        return started

    def pause(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """Ask nobody, and count nothing, until it is started again."""
        with self._database.transaction() as db:
            paused = _move(db, campaign_store.named(db, name), (campaign_store.RUNNING,), campaign_store.PAUSED, now)
            access.audit(db, by, "pause campaign", name, now)
        return paused

    def abort(self, name: str, now: float, by: str = NOBODY) -> CampaignRow:
        """End the campaign without a release. What was collected stays charged."""
        with self._database.transaction() as db:
            entry = campaign_store.named(db, name)
            ended = _move(
                db,
                entry,
                (campaign_store.DRAFT, campaign_store.RUNNING, campaign_store.PAUSED),
                campaign_store.ABORTED,
                now,
            )
            campaign_store.drop_layers(db, entry.id)
            access.audit(db, by, "abort campaign", name, now)
        # It has ended, whatever becomes of the rest: the next turn tries again, and says so.
        with suppress(StorageError):
            self._scrub()
        # Only now: until its layers were closed, there could be more and more of it.
        self._settle_if_possible()
        return ended

    def turn(self, now: float, said: Callable[[str, CampaignRow], None] = lambda what, entry: None) -> None:
        """Move every running campaign on, as far as this moment allows.

        One that can't be moved does not hold the others up; what was wrong with the first such is raised in the end.
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
            running = [entry for entry in campaign_store.entries(db) if entry.state == campaign_store.RUNNING]
        for ended in self._standings.keys() - {entry.id for entry in running}:
            self._standings.pop(ended, None)
        leading: set[bytes] = set()
        for entry in running:
            try:
                with self._database.transaction() as db:
                    leads = self._leads(db, entry, now)
                if leads:
                    leading.add(entry.id)
                    self._advance(entry, now, said)
            except Exception as error:
                if not self._overtaken(entry, now):
                    wrong.append(error)
        self.leading = frozenset(leading)
        if wrong:
            raise wrong[0]

    def rest(self) -> None:
        """Leave the campaigns to other workers, at once."""
        with self._database.transaction() as db:
            campaign_store.leave(db, self._worker)

    def _leads(self, db: Connection, entry: CampaignRow, now: float) -> bool:
        """Whether a campaign is still this worker's to move on: it is not held or ended, nor led by another."""
        return campaign_store.lead(db, entry.id, self._worker, now, now + LEASE)

    def _overtaken(self, entry: CampaignRow, now: float) -> bool:
        """Whether somebody else has changed a campaign under this worker's hands, which is no fault of anything."""
        with suppress(StorageError), self._database.transaction() as db:
            return not self._leads(db, entry, now)
        return False

    def _advance(self, entry: CampaignRow, now: float, said: Callable[[str, CampaignRow], None]) -> None:
        with self._database.reading() as db:
            layers = campaign_store.asked(db, entry.id)
        if not layers:
            if self._begin(entry, now):
                said("layer opened", entry)
            return
        last = layers[-1]
        if last.state == campaign_store.OPEN and self._look(entry, last, now):
            last = replace(last, state=campaign_store.CLOSED)
        if last.state == campaign_store.CLOSED:
            if self._decide(entry, last, now):
                said("layer decided", entry)
        elif last.state == campaign_store.DECIDED and self._finish(entry, self._standing(entry).state.release, now):
            said("campaign ended", entry)

    def _begin(self, entry: CampaignRow, now: float) -> bool:
        """Open the first layer, and say whether it was this worker who did."""
        standing = self._standing(entry)
        with self._database.transaction() as db:
            leads = self._leads(db, entry, now)
            if leads:
                self._open(db, entry, standing, layer_index=0, low=0, now=now)
        return leads

    def _look(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Give an open layer more devices or more time, where it needs them; close it, and say so, if it is over."""
        with self._database.transaction() as db:
            if not self._leads(db, entry, now):
                return False
            # Who is in a group has come, and is as good as counted: nobody else is to be invited for them.
            coming = under_way(db, entry.id, last.layer_index, now) if entry.definition.groups else 0
            with_them = replace(last.round, reports=last.round.reports + coming)
            later = looked_at(with_them, entry.definition.rules, now)
            if later is None and coming:
                return False  # a sum may yet come, and no group is begun any more
            if later is None:
                campaign_store.close_layer(db, entry.id, last.layer_index)
            elif later != with_them:
                campaign_store.update_round(db, entry.id, last.layer_index, later)
        if later is not None:
            self._storage.merge_sums(entry.id, last.layer_index, SUMS)
        return later is None

    def _decide(self, entry: CampaignRow, last: LayerRow, now: float) -> bool:
        """Decide a closed layer, erase its votes and open the next, all at once or not at all; whether it was done."""
        standing = self._standing(entry)
        layer = standing.state.layer
        if layer is None or layer.digest != last.digest:
            raise CampaignError(
                f"the campaign {entry.name!r} was begun by another version of neologue: go on with that version, or "
                "abort it"
            )
        tally = self._storage.tally(entry.id, last.layer_index)
        decision = standing.state.decide(tally)
        warnings = find_implausible(layer, tally)
        standing.state.take(decision)
        standing.taken += 1
        facts = LayerOutcome(None if isinstance(layer, ClosedLayer) else standing.facts[-1], warnings)
        with self._database.transaction() as db:
            # Not if the campaign was paused or aborted meanwhile.
            settled = self._leads(db, entry, now) and campaign_store.settle_layer(
                db, entry.id, last.layer_index, decision, facts
            )
            if settled and standing.state.layer is not None:
                self._open(db, entry, standing, layer_index=last.layer_index + 1, low=last.round.high, now=now)
        self._scrub()
        if not settled:
            # Another worker was faster, or the campaign was held: what this one knows is of no use.
            self._standings.pop(entry.id, None)
        return settled

    def _open(
        self, db: Connection, entry: CampaignRow, standing: CampaignProgress, *, layer_index: int, low: int, now: float
    ) -> None:
        layer = standing.state.layer
        assert layer is not None
        round_ = opened(layer.layer_size, low, entry.definition.rules, now)
        row = LayerRow(layer_index, layer.digest, layer.randomizer.candidates, campaign_store.OPEN, round_, None)
        campaign_store.open_layer(db, entry.id, row, layer.document)

    def _finish(self, entry: CampaignRow, release: Release, now: float) -> bool:
        """Release what was found, if the population's budget covers what was collected; whether it was done."""
        try:
            self._settle(entry)
        except BudgetError as error:
            with self._database.transaction() as db:
                _move(db, entry, (campaign_store.RUNNING,), campaign_store.REFUSED, now, note=str(error))
            return True
        definition = entry.definition
        release = replace(release, exposure=Exposure(disk=definition.batch, masked=definition.groups))
        document = release_document(release, population=_described(entry), fidelity="live", seed=None, score=None)
        with self._database.transaction() as db:
            ended = campaign_store.move(db, entry.id, (campaign_store.RUNNING,), campaign_store.RELEASED, now)
            if ended:
                campaign_store.keep_release(db, entry.id, release_text(signed(document, self._keys.operator)))
        return ended

    def _standing(self, entry: CampaignRow) -> CampaignProgress:
        """How far the campaign has come: what this worker knows, or what the decisions on record say."""
        with self._database.reading() as db:
            decided = campaign_store.decisions(db, entry.id)
        standing = self._standings.get(entry.id)
        if standing is None or standing.taken > len(decided):
            heard: list[LayerFacts] = []
            definition = entry.definition
            state = DiscoveryState(definition.campaign, definition.measuring, lambda facts, words: heard.append(facts))
            standing = self._standings[entry.id] = CampaignProgress(state, heard)
        for decision in decided[standing.taken :]:
            standing.state.take(decision)
            standing.taken += 1
        return standing

    def _resume(self, entry: CampaignRow, now: float, by: str) -> CampaignRow:
        with self._database.transaction() as db:
            # First, so that of two who do so at once one does.
            running = _move(db, entry, (campaign_store.PAUSED,), campaign_store.RUNNING, now)
            for layer in campaign_store.asked(db, entry.id):
                if layer.state == campaign_store.OPEN:
                    campaign_store.update_round(
                        db, entry.id, layer.layer_index, resumed(layer.round, now - entry.changed)
                    )
            access.audit(db, by, START, entry.name, now)
        return running

    def _charge(self, entry: CampaignRow) -> None:
        if not self._ledger:
            return
        population = entry.definition.population
        assert population is not None
        # Its reference, lest a campaign of that name that somebody else has charged is taken for this one.
        self._ledger.plan(population, entry.name, charge(entry.definition), entry.id.hex())

    def _settle(self, entry: CampaignRow) -> None:
        """Tell the ledger what was collected; a BudgetError, once it is on record, if that is over the budget."""
        if self._ledger:
            self._ledger.settle(entry.name, self._collected(entry))

    def _settle_aborted(self) -> None:
        """Tell the ledger what aborted campaigns have collected, of which it does not know yet."""
        with self._settling:  # lest an earlier try speaks for what was aborted behind it
            self._settled = False
            with self._database.reading() as db:
                aborted = [entry for entry in campaign_store.entries(db) if entry.state == campaign_store.ABORTED]
            for entry in filter(self._is_awaited, aborted):
                with suppress(BudgetError):  # over budget or not, it has ended
                    self._settle(entry)
            self._settled = True

    def _settle_if_possible(self) -> None:
        """The same, now or at a later turn."""
        with suppress(LedgerError, StorageError):
            self._settle_aborted()

    def _is_awaited(self, entry: CampaignRow) -> bool:
        """Whether the ledger is yet to be told what became of a campaign; what is not surely ours is left as it is."""
        population = entry.definition.population
        if not self._ledger or population is None:
            return False
        entries = self._ledger.entries(population)
        known = next((known for known in entries if known.campaign == entry.name), None)
        if known is None or known.state == ChargeState.SETTLED:
            return False
        if self._collected(entry).batches:
            # It happened, even if it was thought abandoned; what began before there were references has none.
            return known.reference in (None, entry.id.hex())
        return known.state == ChargeState.PLANNED and known.reference == entry.id.hex()

    def _collected(self, entry: CampaignRow) -> Collection:
        """What reports there are of a campaign that is over, decided upon or not."""
        with self._database.reading() as db:
            layers = campaign_store.asked(db, entry.id)
        batches = (Batch(layer.round.reports, layer.candidates) for layer in layers if layer.round.reports)
        campaign = entry.definition.campaign
        parameters = campaign.parameters
        return Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, tuple(batches))

    def _scrub(self) -> None:
        """Remove what deleted sums have left behind, now or, while somebody reads, at a later turn."""
        with self._scrubbing:  # lest an earlier try speaks for what was deleted behind it
            self._scrubbed = False
            self._scrubbed = self._storage.scrub()


def charge(definition: Definition) -> Collection:
    """What a campaign is charged for when it starts: all that it may collect, as far as can be told."""
    planned = foreseen(definition.campaign)
    if definition.measuring is None:
        return planned
    measuring = foreseen_batch(definition.campaign, definition.measuring)
    return replace(planned, batches=(*planned.batches, measuring))


def _move(
    db: Connection, entry: CampaignRow, states: tuple[str, ...], state: str, now: float, note: str = ""
) -> CampaignRow:
    if not campaign_store.move(db, entry.id, states, state, now, note):
        present = campaign_store.named(db, entry.name).state
        raise CampaignError(f"the campaign {entry.name!r} is {present}, and can't become {state}")
    return campaign_store.named(db, entry.name)


def _described(entry: CampaignRow) -> str:
    """The population as a release names it."""
    devices = f"{entry.definition.devices:,} devices expected"
    return f"{entry.definition.population}, {devices}" if entry.definition.population else devices
