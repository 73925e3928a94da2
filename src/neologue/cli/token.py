"""`neologue token`: who may talk to a service, and as what."""

import json

import click

from neologue.cli.campaign import AS_JSON
from neologue.cli.service_client import SERVER, TOKEN, Remote

NAME = click.argument("name")


@click.group()
@SERVER
@TOKEN
@click.pass_context
def token(context: click.Context, server: str, token: str | None) -> None:
    """Make and revoke the tokens of a live service, one for each person; for operators."""
    context.obj = Remote(server, token)


@token.command()
@NAME
@click.option(
    "--role",
    type=click.Choice(["operator", "analyst"]),
    required=True,
    help="Operators run campaigns; analysts read and review what is released.",
)
@click.pass_obj
def make(remote: Remote, name: str, role: str) -> None:
    """Make a token for somebody, and print it, this once."""
    click.echo(remote.ask("POST", "tokens", body={"name": name, "role": role})["token"])


@token.command(name="list")
@AS_JSON
@click.pass_obj
def list_(remote: Remote, as_json: bool) -> None:
    """List who has a token."""
    from neologue.cli.terminal import show_table

    people = remote.ask("GET", "tokens")
    if as_json:
        click.echo(json.dumps(people, indent=2, ensure_ascii=False))
        return
    show_table("Tokens", ("name", "role"), [(each["name"], each["role"]) for each in people])


@token.command()
@NAME
@click.pass_obj
def revoke(remote: Remote, name: str) -> None:
    """Make somebody's token worthless, at once."""
    remote.ask("DELETE", "tokens", name)
    click.echo(f"the token of {name} is worthless now", err=True)
