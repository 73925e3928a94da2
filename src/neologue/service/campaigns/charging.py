"""What campaigns are charged, in the very transactions in which they start, open layers and end.

What a charge leads to takes a while to compute, so nobody waits for it: it is computed on a snapshot of the population
before a transaction, which writes it only if the population has not changed meanwhile. `Due` is what lies between.

A layer that is told to devices, and a release, were charged before: with the honest reports that came in all layers so
far, and with what may still come. Until the last layer, that is all that was foreseen when the campaign was started,
with the layer that is opened next as it really is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from neologue.errors import BudgetError, CampaignError, LedgerError
from neologue.ledger import ledger_rows
from neologue.ledger.budget import Budget
from neologue.ledger.charge import ChargeState, LedgerCharge, check_plan
from neologue.ledger.ledger import Ledger
from neologue.ledger.ledger_document import PopulationDocument, import_populations
from neologue.ledger.snapshot import PopulationSnapshot
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.release.foreseen import charged_layer, foreseen_allocation, foreseen_charge
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_log import log_budget
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.planned_rounds import PlannedRounds
from neologue.service.ops import access
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.states import OVER, CampaignState, LayerState

Check = Callable[[PopulationSnapshot, str, Collection], None]
"""Raises a BudgetError unless a campaign may be charged so much in all."""


@dataclass(frozen=True)
class Due:
    """What a campaign has to be charged before its next step, as far as a snapshot of its population tells."""

    snapshot: PopulationSnapshot | None
    """None if it is charged to nobody."""
    collection: Collection
    refusal: BudgetError | None = None
    """Why the step must not be taken."""

    def claim(self, db: Connection) -> bool:
        """Keep the population as it is in the snapshot until the transaction ends; False if it has changed."""
        return self.snapshot is None or ledger_rows.claim(db, self.snapshot)


class Charging:
    """The charges of a service's campaigns."""

    def __init__(self, database: Database, ledger: Ledger) -> None:
        self._database, self._ledger = database, ledger

    def check_payer(self, definition: Definition) -> None:
        """Refuse a new campaign that names a population which is not there, or none although there are some."""
        if definition.population is not None:
            self._ledger.snapshot(definition.population)
        else:
            with self._database.reading() as db:
                _require_no_population(db)

    def due_at_start(self, entry: CampaignRow) -> Due:
        """What a draft is charged when it is started; raises a BudgetError that says what would fit."""
        collection = foreseen_charge(entry.definition.campaign, entry.definition.measuring)
        population = entry.definition.population
        if population is None:
            return Due(None, collection)
        check_plan(entry.name, collection)
        snapshot = self._ledger.snapshot(population)
        snapshot.check_plan(entry.name, collection)
        return Due(snapshot, collection)

    def charge_start(self, db: Connection, entry: CampaignRow, due: Due) -> bool:
        """Charge a campaign that is started in this transaction; False if what is due is outdated."""
        if due.snapshot is None:
            db.lock_alone()
            _require_no_population(db)
            return True
        return self._ledger.plan_in(
            db, due.snapshot, entry.name, due.collection, _chances(entry.definition), entry.id.hex()
        )

    def due_next(self, entry: CampaignRow, layers: Sequence[LayerRow], opens: Layer | ClosedLayer | None) -> Due:
        """What is due before the next layer is opened, or before a last decision is stored."""
        due = self._due(entry, layers, _coming(entry, opens))
        return self._checked(entry, due, PopulationSnapshot.check_going_on)

    def due_at_release(self, entry: CampaignRow, layers: Sequence[LayerRow]) -> Due:
        """What is due before a campaign is released."""
        return self._checked(entry, self._due(entry, layers, ()), PopulationSnapshot.check_release)

    def charge_next(self, db: Connection, entry: CampaignRow, due: Due, *, told: bool) -> None:
        """Charge what is due, in the transaction that opens a layer or stores a decision."""
        if entry.definition.population is not None:
            charge = _require_charge(db, entry)
            ledger_rows.change_charge(db, charge, ChargeState.COLLECTING, due.collection, told=told)

    def settle(self, db: Connection, entry: CampaignRow, *, told: bool = False) -> None:
        """Charge what a campaign that ends in this transaction has collected, and no more."""
        if entry.definition.population is not None:
            self._settle(db, entry, _require_charge(db, entry), told=told)

    def settle_aborted(self, db: Connection, entry: CampaignRow) -> str:
        """Charge what an aborted campaign has collected, even if it was not charged before; what is to be said of it.

        People can stop a campaign whose population is not in the ledger. What it collected stays in its layers, and is
        charged when the population is added or imported.
        """
        population = entry.definition.population
        if population is None:
            return ""
        charge = _charge_of(db, entry)
        if charge is not None:
            self._settle(db, entry, charge)
            return ""
        if not layer_store.layers_of(db, entry.id):
            return ""  # nobody was invited
        db.lock_alone()  # or the population might be added before others see that the campaign has ended
        if population in ledger_rows.population_names(db):
            self._record(db, entry)
            return ""
        return (
            f"what it collected could not be charged, because this service's ledger has no population {population!r}: "
            "import the ledger that has it with `neologue ledger import`, or add it; it is charged then"
        )

    def add_population(self, name: str, budget: Budget, now: float, by: str) -> None:
        """Give a population a budget; with the first one, every campaign needs one that pays."""
        with self._database.transaction() as db:
            db.lock_alone()
            _require_nobody_unpaid(db)
            self._ledger.add_population_in(db, name, budget)
            log_budget(db, name, budget)
            self._settle_ended(db, name)
            access.audit(db, by, "add population", name, now)

    def set_budget(self, name: str, budget: Budget, now: float, by: str) -> None:
        """Change the budget of a population; those before stay on record."""
        with self._database.transaction() as db:
            self._ledger.set_budget_in(db, name, budget)
            log_budget(db, name, budget)
            access.audit(db, by, f"set budget to ε = {budget.epsilon:g} per {budget.unit}", name, now)

    def abandon(self, campaign: str, now: float, by: str) -> None:
        """Give back the charge of a campaign that was planned elsewhere, and in which nobody was asked."""
        with self._database.transaction() as db:
            _require_elsewhere(db, campaign)
            self._ledger.abandon_in(db, campaign)
            access.audit(db, by, "abandon charge", campaign, now)

    def settle_elsewhere(self, campaign: str, collection: Collection, now: float, by: str) -> None:
        """Charge a campaign that ran elsewhere what it collected, in the place of what was foreseen."""
        with self._database.transaction() as db:
            _require_elsewhere(db, campaign)
            self._ledger.settle_elsewhere_in(db, campaign, collection)
            access.audit(db, by, "settle charge", campaign, now)

    def import_ledger(self, populations: Iterable[PopulationDocument], now: float, by: str) -> list[str]:
        """Import the populations of another ledger, all or none; the names of those that are new."""
        with self._database.transaction() as db:
            db.lock_alone()
            _require_nobody_unpaid(db)
            added = import_populations(db, populations)
            for name in added:
                self._settle_ended(db, name)
                access.audit(db, by, "import population", name, now)
        return added

    def _settle_ended(self, db: Connection, population: str) -> None:
        """Charge a new population what campaigns have collected of it that ended before it was in the ledger."""
        for entry in campaign_store.all_campaigns(db):
            if entry.definition.population != population or entry.state not in OVER:
                continue
            if not layer_store.layers_of(db, entry.id):
                continue  # nobody was invited, and a charge of that name may be somebody else's
            charge = _charge_of(db, entry)
            if charge is not None:
                self._settle(db, entry, charge)
            else:
                self._record(db, entry)

    def _settle(self, db: Connection, entry: CampaignRow, charge: LedgerCharge, *, told: bool = False) -> None:
        if charge.state != ChargeState.SETTLED:
            layers = layer_store.layers_of(db, entry.id)
            told = told or _has_told(layers)
            self._ledger.settle_in(db, charge, collected(entry.definition, layers), told=told)

    def _record(self, db: Connection, entry: CampaignRow) -> None:
        """Charge what a campaign has collected that has ended without ever being charged here."""
        definition, layers = entry.definition, layer_store.layers_of(db, entry.id)
        assert definition.population is not None
        taken = ledger_rows.charge_of(db, entry.name) is not None
        self._ledger.record_in(
            db,
            definition.population,
            _second_name(entry) if taken else entry.name,
            planned=foreseen_charge(definition.campaign, definition.measuring),
            collection=collected(definition, layers),
            anonymity=_chances(definition),
            reference=entry.id.hex(),
            told=_has_told(layers),
        )

    def _due(self, entry: CampaignRow, layers: Sequence[LayerRow], coming: tuple[Batch, ...]) -> Due:
        so_far = collected(entry.definition, layers)
        population = entry.definition.population
        snapshot = None if population is None else self._ledger.snapshot(population)
        return Due(snapshot, replace(so_far, batches=(*so_far.batches, *coming)))

    def _checked(self, entry: CampaignRow, due: Due, check: Check) -> Due:
        if due.snapshot is None:
            return due
        try:
            check(due.snapshot, entry.name, due.collection)
        except BudgetError as error:
            return replace(due, refusal=error)
        return due


def unpaid(db: Connection, entry: CampaignRow) -> str:
    """Why a campaign must not go on, if a population should pay for it and is not charged; else nothing."""
    population = entry.definition.population
    if population is None:
        return ""
    charge = _charge_of(db, entry)
    if charge is None:
        return (
            f"the campaign {entry.name!r} is not charged to the population {population!r} in this service's ledger: "
            "import the ledger that it was charged to with `neologue ledger import`, then start it again; or abort it"
        )
    if charge.state not in (ChargeState.PLANNED, ChargeState.COLLECTING):
        return (
            f"the campaign {entry.name!r} is {charge.state} in this service's ledger, so the population "
            f"{population!r} pays for nothing more of it: abort it"
        )
    return ""


def collected(definition: Definition, layers: Iterable[LayerRow]) -> Collection:
    """The honest reports of a campaign's layers, decided or not.

    A layer without reports is one too: its devices were invited, and what they sent may have been seen.
    """
    parameters = definition.campaign.parameters
    layers = tuple(layers)
    # Where slots are drawn, a layer counts what was planned, whoever came: a ledger tells nothing else.
    batches = tuple(
        Batch(layer.round.layer_size if definition.drawn else layer.round.reports, layer.candidates) for layer in layers
    )
    counted = tuple(batch for batch in batches if batch.reports)
    every = Collection(
        parameters.randomizer,
        definition.campaign.epsilon,
        parameters.words_per_user,
        counted,
        _allocation(definition, layers),
    )
    honest = every.in_sums_of(None, parameters.colluders)
    return replace(honest, batches=(*honest.batches, *(batch for batch in batches if not batch.reports)))


def _allocation(definition: Definition, layers: Sequence[LayerRow]) -> Allocation:
    """All planned layers, unless one of them has counted more than was planned."""
    if not definition.drawn:
        return UNCLAIMED
    planned = PlannedRounds(definition)
    if not all(planned.keeps(layer.round) for layer in layers):
        return UNCLAIMED
    return foreseen_allocation(definition.campaign, definition.measuring, definition.aggregator.exposure)


def _coming(entry: CampaignRow, opens: Layer | ClosedLayer | None) -> tuple[Batch, ...]:
    """What may still be collected: all that was foreseen at first, with the next layer as it really is."""
    if opens is None:
        return ()
    campaign = entry.definition.campaign
    foreseen = foreseen_charge(campaign, entry.definition.measuring).batches
    reports = campaign.parameters.counted_reports(opens.layer_size)
    return (*foreseen, charged_layer(campaign, Batch(reports, opens.randomizer.candidates)))


def _charge_of(db: Connection, entry: CampaignRow) -> LedgerCharge | None:
    """The charge of a campaign; one of somebody else that has the same name is not taken for it.

    Campaigns that were started before there were references have none.
    """
    for name in (entry.name, _second_name(entry)):
        charge = ledger_rows.charge_of(db, name)
        if charge is None or charge.population != entry.definition.population:
            continue
        if charge.reference == entry.id.hex() or (charge.reference is None and entry.state != CampaignState.DRAFT):
            return charge
    return None


def _require_elsewhere(db: Connection, campaign: str) -> None:
    """Refuse to change by hand what a campaign of this service is charged."""
    ours = (entry for entry in campaign_store.all_campaigns(db) if entry.name == campaign)
    if any(_charge_of(db, entry) for entry in ours):
        raise LedgerError(f"the campaign {campaign!r} runs in this service: abort it instead")


def _require_charge(db: Connection, entry: CampaignRow) -> LedgerCharge:
    charge = _charge_of(db, entry)
    if charge is None:
        raise RuntimeError(
            f"the campaign {entry.name!r} goes on without a charge to the population {entry.definition.population!r}"
        )
    return charge


def _second_name(entry: CampaignRow) -> str:
    """What a campaign is charged under if its name is somebody else's in the ledger when it has ended already."""
    return f"{entry.name} {entry.id.hex()}"


def _chances(definition: Definition) -> AnonymityChances:
    return AnonymityChances.of(definition.campaign.anonymity)


def _has_told(layers: Iterable[LayerRow]) -> bool:
    """Whether anything that was decided may have been told."""
    return any(layer.state == LayerState.DECIDED for layer in layers)


def _require_no_population(db: Connection) -> None:
    """Refuse a campaign that is charged to nobody, once there is anybody."""
    names = ledger_rows.population_names(db)
    if names:
        raise CampaignError(
            f"say which population pays (population): this service has {', '.join(names)}", parameter="population"
        )


def _require_nobody_unpaid(db: Connection) -> None:
    """Refuse a population while a campaign that is charged to nobody may be asking its people."""
    unpaid = [
        entry.name
        for entry in campaign_store.all_campaigns(db)
        if entry.definition.population is None and entry.state in (CampaignState.RUNNING, CampaignState.PAUSED)
    ]
    if unpaid:
        raise LedgerError(
            f"the campaign {unpaid[0]!r} is running and charged to nobody: end it before you give anybody a budget "
            "that it would not be counted in"
        )
