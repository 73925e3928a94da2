"""How much hostile devices can have added to the sums of masking groups, by the limits that these keep.

A group whose sum is above a limit is refused (`neologue.privacy.group_limits`), and one credential is in one sum of a
campaign. So m hostile devices bring one candidate at most m times the limit on a candidate, and all candidates together
at most m times the limit on all: no more candidates are lifted by v votes than m times that, divided by v.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.privacy.group_limits import SumLimits, sum_limits
from neologue.randomizers.registry import randomizer
from neologue.release.released_group import judged_together


@dataclass(frozen=True)
class MaskedInfluence:
    """What hostile devices of one layer can do, if it is the one that they are all in."""

    limits: SumLimits
    """On the sum of a group, so what one of them can add."""
    missing: int
    """The votes that a candidate without holders lacks on average to the fewest that were kept."""
    lifted: int
    """How many candidates they can lift by so many votes, at most."""
    devices_each: int
    """How many of them it takes to lift one."""


def masked_influence(campaign: Campaign, facts: LayerFacts, hostile: int) -> MaskedInfluence | None:
    """What so many hostile devices could do in a decided layer; None where nothing is proved or was kept."""
    groups, parameters = campaign.groups, campaign.parameters
    if groups is None or not groups.limited or not facts.fewest_votes:
        return None
    asked = randomizer(parameters.randomizer, facts.candidates, campaign.epsilon, parameters.words_per_user)
    limits = sum_limits(asked, groups.size, groups.groups)
    noise = float(asked.channel.mean(0, facts.reports))
    missing = max(1, facts.fewest_votes - int(noise))
    devices_each = -(-missing // limits.candidate)
    lifted = min(facts.candidates, hostile * limits.total // missing) if hostile >= devices_each else 0
    return MaskedInfluence(limits, missing, lifted, devices_each)


def masked_sentences(
    campaign: Campaign, layers: Sequence[LayerFacts], words: Sequence[ReleasedWord], hostile: int
) -> tuple[str, ...]:
    """All that in words, for the layers in which most can be done: alone, or together if they judged words so."""
    judged = [*layers, *judged_together(layers, words).values()]
    found = [each for facts in judged if (each := masked_influence(campaign, facts, hostile))]
    if not found:
        return ()
    limits = max((each.limits for each in found), key=lambda limit: (limit.candidate, limit.total))
    return (
        "A group whose sum no honest devices have is refused: under masks one hostile device can bring a candidate at "
        f"most {limits.candidate:,} votes, and all candidates together {limits.total:,}.",
        f"{hostile:,} hostile devices in one layer could have lifted at most {max(each.lifted for each in found):,} of "
        "its candidates from noise to the votes that were kept there, and each takes at least "
        f"{min(each.devices_each for each in found):,} of them.",
    )
