"""`neologue ledger`: privacy budgets of populations, and what they have spent."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from neologue.cli.help_sections import CommandGroup, CommandWithExamples
from neologue.cli.service_client import TOKEN, ServiceClient
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.ledger.budget import Budget
    from neologue.ledger.ledger_document import PopulationDocument
    from neologue.privacy.collection import Collection

FILE = click.argument("file", type=click.Path(path_type=Path))
LEDGER = click.argument("ledger")


@click.group(cls=CommandGroup)
def ledger() -> None:
    """Track the privacy budgets of populations.

    LEDGER is a file, or the address of a service, which has a ledger of its own: then give your token. A ledger
    composes the ε of all campaigns of a population, and refuses the next campaign, its next layer or its release when
    the budget does not allow it. docs/ledger.md lists what you must ensure yourself.
    """


@ledger.command()
@FILE
def create(file: Path) -> None:
    """Create a ledger in a file."""
    from neologue.ledger.ledger_file import create_ledger

    create_ledger(file)
    click.echo(f"created {file}; give it populations with `neologue ledger population {file} NAME …`", err=True)


@ledger.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue ledger population spent.db keyboards --unit user --epsilon 25 --delta 1e-9", "in a file"),
        (
            "neologue ledger population http://127.0.0.1:8080 all --parts 12 --unit user --epsilon 9 --delta 1e-9",
            "twelve parts of the same people, in a service",
        ),
    ),
)
@LEDGER
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
@click.option(
    "--parts",
    type=click.IntRange(2, 1000),
    help="Add so many populations, `NAME 1 of N` and so on: parts of the same people, with nobody in two.",
)
@TOKEN
def population(
    ledger: str,
    name: str,
    unit: str,
    epsilon: float,
    delta: float,
    local_epsilon: float | None,
    change: bool,
    parts: int | None,
    token: str | None,
) -> None:
    """Set the budget of a population, or of each of its parts.

    Nobody may be in two populations of a ledger, or take part in campaigns that are not charged to it.
    """
    from neologue.ledger.budget import Budget

    budget = Budget(unit, epsilon, delta, local_epsilon)
    names = [name] if parts is None else [f"{name} {part} of {parts}" for part in range(1, parts + 1)]
    for each in names:
        _set_budget(ledger, each, budget, change, token)


def _set_budget(ledger: str, name: str, budget: "Budget", change: bool, token: str | None) -> None:
    before = next((each for each in _read_populations(ledger, token) if each.population == name), None)
    if _is_address(ledger):
        service = ServiceClient(ledger, token)
        if change:
            service.request_json("POST", "populations", name, "budget", body=asdict(budget))
        else:
            service.request_json("POST", "populations", body={"name": name, **asdict(budget)})
    else:
        from neologue.ledger.ledger_file import open_ledger

        book = open_ledger(ledger)
        (book.set_budget if change else book.add_population)(name, budget)
    if change and before:
        set_on = before.budgets[-1].from_
        click.echo(
            f"changed the budget of {name}, set on {set_on}: ε = {before.budget:g} for every {before.unit} at "
            f"δ = {before.delta:g} is now ε = {budget.epsilon:g} for every {budget.unit} at δ = {budget.delta:g}",
            err=True,
        )


@ledger.command()
@LEDGER
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of a table.")
@TOKEN
def show(ledger: str, as_json: bool, token: str | None) -> None:
    """Show what each population has spent, and what is left."""
    import msgspec

    from neologue.cli.terminal import show_table

    populations = _read_populations(ledger, token)
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(populations), indent=2, ensure_ascii=False).encode())
        return
    columns = ("population", "unit", "δ", "budget", "spent", "left", "campaigns", "local ε")
    show_table("Central ε by population", columns, [_row(each) for each in populations], numbers=range(2, 8))
    for each in populations:
        if not each.within_budget:
            click.echo(f"{each.population} is over its budget: none of its words may be released.")
        if each.rare_words:
            click.echo(f"{each.population}: {' '.join(each.rare_words.sentences)}")
        for charge in each.campaigns:
            if charge.state == "planned":
                click.echo(
                    f"{each.population}: the campaign {charge.campaign} was planned on {charge.planned_on} and charged;"
                    " settle it, or abandon it if nothing was collected."
                )


@ledger.command()
@LEDGER
@click.argument("campaign")
@TOKEN
def abandon(ledger: str, campaign: str, token: str | None) -> None:
    """Refund the charge of a planned campaign.

    Only if nothing was or will be collected or published in it, and no device was invited.
    """
    if _is_address(ledger):
        ServiceClient(ledger, token).request_json("POST", "charges", campaign, "abandon")
        return
    from neologue.ledger.ledger_file import open_ledger

    open_ledger(ledger).abandon(campaign)


@ledger.command()
@LEDGER
@click.argument("campaign")
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--layers",
    type=click.Path(path_type=Path),
    help="The documents of its layers  [default: layers.zip in the folder of RELEASE]",
)
@TOKEN
def settle(ledger: str, campaign: str, release: Path, layers: Path | None, token: str | None) -> None:
    """Charge a campaign that ran elsewhere what its RELEASE, a release.json, says that it collected.

    The release must be certified. What was foreseen stays on record. Campaigns of the service settle themselves.
    """
    import msgspec

    from neologue.ledger.ledger_document import collection_document

    collection = _collected(release, layers)
    if _is_address(ledger):
        body = msgspec.to_builtins(collection_document(collection))
        ServiceClient(ledger, token).request_json("POST", "charges", campaign, "settle", body=body)
        return
    from neologue.ledger.ledger_file import open_ledger

    open_ledger(ledger).settle_elsewhere(campaign, collection)


@ledger.command(name="import")
@FILE
@click.argument("server")
@TOKEN
def import_(file: Path, server: str, token: str | None) -> None:
    """Import a ledger file into the ledger of the service at an address.

    All populations, budgets and charges are imported, or none if one of them is there already with other figures,
    or if the file knows of more that a campaign has spent or told than the service. What went on in the service
    since an earlier import is kept.
    """
    import msgspec

    if not _is_address(server):
        raise ParameterError(f"{server!r} is not the address of a service: give one with http:// or https://")
    populations = msgspec.to_builtins(_read_populations(str(file), None))
    added = ServiceClient(server, token).request_json("POST", "ledger", body={"populations": populations})
    names = ", ".join(added["populations"]) or "nothing: all of it is there already"
    click.echo(f"imported {names}; the service charges its own ledger from now on", err=True)


def _collected(release: Path, layers: Path | None) -> "Collection":
    """What a certified release has collected."""
    from neologue.cli.releases.certify import read_layers
    from neologue.errors import ReleaseError
    from neologue.release.certification.certificate import certify
    from neologue.release.codec import read_release_file

    document = read_release_file(release)
    *_, documents = read_layers(document, release, layers)
    certification = certify(document, documents)
    if not certification.passed or certification.facts is None:
        raise ReleaseError(f"{release} is not certified: `neologue certify {release}` says why")
    if certification.simulated:
        raise ReleaseError(f"{release} is a simulation, which nobody is charged for: give the release of a campaign")
    return certification.facts.charged


def _is_address(ledger: str) -> bool:
    return urlsplit(ledger).scheme in ("http", "https")


def _read_populations(ledger: str, token: str | None) -> "list[PopulationDocument]":
    """All populations of a ledger in a file or in a service."""
    import msgspec

    from neologue.errors import InputError
    from neologue.ledger.ledger_document import PopulationDocument, population_document
    from neologue.ledger.ledger_file import open_ledger

    if not _is_address(ledger):
        return [population_document(snapshot) for snapshot in open_ledger(ledger).snapshots()]
    answer = ServiceClient(ledger, token).request_json("GET", "populations")
    try:
        return msgspec.convert(answer, list[PopulationDocument])
    except msgspec.ValidationError as error:
        raise InputError(f"{ledger} does not answer like a neologue service of this version: {error}") from error


def _row(population: "PopulationDocument") -> tuple[str, ...]:
    limit = "" if population.local_budget is None else f" of {population.local_budget:g}"
    return (
        population.population,
        population.unit,
        f"{population.delta:g}",
        f"{population.budget:g}",
        f"{population.spent:g}",
        f"{population.left:.6g}",
        f"{sum(charge.state != 'abandoned' for charge in population.campaigns):,}",
        f"{population.local_spent:g}{limit}",
    )
