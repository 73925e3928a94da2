"""`neologue campaign status` and `wait`: what a campaign is doing, once or until it is over."""

import json
import time
from typing import Any

import click

from neologue.cli.service_client import AS_JSON, NAME, ServiceClient, format_time
from neologue.errors import InputError

OVER = ("released", "refused", "aborted")
NOT_RELEASED = 1
SECONDS = click.option(
    "--seconds", "every", type=click.FloatRange(0.1), default=5.0, show_default=True, help="How often to look."
)


@click.command()
@NAME
@click.option("--watch", is_flag=True, help="Show it again whenever something has changed, until it is over.")
@SECONDS
@AS_JSON
@click.pass_obj
def status(service: ServiceClient, name: str, watch: bool, every: float, as_json: bool) -> None:
    """Show the state of a campaign, its layers, and when it is expected to end."""
    shown: object = None
    while True:
        found = service.request_json("GET", "campaigns", name)
        layers = service.request_json("GET", "campaigns", name, "layers")
        end = service.request_json("GET", "campaigns", name, "expected-end")
        if (found, layers) != shown:
            shown = (found, layers)
            if as_json:
                whole = {**found, "layers": layers, "expected_end": end}
                click.echo(json.dumps(whole, indent=None if watch else 2, ensure_ascii=False))
            else:
                _show(found, layers, end)
        if not watch or found["state"] in OVER:
            return
        time.sleep(every)


@click.command()
@NAME
@click.option("--hours", type=click.FloatRange(0), help="How long to wait at most  [default: until it is over]")
@SECONDS
@click.pass_context
def wait(context: click.Context, name: str, hours: float | None, every: float) -> None:
    """Wait until a campaign is over. Exits with 0 if it is released, and with 1 if it ended without a release."""
    service: ServiceClient = context.obj
    deadline = None if hours is None else time.monotonic() + 3600 * hours
    while (found := service.request_json("GET", "campaigns", name))["state"] not in OVER:
        if deadline is not None and time.monotonic() >= deadline:
            raise InputError(f"the campaign {name!r} is still {found['state']} after {hours:g} hours: wait longer")
        time.sleep(every if deadline is None else max(0.0, min(every, deadline - time.monotonic())))
    print_state(found)
    if found["state"] != "released":
        context.exit(NOT_RELEASED)


def print_state(found: dict[str, Any]) -> None:
    """One line about a campaign, and its note."""
    click.echo(
        f"{found['name']}: {found['state']}, {found['users']:,} users of {found['devices']:,} devices, "
        f"ε = {found['epsilon']:g}"
    )
    if found["note"]:
        click.echo(found["note"])


def _show(found: dict[str, Any], layers: list[dict[str, Any]], end: dict[str, float | None]) -> None:
    from neologue.cli.terminal import show_table

    print_state(found)
    columns = ("pass", "layer", "state", "candidates", "reports", "of", "kept", "words", "deadline")
    show_table("Layers", columns, [_layer_row(layer) for layer in layers], numbers=(3, 4, 5, 6, 7))
    for layer in layers:
        for warning in layer["warnings"]:
            click.echo(f"layer {layer['place'] + 1}: {warning}")
    told = {"layer": "this layer is full", "campaign": "the campaign ends"}
    for name, what in told.items():
        if end[name] is not None:
            click.echo(f"Expected: {what} at {format_time(end[name] or 0)} UTC, as reports come now.")
    if end["latest"] is not None:
        click.echo(f"At the latest, if no layer is extended: {format_time(end['latest'])} UTC.")


def _layer_row(layer: dict[str, Any]) -> tuple[str, ...]:
    facts = layer["facts"]
    return (
        str(facts["pass_number"]) if facts else "",
        str(facts["layer"]) if facts else "",
        layer["state"],
        f"{layer['candidates']:,}",
        f"{layer['reports']:,}",
        f"{layer['cohort']:,}",
        f"{facts['kept']:,}" if facts else "",
        f"{facts['words']:,}" if facts else "",
        format_time(layer["deadline"]) if layer["state"] == "open" else "",
    )
