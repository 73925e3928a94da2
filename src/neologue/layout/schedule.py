"""How many users a layer of a trie asks, and what a campaign will collect."""

from neologue.campaign.campaign import Campaign
from neologue.campaign.promise import fewest_users, too_few_users
from neologue.privacy.collection import Batch, Collection


def trie_layer_size(campaign: Campaign, prefixes: int, pass_number: int, number: int) -> int | None:
    """The users of a layer that extends so many prefixes by one symbol; None if they are too few to be asked.

    All layers are of equal size. If not even the first one can keep the central ε that is promised, the campaign is
    refused.
    """
    parameters = campaign.parameters
    size = campaign.users // (parameters.passes * parameters.depth)
    least = fewest_users(parameters, prefixes * campaign.alphabet.size)
    if size >= least:
        return size
    if parameters.promised_epsilon is not None and (pass_number, number) == (1, 1):
        raise too_few_users(parameters, campaign.users, size, least)
    return None


def foreseen_collection(campaign: Campaign) -> Collection:
    """What a campaign will collect, as far as can be told before any vote."""
    parameters = campaign.parameters
    if parameters.layers is not None:
        layers = parameters.passes * parameters.layers
        reports = parameters.counted_reports(campaign.users // layers)
        batches = [Batch(reports, campaign.largest_layer)] * layers
    else:
        batches = _trie_batches(campaign)
    return Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, tuple(batches))


def _trie_batches(campaign: Campaign) -> list[Batch]:
    """The batches of a trie, if each layer keeps as many prefixes as it may."""
    parameters, symbols = campaign.parameters, campaign.alphabet.size
    batches = []
    for pass_number in range(1, parameters.passes + 1):
        prefixes = symbols - 1
        for number in range(1, parameters.depth + 1):
            size = trie_layer_size(campaign, prefixes, pass_number, number)
            if size is None:
                break
            batches.append(Batch(size, prefixes * symbols))
            prefixes = campaign.widest_frontier
    return batches
