"""What a campaign will find, foreseen without asking anyone."""

from neologue.campaign.campaign import Campaign
from neologue.planning.expectation import Forecast
from neologue.planning.likely_forecast import forecast_likely
from neologue.planning.trie_forecast import forecast_trie
from neologue.populations.lexicon import Lexicon


def forecast(campaign: Campaign, lexicon: Lexicon) -> Forecast:
    """Foresee a campaign among users who hold the words of a lexicon."""
    ask = forecast_trie if campaign.parameters.layers is None else forecast_likely
    return ask(campaign, lexicon)
