"""How many words hostile devices can plant: never more than stated, and not far from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from layers import small_campaign
from neologue import binom
from neologue.campaign.parameters import Parameters
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.masking.rules import GroupRules
from neologue.privacy.statement import Exposure
from neologue.randomizers.registry import randomizer
from neologue.release import planting
from neologue.release.planting import Planting, planting_in, planting_lines, votes_of_one_device
from neologue.release.released_group import LayerSize, ReleasedGroup

CANDIDATES, REPORTS, NEEDED = 20_000, 5_000, 60
"""At ε = 5 noise gives 33 ± 5.8 votes; a report has up to 216."""
SIZE = LayerSize(CANDIDATES, REPORTS, REPORTS)
GROUP = ReleasedGroup(0, 0, SIZE, words=1000, fewest_votes=NEEDED)


def parameters(mechanism: str = "unary") -> Parameters:
    return small_campaign(epsilon=5.0, words_per_user=20, randomizer=mechanism).parameters


def bounded(group: ReleasedGroup = GROUP, users: int = REPORTS, mechanism: str = "unary") -> Planting:
    return Planting(parameters(mechanism), users, (SIZE,), (group,), Exposure(), foreseen=True)


def planted(hostile: int, votes_for_a_word: int, votes_each: int, seed: int) -> int:
    """How many words that nobody holds so many devices really plant, if they buy each so many votes."""
    rng = np.random.default_rng(seed)
    asked = randomizer("unary", CANDIDATES, 5.0, 20)
    words = hostile * votes_each // votes_for_a_word
    noise = rng.binomial(REPORTS - hostile, float(asked.channel.q), words)
    return int(np.count_nonzero(noise + votes_for_a_word >= NEEDED))


@pytest.mark.parametrize("hostile", [20, 30, 50, 150])
def test_devices_that_do_their_worst_plant_nearly_as_many_as_stated_and_no_more(hostile: int) -> None:
    """They buy each word as many votes as make the most of them, in each of 20 layers."""
    stated = bounded().most_words(hostile)
    most = randomizer("unary", CANDIDATES, 5.0, 20).most_votes
    best = [max(planted(hostile, votes, most, seed) for votes in range(5, min(hostile, 45) + 1)) for seed in range(20)]
    assert max(best) <= stated
    assert max(best) >= 0.5 * stated or stated < 40


def test_a_bound_without_the_votes_that_noise_gives_would_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    most = randomizer("unary", CANDIDATES, 5.0, 20).most_votes
    monkeypatch.setattr(binom, "sf", lambda k, n, p: stats.binom.sf(k, 1, 1e-9))
    assert planted(50, 30, most, 1) > bounded().most_words(50)


def test_it_grows_with_the_devices_and_falls_with_the_votes_needed() -> None:
    numbers = [bounded().most_words(devices) for devices in (0, 1, 10, 50, 200, 2000)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 0
    assert numbers[1] < 5
    stricter = bounded(replace(GROUP, fewest_votes=2 * NEEDED)).most_words(200)
    assert 0 < stricter < numbers[4]


def test_no_more_are_planted_than_there_are() -> None:
    assert replace(bounded(replace(GROUP, words=7)), foreseen=False).most_words(5000) == 7


def test_devices_fall_into_layers_by_lot() -> None:
    """Of 100 about 10 fall into a layer of a tenth of all users, and surely not 50."""
    alone = bounded()
    among = bounded(users=10 * REPORTS)
    assert alone.most_words(5) <= among.most_words(100) <= alone.most_words(50)


def test_devices_are_in_one_layer_each() -> None:
    groups = (GROUP, replace(GROUP, first=1, last=1))
    twice = Planting(parameters(), 2 * REPORTS, (SIZE, SIZE), groups, Exposure(), foreseen=True)
    assert twice.most_words(200) < 1.6 * bounded().most_words(200)


def judged_by(layers: int, fewest_votes: int) -> Planting:
    """Words that were released from the last of some layers, by the votes of all of them."""
    size = LayerSize(CANDIDATES, layers * REPORTS, layers * REPORTS)
    group = ReleasedGroup(0, layers - 1, size, words=1000, fewest_votes=fewest_votes)
    return Planting(parameters(), layers * REPORTS, (SIZE,) * layers, (group,), Exposure(), foreseen=True)


def test_words_that_several_layers_judged_have_noise_from_all_their_reports() -> None:
    """Three layers give 100 ± 10 votes of noise, so that a word with 150 lacks 50 and not 117."""
    hostile, bought, rng = 120, 55, np.random.default_rng(5)
    asked = randomizer("unary", CANDIDATES, 5.0, 20)
    words = hostile * asked.most_votes // bought
    noise = rng.binomial(3 * REPORTS - hostile, float(asked.channel.q), (20, words))
    really = int(np.count_nonzero(noise + bought >= 150, axis=1).max())
    assert 0 < really <= judged_by(3, 150).most_words(hostile)
    # As if they had been judged by the last layer alone, where noise gives 33, it would not hold.
    assert really > bounded(replace(GROUP, fewest_votes=150)).most_words(hostile)


def test_devices_of_all_layers_that_judged_a_word_can_have_planted_it() -> None:
    """Where one layer in three has its words alone, only the devices that fall into it can plant them."""
    third = replace(GROUP, first=2, last=2, fewest_votes=60)
    apart = Planting(parameters(), 3 * REPORTS, (SIZE,) * 3, (third,), Exposure(), foreseen=True)
    assert apart.most_words(60) < judged_by(3, 127).most_words(60)


def test_a_release_tells_which_layers_judged_a_word() -> None:
    layers = [replace(FACTS, layer=number) for number in (1, 2, 3)]
    words = [replace(word(90), layer=3, since=2), replace(word(80), layer=3, since=3)]
    found = planting_in(parameters(), 3 * REPORTS, layers, words, Exposure())
    assert found.groups == (
        ReleasedGroup(1, 2, LayerSize(CANDIDATES, 2 * REPORTS, 2 * REPORTS), words=1, fewest_votes=90),
        ReleasedGroup(2, 2, SIZE, words=1, fewest_votes=80),
    )


def test_one_device_of_subset_selection_can_vote_as_often_as_it_has_contributions() -> None:
    asked = randomizer("subset-selection", CANDIDATES, 5.0, 20)
    assert votes_of_one_device(asked, Exposure()) == planting.DeviceVotes(20, 20 * asked.subset_size)  # type: ignore[attr-defined]


def test_under_masks_one_device_speaks_for_its_group() -> None:
    masked = Exposure(masked=GroupRules(100, 80, 20, 5, 1e-6, 100))
    asked = randomizer("unary", CANDIDATES, 5.0, 20)
    assert votes_of_one_device(asked, masked).each == 100
    assert replace(bounded(), exposure=masked).most_words(1) > 100 * bounded().most_words(1) > 0


@pytest.mark.parametrize("mean", [1e-9, 1e-3, 0.5, 10.0, 1000.0])
@pytest.mark.parametrize("nats", [3.0, 14.0, 30.0])
def test_the_margin_of_chance_holds_and_is_not_wide(mean: float, nats: float) -> None:
    most = binom.most_indicators(mean, nats)
    assert stats.poisson.sf(most, mean) <= np.exp(-nats)
    assert most <= stats.poisson.isf(np.exp(-nats), mean) * 1.1 + 4


FACTS = LayerFacts(1, 1, 1, 2, CANDIDATES, REPORTS, REPORTS, 50, 2, 30, decided=True)


def word(votes: int) -> ReleasedWord:
    return ReleasedWord("abba", votes, 1.0, 0.0, 2.0, 1, 1, since=1)


def test_a_release_states_it_and_from_when_on_it_should_not_be_trusted() -> None:
    found = planting_in(parameters(), 10_000, [FACTS], [word(100), word(500)], Exposure())
    assert found.groups == (ReleasedGroup(0, 0, SIZE, words=2, fewest_votes=100),)
    stated = found.document()
    assert [bound["devices"] for bound in stated["bounds"]] == [1, 1, 10, 100]  # type: ignore[attr-defined]
    fewest = found.untrusted_from
    assert fewest is not None
    assert found.most_words(fewest) > planting.TOLERATED * 2 >= found.most_words(fewest - 1)
    one, trust = planting_lines(stated, 2)
    assert one.startswith("Hostile devices: one device can plant at most ")
    assert " of 2 words, 10 devices (0.1 %) " in one
    assert f"fewer than {fewest:,} devices" in trust


def test_without_words_nothing_can_be_planted() -> None:
    stated = planting_in(parameters(), 10_000, [FACTS], [], Exposure()).document()
    assert {bound["words"] for bound in stated["bounds"]} == {0}  # type: ignore[attr-defined]
    assert stated["untrusted_from"] is None
    assert "No number of them" in planting_lines(stated, 0)[1]
