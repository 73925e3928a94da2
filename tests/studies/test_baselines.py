"""Every method behind the one interface: it finds what many hold, keeps the budget, and repeats itself."""

from dataclasses import replace

import numpy as np
import pytest

from neologue.campaign.campaign import Campaign
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.populations.population import Population
from neologue.simulation.discovery_run import discover
from neologue.studies.baselines.fragment_puzzle import FragmentPuzzle
from neologue.studies.baselines.opt_prefix_tree import OptPrefixTree
from neologue.studies.baselines.pem import Pem
from neologue.studies.baselines.user_samples import one_word, several_words
from neologue.studies.compare import METHODS
from neologue.studies.method import Found, Method, Task
from neologue.studies.outcome import WordUse, outcome, truth_of
from neologue.studies.privacy_grant import PrivacyGrant

USERS = 30_000
HEAVY = {"abba": 0.3, "cab": 0.25, "badge": 0.2, "face": 0.15, "deed": 0.1}
KNOWN = "head"
CENTRAL = ("partition-selection", "weighted-gaussian", "dp-sips", "mad", "mad2r")
# Small trees, so that several layers are needed to reach the end of a word.
FOUND_BY: dict[str, Method] = {
    **METHODS,
    "pem": Pem(candidates=2000),
    "opt-prefix-tree": OptPrefixTree(dimension=2000, runs=2),
}


@pytest.fixture(scope="module")
def task() -> Task:
    """Each user holds one widely held word, one that everybody's dictionary has, and often one of their own."""
    rng = np.random.default_rng(11)
    picks = rng.choice(len(HEAVY), USERS, p=list(HEAVY.values()))
    own = rng.choice(list("abcdefgh"), (USERS, 6))
    users = {
        str(user): {list(HEAVY)[picks[user]]: 3, KNOWN: 9, **({"".join(own[user]): 1} if user % 2 else {})}
        for user in range(USERS)
    }
    return Task(Population.from_words(users), USERS, Alphabet("abcdefgh"), Vocabulary([KNOWN]), depth=6, top=20)


@pytest.fixture(scope="module")
def findings(task: Task) -> dict[str, Found]:
    return {name: method.discover(task, PrivacyGrant(9.0), 1) for name, method in FOUND_BY.items()}


@pytest.mark.parametrize("name", FOUND_BY)
def test_what_many_hold_is_found_and_found_again(name: str, findings: dict[str, Found], task: Task) -> None:
    heard: list[int] = []
    found = FOUND_BY[name].discover(task, PrivacyGrant(9.0), 1, heard.append)
    assert found == findings[name]
    words = [word.word for word in found.words]
    assert set(HEAVY) <= set(words)
    assert KNOWN not in words
    assert 0 < found.users_asked <= USERS
    assert 0 < sum(heard) <= USERS
    assert found.rounds >= 1
    estimates = [word.estimate for word in found.words if word.estimate is not None]
    assert estimates == sorted(estimates, reverse=True)


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("neologue", PrivacyGrant(4.0, "central", "item")),
        ("opt-prefix-tree", PrivacyGrant(4.0, "central", "user")),
        ("pem", PrivacyGrant(4.0, "central", "user")),
        ("sfp", PrivacyGrant(4.0, "central", "item")),
        ("triehh", PrivacyGrant(8.0, "central", "user")),
        ("partition-selection", PrivacyGrant(1.0, "central", "item")),
        ("partition-selection", PrivacyGrant(1.0, "central", "user")),
        ("weighted-gaussian", PrivacyGrant(1.0, "central", "user")),
        ("dp-sips", PrivacyGrant(1.0, "central", "item")),
        ("mad", PrivacyGrant(1.0, "central", "user")),
        ("mad2r", PrivacyGrant(1.0, "central", "user")),
    ],
)
def test_a_central_budget_is_kept(name: str, budget: PrivacyGrant, task: Task) -> None:
    found = FOUND_BY[name].discover(task, budget, 1)
    assert set(HEAVY) <= {word.word for word in found.words}
    assert found.privacy.keeps(budget)
    promised = found.privacy.central_item if budget.unit == "item" else found.privacy.central_user
    assert promised is not None
    # With 30,000 users the bound for shuffled reports of `sfp` jumps, at a local ε of 7.2, from 3.6 to more than 4.
    assert promised > (0.85 if name == "sfp" else 0.97) * budget.epsilon, "hardly less is spent than there is"


@pytest.mark.parametrize("name", FOUND_BY)
def test_every_method_says_who_is_trusted_and_where_it_is_published(
    name: str, findings: dict[str, Found], task: Task
) -> None:
    method, found = FOUND_BY[name], findings[name]
    assert len(method.citation) > 50
    assert (found.privacy.local_item is None) == (method.trust == "central")
    assert method.fewest_users(task) <= USERS
    for figure in (found.privacy.central_item, found.privacy.central_user):
        assert figure is None or figure > 0
    if found.privacy.local_user is not None and name not in ("neologue", "gboard-2024"):
        assert found.privacy.local_user == found.privacy.local_item, "one word a user"


@pytest.mark.parametrize("name", ["pem", "sfp", "triehh"])
def test_one_word_methods_estimate_how_many_users_speak_of_a_word(
    name: str, findings: dict[str, Found], task: Task
) -> None:
    found = {word.word: word.estimate for word in findings[name].words}
    spoken = dict(zip(task.words.tolist(), one_word(task, (0, USERS), 1, lambda _: None, by_use=True), strict=True))
    for word in HEAVY:
        estimate = found[word]
        assert estimate is None or estimate == pytest.approx(spoken[word], rel=0.25)


def test_a_word_is_picked_as_often_as_it_was_typed_or_any(task: Task) -> None:
    heavy = np.isin(task.words, list(HEAVY))
    for by_use, share in ((True, 0.5 + 0.5 * 3 / 4), (False, 0.5 + 0.5 / 2)):
        spoken = one_word(task, (0, USERS), 4, lambda _: None, by_use=by_use)
        assert spoken.sum() == USERS
        assert spoken[heavy].sum() / USERS == pytest.approx(share, abs=0.01)
    eligible = one_word(task, (0, USERS), 4, lambda _: None, by_use=False, eligible=heavy)
    assert eligible[heavy].sum() == USERS
    assert eligible[~heavy].sum() == 0


def test_without_a_bound_all_words_are_counted(task: Task) -> None:
    held = several_words(task, None, 0, lambda _: None)
    assert np.array_equal(held, task.population.holders()[task.word_indices])
    assert several_words(task, 1, 0, lambda _: None).sum() == USERS


def test_ours_is_scored_as_a_discovery_is(findings: dict[str, Found], task: Task) -> None:
    found = findings["neologue"]
    campaign = Campaign.from_profile(users=USERS, alphabet=task.alphabet, known=task.known, depth=6, epsilon=9.0)
    truth = discover(task.population, campaign, seed=1)
    scored = outcome([word.word for word in found.words], truth_of(task), task.top)
    assert (scored.coverage, scored.precision) == (truth.score.coverage, truth.score.precision)
    assert (scored.words, len(truth_of(task))) == (truth.score.words_released, truth.score.words_true)


@pytest.mark.parametrize(
    ("name", "most"), [("opt-prefix-tree", 0), ("pem", 5), ("sfp", 0), ("triehh", 0), *((name, 0) for name in CENTRAL)]
)
def test_where_nobody_holds_a_new_word_no_more_are_found_than_the_method_makes_up(name: str, most: int) -> None:
    idle = Population.from_words({str(user): {KNOWN: 1} for user in range(3000)})
    task = Task(idle, 3000, Alphabet("abcdefgh"), Vocabulary([KNOWN]), depth=6, top=5)
    found = [word.word for word in FOUND_BY[name].discover(task, PrivacyGrant(9.0), 1).words]
    assert truth_of(task) == {}
    assert len(found) <= most
    assert outcome(found, {}, task.top).coverage == 0.0


def test_figures_of_an_outcome() -> None:
    truth = {"a": WordUse(50, 60), "b": WordUse(30, 30), "c": WordUse(15, 100), "d": WordUse(5, 10)}
    scored = outcome(["b", "x", "a"], truth, top=2)
    assert [scored.words, scored.coverage, scored.precision, scored.recall] == pytest.approx([3, 0.8, 2 / 3, 0.5])
    assert scored.missing_mass == pytest.approx(110 / 200)
    assert scored.f1 == 0.5, "of the first two found one is among the first two held"
    nothing = outcome([], truth, top=2)
    assert (nothing.coverage, nothing.precision, nothing.recall, nothing.f1) == (0.0, 1.0, 0.0, 0.0)
    assert nothing.missing_mass == 1.0


def test_groups_of_pem_extend_as_far_as_the_server_can_afford(task: Task) -> None:
    """26 letters and k = 100: 26·T(2) = 18,278 and 100·T(2) = 70,300 fit into 2^17, T(3) = 18,279 more do not."""
    english = replace(task, alphabet=Alphabet("abcdefghijklmnopqrstuvwxyz"), depth=10, top=100)
    assert Pem(candidates=1 << 17).extensions(english) == [2, 2, 2, 2, 2]
    assert Pem(candidates=1 << 12).extensions(english) == [1] * 10
    assert Pem(candidates=1 << 12).fewest_users(english) == 1000


def test_segments_of_the_prefix_tree_adapt_to_what_is_found(task: Task) -> None:
    """With room for 20,000 prefixes of 8 letters four come at once; those found then leave room for the rest."""
    tree = OptPrefixTree(dimension=20_000)
    found = tree.discover(task, PrivacyGrant(9.0), 1)
    assert tree.iterations(task) == 2
    assert found.rounds == 2
    assert set(HEAVY) <= {word.word for word in found.words}


def test_fragments_are_joined_by_their_hash_alone(task: Task) -> None:
    """With hardly any noise the puzzle gives the words that were put in, and no word whose fragments others lent."""
    clear = FragmentPuzzle(false_fragments=0.01).discover(task, PrivacyGrant(18.0), 5)
    assert [word.word for word in clear.words] == list(HEAVY)
    assert clear.bytes_per_device == 1 + 2 * (2 + 128)
