"""The endpoints of the ledger, for operators: populations, their budgets and what was charged to them."""

from typing import Literal

import msgspec

from neologue.ledger.budget import Budget
from neologue.ledger.ledger_document import CollectionDocument, PopulationDocument, population_document
from neologue.service.api.operator_api import Call, Context, Endpoint
from neologue.service.ops.access import OPERATOR


class BudgetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a population may spend over all campaigns."""

    unit: Literal["item", "user"]
    epsilon: float
    delta: float
    local_epsilon: float | None = None

    @property
    def budget(self) -> Budget:
        """The budget, checked."""
        return Budget(self.unit, self.epsilon, self.delta, self.local_epsilon)


class PopulationRequest(BudgetRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new population, and what it may spend."""

    name: str


class LedgerRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ledger to be imported."""

    populations: list[PopulationDocument]


class Imported(msgspec.Struct, frozen=True):
    """The populations that an import has added; those that were there already are not among them."""

    populations: list[str]


def populations(context: Context, call: Call) -> list[PopulationDocument]:
    """All populations, with what they have spent; for operators alone, because charges show how many took part."""
    return [population_document(snapshot) for snapshot in context.ledger.snapshots()]


def add_population(context: Context, call: Call) -> PopulationDocument:
    """Add a population with a budget."""
    wanted: PopulationRequest = call.body
    context.coordinator.charging.add_population(wanted.name, wanted.budget, context.clock(), call.person.name)
    return population_document(context.ledger.snapshot(wanted.name))


def set_budget(context: Context, call: Call) -> PopulationDocument:
    """Change the budget of a population; those before stay on record."""
    wanted: BudgetRequest = call.body
    name = call.names["name"]
    context.coordinator.charging.set_budget(name, wanted.budget, context.clock(), call.person.name)
    return population_document(context.ledger.snapshot(name))


def abandon_charge(context: Context, call: Call) -> list[PopulationDocument]:
    """Give back the charge of an imported campaign in which nobody was asked."""
    context.coordinator.charging.abandon(call.names["campaign"], context.clock(), call.person.name)
    return populations(context, call)


def settle_charge(context: Context, call: Call) -> list[PopulationDocument]:
    """Charge an imported campaign what it really collected."""
    collected: CollectionDocument = call.body
    charging = context.coordinator.charging
    charging.settle_elsewhere(call.names["campaign"], collected.collection, context.clock(), call.person.name)
    return populations(context, call)


def import_ledger(context: Context, call: Call) -> Imported:
    """Import the populations of a ledger file, all or none."""
    wanted: LedgerRequest = call.body
    charging = context.coordinator.charging
    return Imported(charging.import_ledger(wanted.populations, context.clock(), call.person.name))


LEDGER_ENDPOINTS = (
    Endpoint(
        "GET", "/v1/populations", "Populations, budgets and charges", (OPERATOR,), populations, list[PopulationDocument]
    ),
    Endpoint(
        "POST",
        "/v1/populations",
        "Add a population with a budget",
        (OPERATOR,),
        add_population,
        PopulationDocument,
        PopulationRequest,
        status=201,
    ),
    Endpoint(
        "POST",
        "/v1/populations/{name}/budget",
        "Change a budget",
        (OPERATOR,),
        set_budget,
        PopulationDocument,
        BudgetRequest,
    ),
    Endpoint(
        "POST",
        "/v1/charges/{campaign}/abandon",
        "Give back the charge of an imported campaign in which nobody was asked",
        (OPERATOR,),
        abandon_charge,
        list[PopulationDocument],
    ),
    Endpoint(
        "POST",
        "/v1/charges/{campaign}/settle",
        "Charge an imported campaign what it really collected",
        (OPERATOR,),
        settle_charge,
        list[PopulationDocument],
        CollectionDocument,
    ),
    Endpoint(
        "POST",
        "/v1/ledger",
        "Import the populations of a ledger file, all or none",
        (OPERATOR,),
        import_ledger,
        Imported,
        LedgerRequest,
    ),
)
