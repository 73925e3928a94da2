"""`neologue ledger`: privacy budgets of populations, and what they have spent."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.clock import SECONDS_PER_DAY

if TYPE_CHECKING:
    from neologue.ledger.ledger import Ledger, Spent

FILE = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def ledger() -> None:
    """Track the privacy budgets of populations.

    A ledger is a file. It composes the ε of all campaigns of a population, and refuses the next campaign, or its
    release, when the budget does not allow it. docs/ledger.md lists what you must ensure yourself.
    """


@ledger.command()
@FILE
def create(file: Path) -> None:
    """Create a ledger."""
    from neologue.ledger.ledger import Ledger

    Ledger.create(file)
    click.echo(f"created {file}; give it populations with `neologue ledger population {file} NAME …`", err=True)


@ledger.command()
@FILE
@click.argument("name")
@click.option(
    "--unit", type=click.Choice(["item", "user"]), required=True, help="Protect one word, or all words of a user."
)
@click.option("--epsilon", type=float, required=True, help="The most central ε of all campaigns together.")
@click.option("--delta", type=float, required=True, help="The δ of all campaigns together.")
@click.option(
    "--local-epsilon", type=float, help="The most local ε of a word, summed over campaigns  [default: unlimited]"
)
@click.option("--change", is_flag=True, help="Change an existing budget.")
def population(
    file: Path, name: str, unit: str, epsilon: float, delta: float, local_epsilon: float | None, change: bool
) -> None:
    """Set the budget of a population.

    Nobody may be in two populations of a ledger, or take part in campaigns that are not charged to it.
    """
    from neologue.ledger.budget import Budget
    from neologue.ledger.ledger import Ledger

    budget, book = Budget(unit, epsilon, delta, local_epsilon), Ledger(file)
    if not change:
        book.add_population(name, budget)
        return
    *_, (day, before) = book.budgets(name)
    book.set_budget(name, budget)
    click.echo(
        f"changed the budget of {name}, set on {_format_day(day)}: ε = {before.epsilon:g} for every {before.unit} at "
        f"δ = {before.delta:g} is now ε = {epsilon:g} for every {unit} at δ = {delta:g}",
        err=True,
    )


@ledger.command()
@FILE
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of a table.")
def show(file: Path, as_json: bool) -> None:
    """Show what each population has spent, and what is left."""
    from neologue.cli.terminal import show_table
    from neologue.ledger.ledger import Ledger

    book = Ledger(file)
    populations = [book.spent(name) for name in book.populations()]
    if as_json:
        document = [_as_json(book, spent) for spent in populations]
        click.echo(json.dumps(document, indent=2, ensure_ascii=False).encode())
        return
    columns = ("population", "unit", "δ", "budget", "spent", "left", "campaigns", "local ε")
    show_table("Central ε by population", columns, [_row(spent) for spent in populations], numbers=range(2, 8))
    for spent in populations:
        if not spent.within_budget:
            click.echo(f"{spent.population} is over its budget: none of its words may be released.")
        for entry in book.entries(spent.population):
            if entry.state == "planned":
                click.echo(
                    f"{spent.population}: the campaign {entry.campaign} was planned on "
                    f"{_format_day(entry.planned_day)} and charged; settle it, or abandon it if nothing was collected."
                )


@ledger.command()
@FILE
@click.argument("campaign")
def abandon(file: Path, campaign: str) -> None:
    """Refund the charge of a planned campaign.

    Only if nothing was or will be collected or published in it.
    """
    from neologue.ledger.ledger import Ledger

    Ledger(file).abandon(campaign)


def _row(spent: "Spent") -> tuple[str, ...]:
    budget = spent.budget
    limit = "" if budget.local_epsilon is None else f" of {budget.local_epsilon:g}"
    return (
        spent.population,
        budget.unit,
        f"{budget.delta:g}",
        f"{budget.epsilon:g}",
        f"{spent.epsilon:g}",
        f"{spent.left:.6g}",
        f"{spent.settled + spent.planned:,}",
        f"{spent.local_epsilon}{limit}",
    )


def _as_json(book: "Ledger", spent: "Spent") -> dict[str, Any]:
    return {
        "population": spent.population,
        "unit": spent.budget.unit,
        "delta": spent.budget.delta,
        "budget": spent.budget.epsilon,
        "spent": spent.epsilon,
        "left": spent.left,
        "within_budget": spent.within_budget,
        "local_budget": spent.budget.local_epsilon,
        "local_spent": float(spent.local_epsilon),
        "campaigns": [
            {
                "campaign": entry.campaign,
                "state": entry.state,
                "mechanism": entry.collection.mechanism,
                "epsilon": entry.collection.epsilon,
                "words_per_user": entry.collection.words_per_user,
                "cohorts": [
                    {"reports": batch.reports, "candidates": batch.candidates} for batch in entry.collection.batches
                ],
                "planned_on": _format_day(entry.planned_day),
                "ended_on": None if entry.ended_day is None else _format_day(entry.ended_day),
            }
            for entry in book.entries(spent.population)
        ],
        "budgets": [
            {
                "from": _format_day(day),
                "unit": budget.unit,
                "epsilon": budget.epsilon,
                "delta": budget.delta,
                "local_epsilon": budget.local_epsilon,
            }
            for day, budget in book.budgets(spent.population)
        ],
    }


def _format_day(day: int) -> str:
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()
