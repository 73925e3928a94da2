"""The options with which commands say how devices mask their votes for each other."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from neologue.errors import ParameterError

NEEDING = ("cohort_size", "smallest_cohort", "dropout", "corruption", "gather_seconds", "stage_seconds", "leaving")
"""Options that say something only where votes are masked."""

Command = TypeVar("Command", bound=Callable[..., object])


def group_options(command: Command) -> Command:
    """Whether votes are masked, and in which groups; what is not given is as the service has it."""
    for option in (
        click.option("--corruption", type=int, help="Per cent of a group that may be corrupt  [default: 5]"),
        click.option("--dropout", type=int, help="Per cent of a group that may drop out  [default: 20]"),
        click.option(
            "--smallest-cohort", type=int, help="The fewest devices whose masked votes are summed  [default: 50]"
        ),
        click.option(
            "--cohort-size", type=int, help="How many devices mask their votes for each other  [default: 100]"
        ),
        click.option(
            "--aggregation",
            type=click.Choice(["ephemeral", "secure"]),
            default="ephemeral",
            show_default=True,
            help="Reports as they are, or votes under masks.",
        ),
    ):
        command = option(command)
    return command


def require_masks(given: Mapping[str, object]) -> None:
    """Refuse options of groups where votes are not masked, lest somebody thinks that they are."""
    idle = next((name for name in NEEDING if given.get(name) is not None), None)
    if given["aggregation"] != "secure" and idle:
        raise ParameterError(f"--{idle.replace('_', '-')} needs --aggregation secure")
