"""The options of a plan about people's own data: how many words they hold, told under an ε that a ledger is charged."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neologue.cli.data_options import data_options, read_columns
from neologue.cli.discovery.ledger_charge import DiscoveryCharge, ledger_charge
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.planning.typing_shape import TypingShape
    from neologue.populations.population import Population

Command = TypeVar("Command", bound=Callable[..., object])
OF_DATA = ("shape_epsilon", "ledger", "population", "campaign")


def shape_options(command: Command) -> Command:
    """Add the argument DATA, its columns, and what learning its shape may cost."""
    for option in (
        click.option("--campaign", help="The name of this estimate in the ledger, a new one each time; with --ledger."),
        click.option("--population", help="The name of the users of DATA in the ledger; with --ledger."),
        click.option(
            "--ledger",
            type=click.Path(path_type=Path),
            help="Charge the ε of the shape of DATA to this ledger, and show nothing that its budget does not cover.",
        ),
        click.option(
            "--shape-epsilon",
            type=float,
            help="The local ε of the one report with which each user of DATA tells about how many new words they hold  "
            "[default: 1]",
        ),
    ):
        command = option(command)
    return data_options(command)


def check_shape(data: Sequence[Path], options: dict[str, Any]) -> DiscoveryCharge:
    """Refuse options that need DATA or each other, before anything is read."""
    from neologue.randomizers.thresholds import check_epsilon

    read_columns(data, options)
    for name in OF_DATA:
        if not data and options[name] is not None:
            raise ParameterError(f"--{name.replace('_', '-')} is about DATA: give a file of what people typed, too")
    if options["shape_epsilon"] is not None:
        check_epsilon(options["shape_epsilon"])
    return ledger_charge(options["ledger"], options["population"], options["campaign"])


def read_people(data: Sequence[Path], options: dict[str, Any], days: int, campaign: "Campaign") -> "Population":
    """The users of DATA, with their words in the form of the campaign."""
    from neologue.populations.piped_input import seekable
    from neologue.populations.population import Population

    with seekable(data) as files:
        return Population.from_file(files, read_columns(data, options), days=days, form=campaign.form)


def learn_shape(
    people: "Population", campaign: "Campaign", charge: DiscoveryCharge, options: dict[str, Any]
) -> "TypingShape":
    """How many words people hold: charged before anything is drawn, and settled before anything is shown."""
    from neologue.entropy import SecureEntropy
    from neologue.planning.typing_shape import USUAL_EPSILON, estimate_shape, shape_cost

    epsilon = USUAL_EPSILON if options["shape_epsilon"] is None else options["shape_epsilon"]
    cost = shape_cost(people.users, epsilon)
    charge.plan_shape(cost)
    shape = estimate_shape(people, campaign, epsilon, SecureEntropy())
    charge.settle_shape(cost)
    return shape
