"""`neologue campaign repeat`: the next campaign of a team that asks regularly, each time another part of its people."""

import re
from typing import Any

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.live.watch import print_state
from neologue.cli.service_client import NAME, ServiceClient
from neologue.errors import ParameterError

PART = re.compile(r"(?P<whole>.*) (?P<part>[0-9]+) of (?P<parts>[0-9]+)")
"""The name of a population that is a part of another."""
NUMBERED = re.compile(r"(?P<stem>.*?)(?: (?P<number>[0-9]+))?")


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue campaign repeat spring", "a draft, spring 2"),
        ("neologue campaign repeat spring --as summer --start", "start it at once"),
    ),
)
@NAME
@click.option("--as", "next_name", help="The name of the next campaign  [default: NAME 2, NAME 3, …]")
@click.option("--population", help="Whose budget pays  [default: the next part, or the same population]")
@click.option("--start", "starts", is_flag=True, help="Start it too.")
@click.pass_obj
def repeat(service: ServiceClient, name: str, next_name: str | None, population: str | None, starts: bool) -> None:
    """Create the next campaign like NAME: for the next part of its population, with accepted words known.

    A population that is called `keyboards 3 of 12` is followed by `keyboards 4 of 12`, and the last part by the first:
    `neologue ledger population … --parts 12` adds all of them. Words of NAME that were accepted in review are known in
    the next campaign, and so are those that were known in NAME.
    """
    definition: dict[str, Any] = service.request_json("GET", "campaigns", name, "definition")
    found = service.request_json("GET", "campaigns", name)
    if found["state"] != "released":
        raise ParameterError(f"the campaign {name!r} is {found['state']}: repeat it when it is released")
    accepted = service.request_json("GET", "campaigns", name, "review", "export", format="json", verdict="accepted")
    definition["also_known"] = sorted({*definition["also_known"], *(each["word"] for each in accepted["words"])})
    definition["name"] = next_name or _next_name(
        name, [each["name"] for each in service.request_json("GET", "campaigns")]
    )
    definition["population"] = population or _next_part(definition["population"])
    created = service.request_json("POST", "campaigns", body=definition)
    print_state(created)
    click.echo(
        f"{len(definition['also_known']):,} words of earlier releases are known; paid by "
        f"{definition['population'] or 'nobody'}."
    )
    if starts:
        print_state(service.request_json("POST", "campaigns", created["name"], "start"))


def _next_name(name: str, taken: list[str]) -> str:
    """The name with the next number that no campaign has."""
    stem = NUMBERED.fullmatch(name)
    assert stem
    number = int(stem["number"] or 1) + 1
    while f"{stem['stem']} {number}" in taken:
        number += 1
    return f"{stem['stem']} {number}"


def _next_part(population: str | None) -> str | None:
    """The part of people who are asked next; a population without parts is asked again."""
    found = PART.fullmatch(population or "")
    if not found:
        return population
    part, parts = int(found["part"]), int(found["parts"])
    return f"{found['whole']} {part % parts + 1} of {parts}"
