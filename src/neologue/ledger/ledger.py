"""The ledger: what each population has spent over its campaigns, and whether the next one may be spent too.

Everyone in a population may have taken part in all its campaigns, so these are composed in sequence; nobody is in two
populations, so each has a budget of its own. A campaign is charged from the moment it is planned. A crash leaves it
charged, until somebody says what became of it: what was spent is never understated.

The rules are the same wherever the rows are: in a file, or in the database of a service. What a charge leads to takes
long to compute, so it is computed on a snapshot, and written only if nothing has changed meanwhile.
"""

from contextlib import AbstractContextManager
from typing import Protocol

from neologue.clock import Clock, system_days
from neologue.errors import BudgetError, LedgerError
from neologue.ledger import ledger_rows
from neologue.ledger.budget import Budget
from neologue.ledger.charge import (
    ChargeState,
    LedgerCharge,
    check_collection,
    check_name,
    check_plan,
)
from neologue.ledger.ledger_rows import LedgerConnection
from neologue.ledger.snapshot import PopulationSnapshot, Spent
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Collection


class LedgerStore(Protocol):
    """Where the rows of a ledger are."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    def transaction(self) -> AbstractContextManager[LedgerConnection]:
        """One transaction: all or nothing."""

    def reading(self) -> AbstractContextManager[LedgerConnection]:
        """One transaction that only reads."""


class Ledger:
    """Populations, budgets and charges, shared by everyone who asks these populations.

    >>> from tempfile import mkdtemp
    >>> from neologue import Batch, Budget, Collection, create_ledger
    >>> ledger = create_ledger(f"{mkdtemp()}/spent.db")
    >>> ledger.add_population("keyboards", Budget("item", epsilon=1.0, delta=1e-9))
    >>> spring = Collection("unary", epsilon=7.0, words_per_user=60, batches=(Batch(200_000, 500_000),) * 5)
    >>> ledger.plan("keyboards", "spring", spring).epsilon <= 1.0
    True
    """

    def __init__(self, store: LedgerStore, clock: Clock = system_days) -> None:
        self._store, self._clock = store, clock

    def add_population(self, name: str, budget: Budget) -> None:
        """Add people, of whom nobody may be in another population of the ledger or take part in uncharged campaigns."""
        with self._store.transaction() as db:
            self.add_population_in(db, name, budget)

    def add_population_in(self, db: LedgerConnection, name: str, budget: Budget) -> None:
        """The same, in the transaction of the caller."""
        check_name("population", name)
        if name in ledger_rows.population_names(db):
            raise LedgerError(
                f"the population {name!r} has a budget already: change it with set_budget, or on the command line "
                "with --change"
            )
        ledger_rows.add_population(db, name)
        ledger_rows.add_budget(db, name, budget, self._clock())

    def set_budget(self, name: str, budget: Budget) -> None:
        """Give a population another budget; the ones before stay on record."""
        with self._store.transaction() as db:
            self.set_budget_in(db, name, budget)

    def set_budget_in(self, db: LedgerConnection, name: str, budget: Budget) -> None:
        """The same, in the transaction of the caller."""
        self._read(db, name)
        ledger_rows.add_budget(db, name, budget, self._clock())

    def plan(
        self, population: str, campaign: str, collection: Collection, anonymity: AnonymityChances | None = None
    ) -> Spent:
        """Charge a campaign that is about to begin, or refuse it with a BudgetError and change nothing."""
        check_plan(campaign, collection)
        while True:
            snapshot = self.snapshot(population)
            if self.charge(campaign) is None:
                snapshot.check_plan(campaign, collection)
            with self._store.transaction() as db:
                if self.plan_in(db, snapshot, campaign, collection, anonymity):
                    break
        return self.snapshot(population).spent

    def plan_in(
        self,
        db: LedgerConnection,
        snapshot: PopulationSnapshot,
        campaign: str,
        collection: Collection,
        anonymity: AnonymityChances | None = None,
        reference: str | None = None,
    ) -> bool:
        """Charge a plan that fits a snapshot, in the transaction of the caller; False if that is outdated."""
        if not ledger_rows.claim(db, snapshot):
            return False
        day = self._clock()
        ledger_rows.add_charge(
            db,
            LedgerCharge(
                campaign,
                snapshot.name,
                ChargeState.PLANNED,
                collection,
                collection,
                day,
                reference=reference,
                anonymity=anonymity,
            ),
        )
        return True

    def settle(self, campaign: str, collection: Collection, *, tells_words: bool = True) -> Spent:
        """Record what a campaign really collected and is about to release, which may be no words at all.

        A BudgetError says that it must not be released. What was collected is recorded in any case, because it
        happened: even of a campaign that was thought abandoned.
        """
        check_collection(collection)
        while True:
            known = self._require_charge(campaign)
            _check_open(known, collection)
            snapshot = self.snapshot(known.population)
            refusal: BudgetError | None = None
            try:
                snapshot.check_release(campaign, collection)
            except BudgetError as error:
                refusal = error
            with self._store.transaction() as db:
                if ledger_rows.claim(db, snapshot):
                    self.settle_in(db, known, collection, told=tells_words and refusal is None)
                    break
        if refusal:
            raise refusal
        return self.snapshot(known.population).spent

    def settle_in(self, db: LedgerConnection, charge: LedgerCharge, collection: Collection, *, told: bool) -> None:
        """Record what a campaign has collected, in the transaction of the caller, whether it fits or not."""
        ended = charge.ended_day if charge.state == ChargeState.SETTLED else self._clock()
        ledger_rows.change_charge(db, charge, ChargeState.SETTLED, collection, ended_day=ended, told=told)

    def settle_elsewhere(self, campaign: str, collection: Collection) -> None:
        """Record what a campaign that ran elsewhere has collected, as its release states."""
        with self._store.transaction() as db:
            self.settle_elsewhere_in(db, campaign, collection)

    def settle_elsewhere_in(self, db: LedgerConnection, campaign: str, collection: Collection) -> None:
        """The same, in the transaction of the caller."""
        check_collection(collection)
        known = self._require(campaign, ledger_rows.charge_of(db, campaign))
        _check_open(known, collection)
        planned, given = ((each.mechanism, each.epsilon, each.words_per_user) for each in (known.planned, collection))
        if planned != given:
            raise LedgerError(
                f"the campaign {campaign!r} was planned with {planned[0]}, ε = {planned[1]:g} and {planned[2]} words a "
                f"user, and the release has {given[0]}, {given[1]:g} and {given[2]}: give the release of this campaign"
            )
        self.settle_in(db, known, collection, told=True)

    def record_in(
        self,
        db: LedgerConnection,
        population: str,
        campaign: str,
        *,
        planned: Collection,
        collection: Collection,
        anonymity: AnonymityChances | None,
        reference: str | None,
        told: bool,
    ) -> None:
        """Record what a campaign has collected that was not charged before, in the transaction of the caller."""
        day = self._clock()
        ledger_rows.add_charge(
            db,
            LedgerCharge(
                campaign,
                population,
                ChargeState.SETTLED,
                planned,
                collection,
                planned_day=day,
                ended_day=day,
                reference=reference,
                anonymity=anonymity,
                told=told,
            ),
        )

    def abandon(self, campaign: str) -> None:
        """Refund the charge of a planned campaign for which nobody was asked or will be asked."""
        with self._store.transaction() as db:
            self.abandon_in(db, campaign)

    def abandon_in(self, db: LedgerConnection, campaign: str) -> None:
        """The same, in the transaction of the caller."""
        known = self._require(campaign, ledger_rows.charge_of(db, campaign))
        if known.state == ChargeState.SETTLED:
            raise LedgerError(
                f"the campaign {campaign!r} is settled: it was collected and stays charged, released or not"
            )
        if known.state == ChargeState.COLLECTING:
            raise LedgerError(
                f"the campaign {campaign!r} has invited devices, whatever they sent: it stays charged; end it in its "
                "service instead"
            )
        if known.state == ChargeState.PLANNED:
            ledger_rows.change_charge(db, known, ChargeState.ABANDONED, known.collection, ended_day=self._clock())

    def snapshot(self, population: str) -> PopulationSnapshot:
        """A population with all its budgets and charges, as it is now."""
        with self._store.reading() as db:
            return self._read(db, population)

    def snapshots(self) -> list[PopulationSnapshot]:
        """All populations, in the order of their names."""
        with self._store.reading() as db:
            return [self._read(db, name) for name in ledger_rows.population_names(db)]

    def charge(self, campaign: str) -> LedgerCharge | None:
        """The charge of a campaign, if it has one."""
        with self._store.reading() as db:
            return ledger_rows.charge_of(db, campaign)

    def populations(self) -> list[str]:
        """The names of all populations, in order."""
        with self._store.reading() as db:
            return ledger_rows.population_names(db)

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    def _read(self, db: LedgerConnection, name: str) -> PopulationSnapshot:
        found = ledger_rows.read_population(db, name)
        if found is None:
            names = ledger_rows.population_names(db)
            raise LedgerError(
                f"{self._store.name} has no population {name!r}; "
                + (
                    f"it has {', '.join(names)}"
                    if names
                    else "it has none yet: add one with `neologue ledger population`"
                ),
                parameter="population",
            )
        return found

    def _require_charge(self, campaign: str) -> LedgerCharge:
        return self._require(campaign, self.charge(campaign))

    def _require(self, campaign: str, charge: LedgerCharge | None) -> LedgerCharge:
        if charge is None:
            raise LedgerError(f"{self._store.name} has no campaign {campaign!r}: plan it first")
        return charge


def _check_open(charge: LedgerCharge, collection: Collection) -> None:
    """Refuse to settle a charge that was settled with something else."""
    if charge.state == ChargeState.SETTLED and charge.collection != collection:
        raise LedgerError(
            f"the campaign {charge.campaign!r} is settled already, with other batches or another ε: what happened "
            "can't be changed, plan another campaign"
        )
