"""The options of `neologue plan --cost`: how a campaign is run, and what things cost there."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.planning.service_cost import Hosting

WITH_COST = ("check_in_hours", "layer_hours", "regions", "core_price", "traffic_price", "storage_price")
"""Options that only make sense with --cost."""

Command = TypeVar("Command", bound=Callable[..., object])


def cost_options(command: Command) -> Command:
    """Add the options to a command; those not given have the defaults of a hosting."""
    for option in (
        click.option(
            "--storage-price", type=float, help="Of a gigabyte of the database's disk for a month  [default: 0.12]"
        ),
        click.option("--traffic-price", type=float, help="Of a gigabyte that leaves a region  [default: 0.09]"),
        click.option(
            "--core-price", type=float, help="Of a core for an hour, as all prices in your currency  [default: 0.05]"
        ),
        click.option("--regions", type=int, help="Regions with workers, around one database  [default: 1]"),
        click.option("--layer-hours", type=float, help="How long a layer waits for reports  [default: 168]"),
        click.option(
            "--check-in-hours", type=float, help="After how long a device that waits asks again  [default: 1]"
        ),
        click.option(
            "--cost", is_flag=True, help="Foresee the machines, bytes and money that the service of the campaign takes."
        ),
    ):
        command = option(command)
    return command


def hosting_of(options: Mapping[str, Any]) -> "Hosting | None":
    """How the campaign is to be run, if its cost is asked for."""
    given = {name: options[name] for name in WITH_COST if options[name] is not None}
    if options["cost"]:
        from neologue.planning.service_cost import Hosting

        return Hosting(**given)
    if given:
        raise ParameterError(f"--{next(iter(given)).replace('_', '-')} needs --cost")
    return None
