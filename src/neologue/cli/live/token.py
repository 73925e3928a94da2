"""`neologue token`: the people who may use a service, and their roles."""

import json

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.service_client import AS_JSON, NAME, SERVER, TOKEN, ServiceClient, ServiceGroup


@click.group(cls=ServiceGroup)
@SERVER
@TOKEN
@click.pass_context
def token(context: click.Context, server: str, token: str | None) -> None:
    """Make and revoke the tokens of a live service, one for each person. This needs an operator's token."""
    context.obj = ServiceClient(server, token)


@token.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue token make ada --role operator", "Ada may run campaigns"),
        ("neologue token make grace --role analyst", "Grace may read and review released words"),
    ),
)
@NAME
@click.option(
    "--role",
    type=click.Choice(["operator", "analyst"]),
    required=True,
    help="Operators run campaigns; analysts read and review what is released.",
)
@click.pass_obj
def make(service: ServiceClient, name: str, role: str) -> None:
    """Make a token for a person, and print it; it is not shown again."""
    click.echo(service.request_json("POST", "tokens", body={"name": name, "role": role})["token"])


@token.command(name="list")
@AS_JSON
@click.pass_obj
def list_(service: ServiceClient, as_json: bool) -> None:
    """List the people who have a token."""
    from neologue.cli.terminal import show_table

    people = service.request_json("GET", "tokens")
    if as_json:
        click.echo(json.dumps(people, indent=2, ensure_ascii=False))
        return
    show_table("Tokens", ("name", "role"), [(each["name"], each["role"]) for each in people])


@token.command()
@NAME
@click.pass_obj
def revoke(service: ServiceClient, name: str) -> None:
    """Revoke a person's token."""
    service.request_json("DELETE", "tokens", name)
    click.echo(f"revoked the token of {name}", err=True)
