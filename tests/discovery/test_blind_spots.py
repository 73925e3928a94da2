"""No word that enough users report is lost without a trace, however it is spelled."""

from pathlib import Path
from typing import Unpack

import numpy as np
import pytest
from scipy.stats import hypergeom

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.binom import cdf
from neologue.campaign.changes import Changes
from neologue.discovery.blind_spots import MISSED, sure_share
from neologue.discovery.selection.significant import EVEN_SHARE, NullLaw
from neologue.randomizers.unary import Unary

USERS = 20_000


def missed_chance(campaign: Campaign, share: float) -> float:
    """The exact chance that some layer gives a word that such a share reports fewer votes than significance needs."""
    parameters, layers = campaign.parameters, campaign.parameters.layers
    assert layers is not None
    channel = Unary(campaign.largest_layer, campaign.epsilon, parameters.words_per_user).channel
    reports, holders = USERS // layers, round(share * USERS)
    null = NullLaw.of(reports, float(channel.q), 0)
    level = EVEN_SHARE * min(parameters.false_words_in(layer) for layer in range(1, layers + 1))
    needed = int(null.fewest(np.array([level / campaign.largest_layer]))[0])
    held = np.arange(holders + 1)
    chances = hypergeom.pmf(held, USERS, holders, reports)
    likely = np.flatnonzero(chances > 1e-12)
    votes = np.arange(needed)
    short = [
        float(np.sum(cdf(needed - 1 - votes, reports - h, float(channel.q)) * _pmf(votes, h))) for h in likely.tolist()
    ]
    return layers * float(chances[likely] @ np.array(short))


def odd_words() -> list[str]:
    return (Path(__file__).parent / "odd_words.txt").read_text("ascii").split()


def held_by(users: int, holders: int, words: list[str]) -> Population:
    """Users of whom so many, drawn anew for each word, hold it."""
    rng = np.random.default_rng(11)
    held: dict[str, dict[str, int]] = {str(user): {} for user in range(users)}
    for word in words:
        for user in rng.choice(users, holders, replace=False).tolist():
            held[str(user)][word] = 1
    return Population.from_words(held)


def _pmf(votes: np.ndarray, holders: int) -> np.ndarray:
    return np.diff(cdf(np.append(-1, votes), holders, 0.5))


@pytest.mark.parametrize("epsilon", [10.0, 6.0])
def test_a_word_of_the_sure_share_has_enough_votes_in_every_layer(epsilon: float) -> None:
    campaign = Campaign.from_profile(
        users=USERS, epsilon=epsilon, allocation="filled", k_anonymity=0, unique_chance=0.0
    )
    share = sure_share(campaign)
    assert share is not None
    assert missed_chance(campaign, share) <= MISSED
    # The bound gives away less than a third: somewhat fewer users are missed too often.
    assert missed_chance(campaign, 0.7 * share) > MISSED


def test_the_sure_share_falls_with_users_and_rises_with_whatever_asks_for_more_votes() -> None:
    few, many = Alphabet("abcdefgh"), Alphabet.named("en")

    def share(users: int = USERS, alphabet: Alphabet = few, **changes: Unpack[Changes]) -> float:
        wanted: Changes = {"epsilon": 10.0, **changes}
        found = sure_share(Campaign.from_profile(users=users, alphabet=alphabet, **wanted))
        assert found is not None
        return found

    usual = share()
    assert share(10 * USERS) < usual / 4
    assert share(100_000, many, epsilon=8.0) < 0.01
    assert share(10 * USERS, many) > share(10 * USERS), "a document has room for fewer roots"
    dearer: Changes = {
        "layers": 6,
        "epsilon": 7.0,
        "k_anonymity": 40,
        "hostile_devices": 60,
        "frontier": 500,
        "passes": 2,
    }
    for name, value in dearer.items():
        changed: Changes = {name: value}  # type: ignore[misc]
        assert share(**changed) > usual, name


def test_nothing_is_promised_for_a_trie_or_where_nobody_can_stand_out() -> None:
    assert sure_share(Campaign.from_profile(users=USERS, layers=None, epsilon=10.0)) is None
    assert sure_share(Campaign.from_profile(users=400, epsilon=2.0)) is None


def test_oddly_spelled_words_that_enough_users_report_are_released_or_lie_behind_a_listed_prefix() -> None:
    """All of them are found by their votes alone: known words say nothing of how they are spelled."""
    odd = odd_words()
    campaign = Campaign.from_profile(
        users=USERS,
        epsilon=10.0,
        alphabet=Alphabet.named("en"),
        known=Vocabulary(["hello", "world", "there", "people", "because", "through"]),
        candidates=100_000,
    )
    share = sure_share(campaign)
    assert share is not None
    release = discover(held_by(USERS, round(share * USERS) + 1, odd), campaign, seed=2).release
    released, listed = {word.word for word in release.words}, tuple(kept.prefix for kept in release.prefixes)
    assert [word for word in odd if word not in released and not word.startswith(listed)] == []
    assert released, "and some are reached"
    assert len(released) < len(odd), "and some are not, which is what the list is for"


@pytest.mark.slow
def test_words_of_up_to_eight_symbols_that_one_in_a_hundred_holds_are_released_however_they_are_spelled() -> None:
    users = 100_000
    odd = [word for word in odd_words() if len(word) <= 8]
    assert len(odd) == 21
    campaign = Campaign.from_profile(
        users=users, epsilon=8.0, alphabet=Alphabet.named("en"), known=Vocabulary.builtin("en")
    )
    release = discover(held_by(users, users // 100, odd), campaign, seed=4).release
    assert set(odd) <= {word.word for word in release.words}
