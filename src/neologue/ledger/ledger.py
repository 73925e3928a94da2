"""The ledger: what each population has spent over its campaigns, and whether the next one may be spent too.

Everyone in a population may have taken part in all its campaigns, so these are composed in sequence; nobody is in two
populations, so each has a budget of its own. A campaign is charged from the moment it is planned. A crash leaves it
charged, until somebody says what became of it: what was spent is never understated.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from neologue.clock import Clock, system_days
from neologue.errors import BudgetError, InputError, LedgerError, ParameterError
from neologue.ledger.budget import Budget
from neologue.ledger.composition import composed_epsilon, fits, happened, largest_fitting, local_sum
from neologue.ledger.ledger_file import create_ledger_file, open_ledger_file
from neologue.privacy.collection import Batch, Collection
from neologue.randomizers.registry import RANDOMIZERS
from neologue.randomizers.thresholds import check_epsilon

PATIENCE = 60.0
"""Seconds to wait for another process that has the ledger."""


class ChargeState(StrEnum):
    """The state of a campaign in the ledger: planned → settled or abandoned; an abandoned one may still be settled."""

    PLANNED = "planned"
    """Charged with what it may collect."""
    SETTLED = "settled"
    """Charged with what it collected."""
    ABANDONED = "abandoned"
    """Not charged: nothing was collected."""


@dataclass(frozen=True)
class LedgerEntry:
    """One campaign of a population."""

    campaign: str
    population: str
    state: ChargeState
    collection: Collection
    """What happened, if it is settled; what was planned, if not."""
    planned_day: int
    """Days since 1970-01-01."""
    ended_day: int | None
    reference: str | None = None
    """What whoever planned it knows it by, and nobody else."""

    @property
    def charged(self) -> bool:
        """Whether it counts as spent."""
        return self.state != ChargeState.ABANDONED

    def is_plan(self, population: str, collection: Collection, reference: str) -> bool:
        """Whether it is on record as just this plan."""
        planned = (self.population, self.state, self.collection, self.reference)
        return planned == (population, ChargeState.PLANNED, collection, reference)


@dataclass(frozen=True)
class Spent:
    """What a population has spent, and what its budget is."""

    population: str
    budget: Budget
    epsilon: float
    """The central ε of all campaigns charged, composed, at the budget's δ and for its unit."""
    local_epsilon: Decimal
    """The local ε of a word, added up."""
    planned: int
    settled: int

    @property
    def left(self) -> float:
        """The budget's ε less what is spent; a next campaign may cost more than that alone, and still fit."""
        return max(0.0, self.budget.epsilon - self.epsilon)

    @property
    def within_budget(self) -> bool:
        """Whether the population has spent no more than it may."""
        return self.budget.allows(self.epsilon, self.local_epsilon)


class Ledger:
    """A file of populations, budgets and campaigns, shared by everyone who asks these populations."""

    def __init__(self, path: Path | str, clock: Clock = system_days, patience: float = PATIENCE) -> None:
        self._file = open_ledger_file(path, patience)
        self._clock = clock

    @classmethod
    def create(cls, path: Path | str, clock: Clock = system_days, patience: float = PATIENCE) -> "Ledger":
        """A new ledger, with no population yet."""
        create_ledger_file(path, patience)
        return cls(path, clock, patience)

    def add_population(self, name: str, budget: Budget) -> None:
        """Declare people of whom none is in any other population of this ledger, nor asked outside of it."""
        _require_name("population", name)
        with self._file.transaction() as db:
            if name in _populations(db):
                raise LedgerError(
                    f"the population {name!r} has a budget already: change it with set_budget, or on the command line "
                    "with --change"
                )
            db.execute("INSERT INTO populations VALUES (?)", (name,))
            self._record(db, name, budget)

    def set_budget(self, name: str, budget: Budget) -> None:
        """Give a population another budget; the ones before stay on record."""
        with self._file.transaction() as db:
            self._require_population(db, name)
            self._record(db, name, budget)

    def plan(self, population: str, campaign: str, collection: Collection, reference: str | None = None) -> Spent:
        """Charge a campaign that is about to begin, or refuse it with a BudgetError and change nothing.

        Whoever gives a `reference` may ask for the same once more, if it can't tell whether it was done.
        """
        _require_name("campaign", campaign)
        _require_facts(collection)
        if not happened(collection):
            raise ParameterError(f"the campaign {campaign!r} plans no reports: give batches of 1 report at least")
        with self._file.transaction() as db:
            self._require_population(db, population)
            known = self._entry(db, campaign)
            again = known is not None and reference is not None and known.is_plan(population, collection, reference)
            if known is not None and not again:
                raise LedgerError(
                    f"the campaign {campaign!r} is {known.state} already, for the population {known.population!r}: "
                    "give this one a name of its own"
                    + (
                        ""
                        if known.state != ChargeState.PLANNED
                        else ", or abandon that one if nothing of it was collected"
                    )
                )
            budget, charged = _budget(db, population), self._charged(db, population)
            allowed = again or fits([*charged, collection], budget)
            if allowed and not again:
                db.execute(
                    "INSERT INTO campaigns VALUES (?, ?, 'planned', ?, NULL, ?, NULL, ?)",
                    (campaign, population, _to_json(collection), self._clock(), reference),
                )
        # What would fit takes a while, and nobody should have to wait for it.
        if not allowed:
            raise _refusal(population, campaign, budget, charged, collection)
        return self.spent(population)

    def settle(self, campaign: str, collection: Collection) -> Spent:
        """Record what a campaign really collected; a BudgetError then says that it must not be released.

        It is recorded in any case, because it happened: even of a campaign that was thought abandoned.
        """
        _require_facts(collection)
        with self._file.transaction() as db:
            known = self._require_entry(db, campaign)
            if known.state == ChargeState.SETTLED and known.collection != collection:
                raise LedgerError(
                    f"the campaign {campaign!r} is settled already, with other batches or another ε: what happened "
                    "can't be changed, plan another campaign"
                )
            if known.state != ChargeState.SETTLED:
                db.execute(
                    "UPDATE campaigns SET state = 'settled', settled = ?, ended_day = ? WHERE campaign = ?",
                    (_to_json(collection), self._clock(), campaign),
                )
        return self.check_release(campaign)

    def check_release(self, campaign: str) -> Spent:
        """What is spent, if a campaign may be released; otherwise an error that says why not."""
        with self._file.transaction() as db:
            known = self._require_entry(db, campaign)
        if known.state != ChargeState.SETTLED:
            raise LedgerError(
                f"the campaign {campaign!r} is {known.state}, not settled: settle it with what was collected first"
            )
        spent = self.spent(known.population)
        if not spent.within_budget:
            raise BudgetError(
                f"the campaign {campaign!r} must not be released: {_over(spent, 'has spent')}. "
                "What was collected stays on record"
            )
        return spent

    def abandon(self, campaign: str) -> None:
        """Give back what a planned campaign was charged: nothing of it was collected or published, nor will be."""
        with self._file.transaction() as db:
            known = self._require_entry(db, campaign)
            if known.state == ChargeState.SETTLED:
                raise LedgerError(
                    f"the campaign {campaign!r} is settled: it was collected and stays charged, released or not"
                )
            db.execute(
                "UPDATE campaigns SET state = 'abandoned', ended_day = ? WHERE campaign = ? AND state = 'planned'",
                (self._clock(), campaign),
            )

    def spent(self, population: str) -> Spent:
        """What a population has spent."""
        with self._file.transaction() as db:
            self._require_population(db, population)
            budget, entries = _budget(db, population), list(self._entries(db, population))
        charged = [entry.collection for entry in entries if entry.charged]
        states = [entry.state for entry in entries]
        return Spent(
            population,
            budget,
            composed_epsilon(charged, budget.delta, budget.unit),
            local_sum(charged),
            states.count(ChargeState.PLANNED),
            states.count(ChargeState.SETTLED),
        )

    def populations(self) -> list[str]:
        """The names of all populations, in order."""
        with self._file.transaction() as db:
            return _populations(db)

    def entries(self, population: str) -> list[LedgerEntry]:
        """All campaigns of a population, in the order of their planning."""
        with self._file.transaction() as db:
            self._require_population(db, population)
            return list(self._entries(db, population))

    def budgets(self, population: str) -> list[tuple[int, Budget]]:
        """All budgets that a population has had, and the day from which on; the last one counts."""
        with self._file.transaction() as db:
            self._require_population(db, population)
            return list(_budgets(db, population))

    def __repr__(self) -> str:
        return f"Ledger({self._file.path!r})"

    def _record(self, db: sqlite3.Connection, name: str, budget: Budget) -> None:
        db.execute(
            "INSERT INTO budgets (population, unit, epsilon, delta, local_epsilon, day) VALUES (?, ?, ?, ?, ?, ?)",
            (name, budget.unit, budget.epsilon, budget.delta, budget.local_epsilon, self._clock()),
        )

    def _require_population(self, db: sqlite3.Connection, name: str) -> None:
        names = _populations(db)
        if name not in names:
            raise LedgerError(
                f"the ledger {self._file.path} has no population {name!r}; "
                + (
                    f"it has {', '.join(names)}"
                    if names
                    else "it has none yet: add one with `neologue ledger population`"
                )
            )

    def _require_entry(self, db: sqlite3.Connection, campaign: str) -> LedgerEntry:
        entry = self._entry(db, campaign)
        if entry is None:
            raise LedgerError(f"the ledger {self._file.path} has no campaign {campaign!r}: plan it first")
        return entry

    def _entry(self, db: sqlite3.Connection, campaign: str) -> LedgerEntry | None:
        return next(self._read(db, "campaign = ?", campaign), None)

    def _entries(self, db: sqlite3.Connection, population: str) -> Iterator[LedgerEntry]:
        return self._read(db, "population = ?", population)

    def _charged(self, db: sqlite3.Connection, population: str) -> list[Collection]:
        return [entry.collection for entry in self._entries(db, population) if entry.charged]

    def _read(self, db: sqlite3.Connection, which: str, value: str) -> Iterator[LedgerEntry]:
        rows = db.execute(
            "SELECT campaign, population, state, coalesce(settled, planned), planned_day, ended_day, reference"
            f" FROM campaigns WHERE {which} ORDER BY rowid",
            (value,),
        )
        for campaign, population, state, facts, *rest in rows:
            try:
                charge_state, collection = ChargeState(state), _from_json(facts)
            except (ValueError, TypeError, KeyError, InputError) as error:
                raise self._file.damaged() from error
            yield LedgerEntry(campaign, population, charge_state, collection, *rest)


def _refusal(
    population: str, campaign: str, budget: Budget, charged: Sequence[Collection], collection: Collection
) -> BudgetError:
    """Why a campaign is refused, and what would fit."""

    def spent_by(collections: Sequence[Collection]) -> Spent:
        spent = composed_epsilon(collections, budget.delta, budget.unit)
        return Spent(population, budget, spent, local_sum(collections), 0, 0)

    before, after = spent_by(charged), spent_by([*charged, collection])
    fitting = largest_fitting(charged, collection, budget)
    remedy = (
        "no local ε would fit with these batches: ask another population, or more users in each batch"
        if fitting is None
        else f"with these batches, a local ε of {fitting:g} would fit"
    )
    return BudgetError(
        f"the campaign {campaign!r} with local ε = {collection.epsilon:g} does not fit: "
        f"{_over(after, 'would have spent')}; "
        f"ε = {before.epsilon:g} and local ε = {before.local_epsilon} are spent by {len(charged)} "
        f"{'campaign' if len(charged) == 1 else 'campaigns'} before; {remedy}",
        fitting,
    )


def _over(spent: Spent, verb: str) -> str:
    """What of a population's spending is over its budget."""
    budget = spent.budget
    over = []
    if spent.epsilon > budget.epsilon:
        over.append(
            f"ε = {spent.epsilon:g} for every {budget.unit} at δ = {budget.delta:g}, of a budget of {budget.epsilon:g}"
        )
    if not budget.allows_locally(spent.local_epsilon):
        over.append(f"local ε = {spent.local_epsilon} for every word, of a budget of {budget.local_epsilon:g}")
    return f"the population {spent.population!r} {verb} {' and '.join(over)}"


def _populations(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM populations ORDER BY name")]


def _budgets(db: sqlite3.Connection, population: str) -> Iterator[tuple[int, Budget]]:
    rows = db.execute(
        "SELECT day, unit, epsilon, delta, local_epsilon FROM budgets WHERE population = ? ORDER BY number",
        (population,),
    )
    return ((day, Budget(*budget)) for day, *budget in rows)


def _budget(db: sqlite3.Connection, population: str) -> Budget:
    *_, (_, last) = _budgets(db, population)
    return last


def _to_json(collection: Collection) -> str:
    """A collection as JSON."""
    return json.dumps(
        {
            "mechanism": collection.mechanism,
            "epsilon": collection.epsilon,
            "words_per_user": collection.words_per_user,
            "cohorts": [{"reports": batch.reports, "candidates": batch.candidates} for batch in collection.batches],
        }
    )


def _from_json(text: str) -> Collection:
    facts = json.loads(text)
    batches = tuple(Batch(batch["reports"], batch["candidates"]) for batch in facts["cohorts"])
    collection = Collection(facts["mechanism"], facts["epsilon"], facts["words_per_user"], batches)
    _require_facts(collection)
    return collection


def _require_facts(collection: Collection) -> None:
    """Refuse facts that no collection can have."""
    if collection.mechanism not in RANDOMIZERS:
        raise ParameterError(f"no randomizer is called {collection.mechanism!r}; there are {', '.join(RANDOMIZERS)}")
    check_epsilon(collection.epsilon)
    for what, least, numbers in (
        ("words per user", 1, [collection.words_per_user]),
        ("reports of a batch", 0, [batch.reports for batch in collection.batches]),
        ("candidates of a batch", 1, [batch.candidates for batch in collection.batches]),
    ):
        for number in numbers:
            if not isinstance(number, int) or number < least:
                raise ParameterError(f"the {what} must be a whole number from {least} up, not {number!r}")


def _require_name(what: str, name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise ParameterError(f"a {what} needs a name of printable characters, not {name!r}")
