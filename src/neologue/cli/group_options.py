"""The options of masked votes, which several commands share."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from neologue.errors import ParameterError

MASKED_ONLY = (
    "cohort_size",
    "smallest_cohort",
    "dropout",
    "corruption",
    "corruption_risk",
    "gather_seconds",
    "stage_seconds",
    "strikes",
    "leaving",
)
"""Options that only make sense with masked votes."""

Command = TypeVar("Command", bound=Callable[..., object])


def group_options(command: Command) -> Command:
    """Add the options of masked votes to a command; the service has defaults for those not given."""
    for option in (
        click.option(
            "--corruption-risk",
            type=float,
            help="The chance that any group has more corrupt devices than it withstands  [default: 1e-06]",
        ),
        click.option("--corruption", type=int, help="Percentage of all devices that may be corrupt  [default: 5]"),
        click.option("--dropout", type=int, help="Percentage of a group that may drop out  [default: 20]"),
        click.option(
            "--smallest-cohort", type=int, help="The fewest devices whose masked votes are summed  [default: 70]"
        ),
        click.option(
            "--cohort-size", type=int, help="How many devices mask their votes for each other  [default: 100]"
        ),
        click.option(
            "--aggregation",
            type=click.Choice(["ephemeral", "secure"]),
            default="ephemeral",
            show_default=True,
            help="Plain reports, or votes masked in groups of devices.",
        ),
    ):
        command = option(command)
    return command


def require_masks(given: Mapping[str, object]) -> None:
    """Refuse options of masked votes without --aggregation secure: they would suggest masks where there are none."""
    idle = next((name for name in MASKED_ONLY if given.get(name) is not None), None)
    if given["aggregation"] != "secure" and idle:
        raise ParameterError(f"--{idle.replace('_', '-')} needs --aggregation secure")
