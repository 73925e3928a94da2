"""A ledger as a document: what people and programs read of it, and what another ledger imports."""

from collections.abc import Iterable
from datetime import date

import msgspec

from neologue.clock import iso_date
from neologue.errors import LedgerError
from neologue.ledger import ledger_rows
from neologue.ledger.budget import Budget
from neologue.ledger.charge import ChargeState, LedgerCharge, check_collection, check_name
from neologue.ledger.ledger_rows import LedgerConnection
from neologue.ledger.rare_words import RareWords
from neologue.ledger.snapshot import PopulationSnapshot
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation, PlannedLayer
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection


class BatchDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A layer: how many reports came, or may come, and on how many candidates."""

    reports: int
    candidates: int


class PlannedLayerDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A layer that was planned: its share of the slots, and the reports that it counts."""

    share: float
    reports: int
    words: int | None = None
    """How many words a user contributes at most, if fewer than elsewhere."""


class CollectionDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The facts that the cost of a campaign follows from."""

    mechanism: str
    epsilon: float
    words_per_user: int
    cohorts: list[BatchDocument]
    planned_layers: list[PlannedLayerDocument] = []
    """Empty if it may be known in which layer a user was."""
    overflow: float | None = None
    """The chance that planned numbers are exceeded; null if there are none."""

    @property
    def collection(self) -> Collection:
        """The facts, checked."""
        return _read_collection(self)


class ChargeDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a campaign is charged, and the chances that it shows what few report, null if nobody knows them."""

    campaign: str
    state: ChargeState
    mechanism: str
    epsilon: float
    words_per_user: int
    cohorts: list[BatchDocument]
    planned: CollectionDocument
    planned_on: str
    ended_on: str | None
    reference: str | None
    k: int | None
    chance: float | None
    unique_chance: float | None
    hostile_devices: int | None
    told: bool
    planned_layers: list[PlannedLayerDocument] = []
    overflow: float | None = None


class BudgetDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A budget, and the day from which on it counts."""

    from_: str = msgspec.field(name="from")
    unit: str
    epsilon: float
    delta: float
    local_epsilon: float | None


class PopulationDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a population may spend and has spent. An import reads `population`, `campaigns` and `budgets`."""

    population: str
    unit: str
    delta: float
    budget: float
    spent: float
    left: float
    within_budget: bool
    local_budget: float | None
    local_spent: float
    rare_words: RareWords | None
    campaigns: list[ChargeDocument]
    budgets: list[BudgetDocument]


def population_document(snapshot: PopulationSnapshot) -> PopulationDocument:
    """A population as a document."""
    spent = snapshot.spent
    return PopulationDocument(
        population=snapshot.name,
        unit=spent.budget.unit,
        delta=spent.budget.delta,
        budget=spent.budget.epsilon,
        spent=spent.epsilon,
        left=spent.left,
        within_budget=spent.within_budget,
        local_budget=spent.budget.local_epsilon,
        local_spent=float(spent.local_epsilon),
        rare_words=snapshot.rare_words,
        campaigns=[_charge_document(charge) for charge in snapshot.charges],
        budgets=[
            BudgetDocument(iso_date(day), budget.unit, budget.epsilon, budget.delta, budget.local_epsilon)
            for day, budget in snapshot.budgets
        ],
    )


def import_populations(db: LedgerConnection, documents: Iterable[PopulationDocument]) -> list[str]:
    """Add populations with their budgets and charges, in the transaction of the caller; the names of those added.

    One that is there already with the same budgets and charges, or more of both, is left as it is. A LedgerError says
    what collides, or would be understated: the caller's transaction is then undone as a whole.
    """
    added = []
    for document in documents:
        given = _read_document(document)
        known = ledger_rows.read_population(db, given.name)
        if known is not None:
            _require_contained(given, known)
            continue
        ledger_rows.add_population(db, given.name)
        for day, budget in given.budgets:
            ledger_rows.add_budget(db, given.name, budget, day)
        for charge in given.charges:
            ledger_rows.add_charge(db, charge)
        added.append(given.name)
    return added


def _require_contained(given: PopulationSnapshot, known: PopulationSnapshot) -> None:
    """Raise a LedgerError unless a population has all budgets and charges that are to be imported."""
    ours = {_identity(charge): charge for charge in known.charges}
    if known.budgets[: len(given.budgets)] != given.budgets or not ours.keys() >= set(map(_identity, given.charges)):
        raise LedgerError(
            f"the population {given.name!r} is there already, with other budgets or charges: nothing was imported; "
            "only populations that are new, or were imported before, can be"
        )
    for charge in given.charges:
        _require_known(charge, ours[_identity(charge)])


def _require_known(given: LedgerCharge, known: LedgerCharge) -> None:
    """Raise a LedgerError if a charge to be imported knows of more that has happened than the one that is there."""
    nobody_asked = known.state in (ChargeState.PLANNED, ChargeState.ABANDONED)
    settled = given.state == ChargeState.SETTLED
    if (settled and known.state != ChargeState.SETTLED) or (given.state == ChargeState.COLLECTING and nobody_asked):
        differs = f"is {given.state} in the ledger to be imported, and {known.state} in this one"
    elif settled and given.collection != known.collection:
        differs = "is settled in both ledgers, with other batches or another ε"
    elif given.told and not known.told:
        differs = "has told something according to the ledger to be imported, and nothing according to this one"
    else:
        return
    raise LedgerError(
        f"the campaign {given.campaign!r} {differs}: nothing was imported, and this ledger does not know all that was "
        f"spent. Lower the budget of {given.population!r} in it by what the campaign cost, with `neologue ledger "
        "population … --change`, count its chances for rare words by hand, and charge this ledger alone from now on"
    )


def _identity(charge: LedgerCharge) -> tuple[str, Collection, int, str | None, AnonymityChances | None]:
    """What stays the same of a charge, whatever becomes of its campaign."""
    return charge.campaign, charge.planned, charge.planned_day, charge.reference, charge.anonymity


def collection_document(collection: Collection) -> CollectionDocument:
    """The facts as a document."""
    return CollectionDocument(
        collection.mechanism,
        collection.epsilon,
        collection.words_per_user,
        _batch_documents(collection),
        _planned_documents(collection),
        collection.allocation.overflow or None,
    )


def _charge_document(charge: LedgerCharge) -> ChargeDocument:
    facts, rare = charge.collection, charge.anonymity
    return ChargeDocument(
        campaign=charge.campaign,
        state=charge.state,
        mechanism=facts.mechanism,
        epsilon=facts.epsilon,
        words_per_user=facts.words_per_user,
        cohorts=_batch_documents(facts),
        planned=collection_document(charge.planned),
        planned_on=iso_date(charge.planned_day),
        ended_on=None if charge.ended_day is None else iso_date(charge.ended_day),
        reference=charge.reference,
        k=None if rare is None else rare.k,
        chance=None if rare is None else rare.chance,
        unique_chance=None if rare is None else rare.unique_chance,
        hostile_devices=None if rare is None else rare.hostile_devices,
        told=charge.told,
        planned_layers=_planned_documents(facts),
        overflow=facts.allocation.overflow or None,
    )


def _planned_documents(collection: Collection) -> list[PlannedLayerDocument]:
    return [PlannedLayerDocument(layer.share, layer.reports, layer.words) for layer in collection.allocation.layers]


def _batch_documents(collection: Collection) -> list[BatchDocument]:
    return [BatchDocument(batch.reports, batch.candidates) for batch in collection.batches]


def _read_document(document: PopulationDocument) -> PopulationSnapshot:
    check_name("population", document.population)
    if not document.budgets:
        raise LedgerError(f"the population {document.population!r} has no budget: import a whole ledger")
    return PopulationSnapshot(
        document.population,
        0,
        tuple(
            (_read_day(each.from_), Budget(each.unit, each.epsilon, each.delta, each.local_epsilon))
            for each in document.budgets
        ),
        tuple(_read_charge(document.population, each) for each in document.campaigns),
    )


def _read_charge(population: str, given: ChargeDocument) -> LedgerCharge:
    check_name("campaign", given.campaign)
    ended = given.state in (ChargeState.SETTLED, ChargeState.ABANDONED)
    if ended != (given.ended_on is not None):
        raise LedgerError(f"the campaign {given.campaign!r} is {given.state}, which its day of ending contradicts")
    facts = CollectionDocument(
        given.mechanism, given.epsilon, given.words_per_user, given.cohorts, given.planned_layers, given.overflow
    )
    return LedgerCharge(
        given.campaign,
        population,
        given.state,
        planned=_read_collection(given.planned),
        collection=_read_collection(facts),
        planned_day=_read_day(given.planned_on),
        ended_day=None if given.ended_on is None else _read_day(given.ended_on),
        reference=given.reference,
        anonymity=_read_chances(given),
        told=given.told,
    )


def _read_chances(given: ChargeDocument) -> AnonymityChances | None:
    k, chance, unique_chance, hostile = given.k, given.chance, given.unique_chance, given.hostile_devices
    if k is None and chance is None and unique_chance is None and hostile is None:
        return None
    if k is None or chance is None or unique_chance is None or hostile is None:
        raise LedgerError(
            f"the campaign {given.campaign!r} has some of k, chance, unique_chance and hostile_devices: give all of "
            "them, or null for each"
        )
    return AnonymityChances(k, chance, unique_chance, hostile)


def _read_collection(given: CollectionDocument) -> Collection:
    batches = tuple(Batch(batch.reports, batch.candidates) for batch in given.cohorts)
    allocation = UNCLAIMED
    if given.planned_layers:
        layers = tuple(PlannedLayer(layer.share, layer.reports, layer.words) for layer in given.planned_layers)
        allocation = Allocation(layers, given.overflow or 0.0)
    collection = Collection(given.mechanism, given.epsilon, given.words_per_user, batches, allocation)
    check_collection(collection)
    return collection


def _read_day(text: str) -> int:
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError as error:
        raise LedgerError(f"{text[:40]!r} is no day: give one like 2026-11-17") from error
