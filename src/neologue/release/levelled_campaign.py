"""A campaign that is held to a level of privacy by all that it may cost: its measurement and its masks included."""

from neologue.campaign.campaign import Campaign
from neologue.campaign.keeping_level import keep_level
from neologue.campaign.measuring import Measuring
from neologue.campaign.privacy_level import PrivacyLevel
from neologue.privacy.statement import Exposure
from neologue.release.foreseen import foreseen_facts
from neologue.release.foreseen_cost import reader_epsilon, with_dropouts


def at_level(
    campaign: Campaign,
    level: PrivacyLevel,
    measuring: Measuring | None,
    exposure: Exposure,
    epsilon: float | None = None,
) -> Campaign:
    """The campaign with the largest local ε within a level, or with a smaller one, and with the level's promise."""

    def cost(asked: Campaign) -> float:
        # Users who measure hide the others, too, but the promise is the campaign's own.
        return max(
            reader_epsilon(with_dropouts(foreseen_facts(asked, counting, exposure)), "user")
            for counting in {None, measuring}
        )

    return keep_level(campaign, level, cost, epsilon)
