"""A population's budget and charges at one moment, and what follows from them: pure rules, without a database."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from neologue.errors import BudgetError
from neologue.ledger.budget import Budget
from neologue.ledger.charge import ChargeState, LedgerCharge
from neologue.ledger.composition import composed_epsilon, fits, largest_fitting, local_sum
from neologue.ledger.rare_words import RareWords
from neologue.privacy.collection import Collection


@dataclass(frozen=True)
class Spent:
    """What a population has spent, and what its budget is."""

    population: str
    budget: Budget
    epsilon: float
    """The central ε of all campaigns charged, composed, at the budget's δ and for its unit."""
    local_epsilon: Decimal
    """The local ε of a word, added up."""
    open: int
    """How many campaigns are charged for what they may still collect."""
    settled: int

    @property
    def left(self) -> float:
        """The budget's ε less what is spent; a next campaign may cost more than that alone, and still fit."""
        return max(0.0, self.budget.epsilon - self.epsilon)

    @property
    def within_budget(self) -> bool:
        """Whether the population has spent no more than it may."""
        return self.budget.allows(self.epsilon, self.local_epsilon)


@dataclass(frozen=True)
class PopulationSnapshot:
    """One population of a ledger as it was when its version was this."""

    name: str
    version: int
    budgets: tuple[tuple[int, Budget], ...]
    """All budgets that it has had, and the day from which on; the last one counts."""
    charges: tuple[LedgerCharge, ...]
    """In the order of their planning."""

    @property
    def budget(self) -> Budget:
        """The budget that counts."""
        return self.budgets[-1][1]

    @cached_property
    def spent(self) -> Spent:
        """What the population has spent."""
        states = [charge.state for charge in self.charges]
        return self._spent(
            self.charged(),
            states.count(ChargeState.PLANNED) + states.count(ChargeState.COLLECTING),
            states.count(ChargeState.SETTLED),
        )

    @property
    def rare_words(self) -> RareWords | None:
        """The promises for rare words over all campaigns that told anything; None if none did."""
        return RareWords.over([charge.anonymity for charge in self.charges if charge.told])

    def charge(self, campaign: str) -> LedgerCharge | None:
        """The charge of a campaign, if it has one here."""
        return next((charge for charge in self.charges if charge.campaign == campaign), None)

    def charged(self, without: str | None = None) -> list[Collection]:
        """What is charged, except for one campaign."""
        return [charge.collection for charge in self.charges if charge.charged and charge.campaign != without]

    def check_plan(self, campaign: str, collection: Collection) -> None:
        """Raise a BudgetError that says what would fit, unless a new campaign may be charged so much."""
        before = self.charged(without=campaign)
        if fits([*before, collection], self.budget):
            return
        spent, after = self._spent(before), self._spent([*before, collection])
        fitting = largest_fitting(before, collection, self.budget)
        remedy = (
            "no local ε would fit with these batches: ask another population, or more users in each batch"
            if fitting is None
            else f"with these batches, a local ε of {fitting:g} would fit"
        )
        raise BudgetError(
            f"the campaign {campaign!r} with local ε = {collection.epsilon:g} does not fit: "
            f"{_over(after, 'would have spent')}; "
            f"ε = {spent.epsilon:g} and local ε = {spent.local_epsilon} are spent by {len(before)} "
            f"{'campaign' if len(before) == 1 else 'campaigns'} before; {remedy}",
            fitting,
        )

    def check_going_on(self, campaign: str, collection: Collection) -> None:
        """Raise a BudgetError unless a campaign that is charged already may go on to spend so much in all."""
        all_charged = [*self.charged(without=campaign), collection]
        if not fits(all_charged, self.budget):
            over = _over(self._spent(all_charged), "would have spent")
            raise BudgetError(
                f"the campaign {campaign!r} ends here, and nothing more of it is told: with what was really collected "
                f"and what may still come, {over}. What was collected stays on record"
            )

    def check_release(self, campaign: str, collection: Collection) -> None:
        """Raise a BudgetError unless a campaign that collected this may be released."""
        all_charged = [*self.charged(without=campaign), collection]
        if not fits(all_charged, self.budget):
            over = _over(self._spent(all_charged), "has spent")
            raise BudgetError(
                f"the campaign {campaign!r} must not be released: {over}. What was collected stays on record"
            )

    def _spent(self, collections: Sequence[Collection], open_: int = 0, settled: int = 0) -> Spent:
        epsilon = composed_epsilon(collections, self.budget.delta, self.budget.unit)
        return Spent(self.name, self.budget, epsilon, local_sum(collections), open_, settled)


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
