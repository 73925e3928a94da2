"""The rows of a ledger, in whichever database: every function works in the transaction of its caller.

A population has a version, which grows with every change of its budget or charges. Whoever computed something from a
snapshot claims the population first: that fails if anything has changed meanwhile, and keeps others from changing it
until the transaction ends.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, fields
from typing import Any, Final, Protocol

from neologue.errors import InputError, LedgerError
from neologue.ledger.budget import Budget
from neologue.ledger.charge import ChargeState, LedgerCharge, decode_collection, encode_collection
from neologue.ledger.snapshot import PopulationSnapshot
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Collection

_SELECT = (
    "SELECT campaign, population, state, planned, charged, planned_day, ended_day, reference, told,"
    " k, chance, unique_chance, hostile_devices FROM ledger_charges"
)
_UNKNOWN: Final = (None,) * len(fields(AnonymityChances))
"""The columns of chances that nobody knows."""


class LedgerConnection(Protocol):
    """A transaction of a database, of which one statement is enough."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Iterable[Any]:
        """Run one statement with `?` for parameters; the rows that it gives."""


def population_names(db: LedgerConnection) -> list[str]:
    """The names of all populations, in order."""
    return [name for (name,) in db.execute("SELECT name FROM ledger_populations ORDER BY name")]


def read_population(db: LedgerConnection, name: str) -> PopulationSnapshot | None:
    """A population as it is now, if there is one of that name."""
    versions = list(db.execute("SELECT version FROM ledger_populations WHERE name = ?", (name,)))
    if not versions:
        return None
    budgets = db.execute(
        "SELECT day, unit, epsilon, delta, local_epsilon FROM ledger_budgets WHERE population = ? ORDER BY number",
        (name,),
    )
    return PopulationSnapshot(
        name,
        versions[0][0],
        tuple((day, Budget(*budget)) for day, *budget in budgets),
        tuple(_charges(db, "population = ? ORDER BY number", name)),
    )


def charge_of(db: LedgerConnection, campaign: str) -> LedgerCharge | None:
    """The charge of a campaign, if it has one."""
    return next(_charges(db, "campaign = ?", campaign), None)


def claim(db: LedgerConnection, snapshot: PopulationSnapshot) -> bool:
    """Keep a population as it is in a snapshot until the transaction ends; False if it has changed already."""
    claimed = db.execute(
        "UPDATE ledger_populations SET version = version + 1 WHERE name = ? AND version = ? RETURNING 1",
        (snapshot.name, snapshot.version),
    )
    return bool(list(claimed))


def touch(db: LedgerConnection, population: str) -> None:
    """Let no snapshot of a population be claimed any more: what is about to change needs none."""
    db.execute("UPDATE ledger_populations SET version = version + 1 WHERE name = ?", (population,))


def add_population(db: LedgerConnection, name: str) -> None:
    """Add a population, which has no budget yet."""
    db.execute("INSERT INTO ledger_populations (name, version) VALUES (?, 0)", (name,))


def add_budget(db: LedgerConnection, population: str, budget: Budget, day: int) -> None:
    """Give a population a budget; those before stay on record."""
    touch(db, population)
    db.execute(
        "INSERT INTO ledger_budgets (population, unit, epsilon, delta, local_epsilon, day) VALUES (?, ?, ?, ?, ?, ?)",
        (population, budget.unit, budget.epsilon, budget.delta, budget.local_epsilon, day),
    )


def add_charge(db: LedgerConnection, charge: LedgerCharge) -> None:
    """Add a charge; a campaign has only one."""
    known = charge_of(db, charge.campaign)
    if known is not None:
        remedy = ", or abandon that one if nothing of it was collected" if known.state == ChargeState.PLANNED else ""
        raise LedgerError(
            f"the campaign {charge.campaign!r} is {known.state} already, for the population {known.population!r}: "
            f"give this one a name of its own{remedy}"
        )
    touch(db, charge.population)
    rare = charge.anonymity
    db.execute(
        "INSERT INTO ledger_charges (campaign, population, state, planned, charged, planned_day, ended_day, reference,"
        " told, k, chance, unique_chance, hostile_devices) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            charge.campaign,
            charge.population,
            charge.state,
            encode_collection(charge.planned),
            encode_collection(charge.collection),
            charge.planned_day,
            charge.ended_day,
            charge.reference,
            int(charge.told),
            *(_UNKNOWN if rare is None else astuple(rare)),
        ),
    )


def change_charge(
    db: LedgerConnection,
    charge: LedgerCharge,
    state: ChargeState,
    collection: Collection,
    *,
    ended_day: int | None = None,
    told: bool = False,
) -> None:
    """Give a charge another state and other facts; what was told once stays told."""
    touch(db, charge.population)
    db.execute(
        "UPDATE ledger_charges SET state = ?, charged = ?, ended_day = ?, told = ? WHERE campaign = ?",
        (state, encode_collection(collection), ended_day, int(told or charge.told), charge.campaign),
    )


def _charges(db: LedgerConnection, which: str, value: str) -> Iterator[LedgerCharge]:
    for campaign, population, state, planned, charged, planned_day, ended_day, reference, told, *rare in db.execute(
        f"{_SELECT} WHERE {which}", (value,)
    ):
        try:
            yield LedgerCharge(
                campaign=campaign,
                population=population,
                state=ChargeState(state),
                planned=decode_collection(planned),
                collection=decode_collection(charged),
                planned_day=planned_day,
                ended_day=ended_day,
                reference=reference,
                anonymity=None if tuple(rare) == _UNKNOWN else AnonymityChances(*rare),
                told=bool(told),
            )
        except (ValueError, TypeError, KeyError, InputError) as error:
            raise LedgerError(
                "a charge in the ledger is damaged, so it is unknown what was spent: restore it from a copy"
            ) from error
