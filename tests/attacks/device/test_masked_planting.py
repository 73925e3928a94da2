"""What hostile devices can plant under masks: a word that nobody holds, or many of them."""

from dataclasses import replace

import numpy as np
import pytest

from layers import small_layer
from neologue.campaign.campaign import Campaign
from neologue.discovery.result import LayerFacts
from neologue.discovery.selection import select
from neologue.discovery.tally import Tally
from neologue.language.alphabet import Alphabet
from neologue.masking.rules import GroupRules
from neologue.privacy.group_limits import sum_limits
from neologue.release.masked_influence import masked_influence, masked_sentences

DEVICES = 20_000
RULES = GroupRules(size=100, smallest=70, groups=600, limited=True)
LAYER = replace(small_layer(["a", "b", "c"], extension=3), epsilon=10.0)
PLANTED = 7


def campaign(groups: GroupRules | None, hostile: int = 1) -> Campaign:
    made = Campaign.from_profile(
        users=DEVICES, alphabet=Alphabet.named("en"), depth=4, epsilon=10.0, hostile_devices=hostile
    )
    return replace(made, groups=groups)


def tally(hostile: int) -> Tally:
    """Noise of honest devices that hold nothing, and all that hostile ones can bring one candidate, a group each."""
    channel = LAYER.randomizer.channel
    votes = np.random.default_rng(3).binomial(DEVICES, float(channel.q), LAYER.randomizer.candidates)
    votes[PLANTED] = hostile * sum_limits(LAYER.randomizer, RULES.size, RULES.groups).candidate
    return Tally(votes.astype(np.int64), DEVICES)


@pytest.mark.parametrize("hostile", [1, 3])
def test_as_many_devices_as_the_promise_allows_for_plant_no_word_under_masks(hostile: int) -> None:
    """One more would, and so would the same ones if each counted as one vote, as it did."""
    assert PLANTED not in select(LAYER, tally(hostile), campaign(RULES, hostile)).index
    assert PLANTED in select(LAYER, tally(hostile + 1), campaign(RULES, hostile)).index
    assert PLANTED in select(LAYER, tally(1), campaign(None, hostile)).index


def test_how_many_words_they_can_plant_is_bounded_and_said() -> None:
    facts = LayerFacts(
        pass_number=1,
        layer=2,
        length=3,
        extension=1,
        asked=DEVICES,
        reports=DEVICES,
        candidates=100_000,
        kept=10,
        words=5,
        fewest_votes=11,
        decided=True,
        digest=bytes(32).hex(),
    )
    bounded = masked_influence(campaign(RULES), facts, 5)
    assert bounded is not None
    assert (bounded.limits.candidate, bounded.limits.total) == (97, 3826)
    # The noise of the layer is 0.9 votes, so less than one.
    assert (bounded.missing, bounded.devices_each, bounded.lifted) == (11, 1, 5 * 3826 // 11)
    high = masked_influence(campaign(RULES), replace(facts, fewest_votes=108), 5)
    assert high is not None
    assert (high.devices_each, high.lifted) == (2, 5 * 3826 // 108)
    none = masked_influence(campaign(RULES), replace(facts, fewest_votes=108), 1)
    assert none is not None
    assert none.lifted == 0
    for_all, for_some = masked_sentences(campaign(RULES), [facts], [], 5)
    assert for_all.endswith("at most 97 votes, and all candidates together 3,826.")
    assert "at most 1,739 of its candidates" in for_some
    assert masked_sentences(campaign(None), [facts], [], 5) == ()
    assert masked_sentences(campaign(replace(RULES, limited=False)), [facts], [], 5) == ()
