"""Whom an operator sets aside to measure what a campaign finds."""

from dataclasses import dataclass
from fractions import Fraction

from neologue.campaign.allocation import check_planned_promise
from neologue.campaign.campaign import MOST_USERS, Campaign
from neologue.campaign.promise import fewest_users
from neologue.errors import ParameterError
from neologue.protocol.closed_layer import check_rate
from neologue.protocol.limits import check_whole
from neologue.randomizers.closed import closed_domain


@dataclass(frozen=True)
class Measuring:
    """How many users measure, taking no part in the discovery, and how they sample their words."""

    users: int
    rate: float = 1.0
    """The chance with which each of their new words may come into a sample."""

    def __post_init__(self) -> None:
        check_whole("users who measure", self.users, 1, MOST_USERS, parameter="measure_users")
        check_rate(self.rate)

    def vote_ratio(self, campaign: Campaign, epsilon: float) -> Fraction:
        """The most by which a vote of those who measure multiplies the odds that a listed word is held."""
        parameters = campaign.parameters
        domain = closed_domain(parameters.randomizer, parameters.frontier, epsilon, parameters.words_per_user)
        return domain.randomizer.channel.vote_ratio

    def check(self, campaign: Campaign, users: int) -> None:
        """Refuse too few users for a measurement, and users whom the campaign may also ask."""
        parameters = campaign.parameters
        check_planned_promise(parameters, campaign.users, self.users)
        least = parameters.smallest_layer
        if parameters.promised_epsilon is not None:
            shortest = closed_domain(parameters.randomizer, 1, campaign.epsilon, parameters.words_per_user)
            least = fewest_users(parameters, shortest.randomizer.candidates)
        if self.users < least:
            raise ParameterError(
                f"{self.users:,} users who measure are too few: nothing is said of fewer than {least:,}",
                parameter="measure_users",
            )
        if campaign.users + self.users > users:
            raise ParameterError(
                f"{campaign.users:,} users for the campaign and {self.users:,} who measure are more than the {users:,} "
                f"there are, and nobody is asked twice; make the campaign for {max(0, users - self.users):,} or fewer",
                parameter="users",
            )
