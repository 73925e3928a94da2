"""Plans: limits are kept and used up, fewest users are the fewest, and a real run costs what was planned."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Vocabulary, discover
from neologue.campaign.largest_epsilon import STEP
from neologue.campaign.promise import WITH_DROPOUTS, fewest_users
from neologue.errors import ParameterError
from neologue.planning.forecast import forecast
from neologue.planning.plan import EpsilonLimits, Plan, plan
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import EmbeddedPopulation
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import Exposure
from neologue.release.facts import release_facts
from neologue.release.foreseen import foreseen_facts
from neologue.release.foreseen_cost import reader_epsilon

pytestmark = pytest.mark.slow

USERS = 40_000
DEPTH = 5

UNARY: dict[str, Any] = {"words_per_user": 10, "candidates": 3000}
LIKELY: dict[str, Any] = UNARY | {"layers": 3}
TRIE: dict[str, Any] = UNARY | {"layers": None}
SELECTION: dict[str, Any] = UNARY | {"words_per_user": 2, "randomizer": "subset-selection"}


@cache
def population() -> EmbeddedPopulation:
    """Users of a small language, whose words are spelled like its known ones."""
    lots = np.random.default_rng(6)
    words = ["".join(lots.choice(list("abcdefgh"), lots.integers(2, DEPTH + 1))) for _ in range(6000)]
    new = sorted(set(words[:5000]) - set(words[5000:]))
    shares = dict(zip(new, (5e-3 / lots.permutation(np.arange(5, len(new) + 5))).tolist(), strict=True))
    return EmbeddedPopulation("en", USERS, shares, Vocabulary(words[5000:]), 60, 1)


@cache
def lexicon() -> Lexicon:
    return Lexicon.of(population(), campaign(USERS, None))


def campaign(users: int, epsilon: float | None, **changes: object) -> Campaign:
    chosen = {"epsilon": 10.0} | UNARY | changes | ({} if epsilon is None else {"epsilon": epsilon})
    return Campaign.from_profile(
        users=users,
        known=population().known,
        alphabet=Alphabet("abcdefgh"),
        depth=DEPTH,
        **chosen,
    )


def planned(limits: EpsilonLimits, users: int | None = USERS, **changes: object) -> Plan:
    return plan(lambda asked, epsilon: campaign(asked, epsilon, **changes), lexicon(), users, limits)


LIMITED: dict[str, tuple[EpsilonLimits, dict[str, Any]]] = {
    "unary, item": (EpsilonLimits(central_epsilon=1.0), UNARY),
    "unary, user": (EpsilonLimits(central_epsilon=4.0, unit="user"), UNARY),
    "likely strings, item": (EpsilonLimits(central_epsilon=1.0), LIKELY),
    "likely strings, user": (EpsilonLimits(central_epsilon=4.0, unit="user"), LIKELY),
    "unary, some collude": (EpsilonLimits(central_epsilon=1.0), {"colluders": 0.3}),
    "subset-selection, item": (EpsilonLimits(central_epsilon=0.5), SELECTION),
    "subset-selection, user": (EpsilonLimits(central_epsilon=3.0, unit="user"), SELECTION),
    "trie, item": (EpsilonLimits(central_epsilon=1.0), TRIE),
    "trie, user": (EpsilonLimits(central_epsilon=4.0, unit="user"), TRIE),
    "trie, some collude": (EpsilonLimits(central_epsilon=1.0), TRIE | {"colluders": 0.3}),
    "trie, subset-selection, item": (EpsilonLimits(central_epsilon=0.5), SELECTION | {"layers": None}),
    "trie, subset-selection, user": (EpsilonLimits(central_epsilon=3.0, unit="user"), SELECTION | {"layers": None}),
}


@cache
def limited(name: str) -> Plan:
    limits, changes = LIMITED[name]
    return planned(limits, **changes)


ANSWERING = WITH_DROPOUTS
"""The share of a layer's users with whom a plan has to keep its limit."""
CHANCE = 0.02
"""What chance does to the foreseen coverage of likely strings, whose votes are drawn once: eight seeds of this small
language have a standard deviation of 0.2 to 0.9 points, by the local ε."""


def spent(found: Plan, unit: str, answering: float = 1.0) -> float:
    """What the planned layers cost, computed from them again, if a share of their users answers.

    Where slots are drawn, reports are made up for whoever does not.
    """
    parameters = found.campaign.parameters
    if parameters.drawn:
        return reader_epsilon(foreseen_facts(found.campaign, None, Exposure()), unit)
    batches = tuple(Batch(int(answering * layer.layer_size), layer.candidates) for layer in found.expected.layers)
    collected = Collection(parameters.randomizer, found.campaign.epsilon, parameters.words_per_user, batches)
    return central_epsilon(collected.in_sums_of(None, parameters.colluders), parameters.delta, unit)


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_is_kept_and_a_slightly_larger_local_epsilon_breaks_it(name: str) -> None:
    (limits, changes), found = LIMITED[name], limited(name)
    assert limits.central_epsilon is not None
    assert spent(found, limits.unit, ANSWERING) <= limits.central_epsilon
    larger = campaign(USERS, round(found.campaign.epsilon + STEP, 2), **changes)
    other = replace(found, campaign=larger, expected=forecast(larger, lexicon()))
    assert spent(other, limits.unit, ANSWERING) > limits.central_epsilon


@pytest.mark.parametrize("name", LIMITED)
def test_a_plan_promises_its_limit_and_none_of_its_layers_is_changed_by_that(name: str) -> None:
    found = limited(name)
    parameters, limits = found.campaign.parameters, found.limits
    assert (parameters.promised_epsilon, parameters.promised_unit) == (limits.central_epsilon, limits.unit)
    for layer in found.expected.layers:
        assert layer.layer_size >= fewest_users(parameters, layer.candidates)
    assert planned(EpsilonLimits(local_epsilon=6.0)).campaign.parameters.promised_epsilon is None


@pytest.mark.parametrize(
    "name",
    # Where candidates matter, a trie may end early: its equal layers can't ask more users if fewer prefixes are kept.
    ["unary, item", "likely strings, item", "subset-selection, item", "trie, item"],
)
def test_a_run_as_planned_finds_words_and_keeps_what_was_promised(name: str) -> None:
    """Votes decide how later layers are cut, so that they may come out smaller than planned, but not too small."""
    found = limited(name)
    run = discover(population(), found.campaign, seed=2).release
    assert run.words
    run_epsilon = central_epsilon(release_facts(run).collection, found.campaign.parameters.delta, found.limits.unit)
    assert found.limits.central_epsilon is not None
    assert run_epsilon <= found.limits.central_epsilon


@pytest.mark.parametrize("epsilon", [4.0, 8.0])
def test_a_run_never_costs_more_than_the_plan_where_layers_are_known_beforehand(epsilon: float) -> None:
    """Without a promise, too: no vote changes how many users a layer asks."""
    found = planned(EpsilonLimits(local_epsilon=epsilon), **LIKELY)
    run = discover(population(), found.campaign, seed=3).release
    parameters = found.campaign.parameters
    (point,) = [point for point in found.tradeoff if point.local_epsilon == epsilon]
    collected = release_facts(run).collection
    assert central_epsilon(collected, parameters.delta, "item") <= point.item_epsilon
    assert central_epsilon(collected, parameters.delta, "user") <= point.user_epsilon


@pytest.mark.parametrize("name", LIMITED)
def test_a_larger_local_epsilon_finds_more_and_costs_more(name: str) -> None:
    found = limited(name)
    assert len(found.tradeoff) >= 3
    assert found.campaign.epsilon in [point.local_epsilon for point in found.tradeoff]
    for less, more in pairwise(found.tradeoff):
        assert less.local_epsilon < more.local_epsilon
        assert less.item_epsilon < more.item_epsilon
        assert less.user_epsilon < more.user_epsilon
        # A trie that keeps more prefixes has more candidates in its next layer, and may find less there.
        if found.campaign.parameters.layers is not None:
            assert less.coverage < more.coverage + CHANCE
            assert less.words < more.words
            assert (less.rarest_share or 1.0) > (more.rarest_share or 1.0)
    assert found.tradeoff[0].coverage < found.tradeoff[-1].coverage


@pytest.mark.parametrize(
    "name",
    ["unary, item", "likely strings, user", "subset-selection, item", "trie, item", "trie, subset-selection, item"],
)
def test_the_trade_off_has_the_costs_of_the_plan(name: str) -> None:
    found = limited(name)
    (point,) = [point for point in found.tradeoff if point.local_epsilon == found.campaign.epsilon]
    assert point.item_epsilon == pytest.approx(spent(found, "item"), rel=1e-3)
    assert point.user_epsilon == pytest.approx(spent(found, "user"), rel=1e-3)
    assert (point.coverage, point.words) == (found.expected.coverage, found.expected.words)


@pytest.mark.parametrize("changes", [UNARY, TRIE, SELECTION], ids=["unary", "trie", "subset-selection"])
def test_without_users_the_fewest_are_found_that_keep_both_epsilons(changes: dict[str, Any]) -> None:
    found = planned(EpsilonLimits(local_epsilon=6.0, central_epsilon=0.6), None, **changes)
    assert found.campaign.epsilon == 6.0
    assert spent(found, "item", ANSWERING) <= 0.6
    fewer = campaign(int(0.95 * found.campaign.users), 6.0, **changes)
    assert spent(replace(found, campaign=fewer, expected=forecast(fewer, lexicon())), "item", ANSWERING) > 0.6


@pytest.mark.parametrize(("changes", "layers"), [(UNARY, 4), (LIKELY, 3), (TRIE, DEPTH)])
def test_where_every_population_keeps_the_limit_the_smallest_possible_is_planned(
    changes: dict[str, Any], layers: int
) -> None:
    found = planned(EpsilonLimits(local_epsilon=1.0, central_epsilon=5.0), None, **changes)
    assert found.campaign.users == 100 * layers


def test_without_limits_the_profile_decides() -> None:
    assert planned(EpsilonLimits()).campaign.epsilon == campaign(USERS, None).epsilon
    assert planned(EpsilonLimits(local_epsilon=3.3)).campaign.epsilon == 3.3


def test_a_generous_limit_gives_the_largest_local_epsilon_allowed() -> None:
    assert planned(EpsilonLimits(central_epsilon=1000.0)).campaign.epsilon == 10.0
    assert planned(EpsilonLimits(local_epsilon=7.77, central_epsilon=1000.0)).campaign.epsilon == 7.77


def test_a_limit_that_nothing_keeps_is_refused_with_a_remedy() -> None:
    with pytest.raises(ParameterError, match=r"no local epsilon keeps a central epsilon of 0.0001 .* take more users"):
        planned(EpsilonLimits(central_epsilon=0.0001))
    with pytest.raises(ParameterError, match=r"not even 1,000,000,000 users .* take a smaller local epsilon"):
        planned(EpsilonLimits(local_epsilon=10.0, central_epsilon=0.0001), None)
    with pytest.raises(ParameterError, match="give two of the three"):
        planned(EpsilonLimits(local_epsilon=10.0), None)
    with pytest.raises(ParameterError, match="not 'household'"):
        EpsilonLimits(unit="household")
    for bad in (0.0, -1.0, float("nan"), 1001.0):
        with pytest.raises(ParameterError, match="above 0 and at most 1000"):
            EpsilonLimits(central_epsilon=bad)


def test_a_full_layer_is_told_of_where_its_cost_is_another() -> None:
    paper = planned(EpsilonLimits(), rule="top", frontier=300, **SELECTION)
    assert paper.full_layer is not None
    assert 0 < paper.full_layer <= spent(paper, "item") * 1.01
    assert limited("unary, item").full_layer is None
    assert limited("subset-selection, item").full_layer is None
    assert limited("trie, subset-selection, item").full_layer is None


@pytest.mark.parametrize(
    ("layers", "symbols", "report_bytes", "smallest", "epsilon", "too_many"),
    [(None, 120, 500, 3.0, 6.0, "pairs"), (4, 2000, 300, 1.0, 4.0, "beginnings of words")],
    ids=["trie", "likely strings"],
)
def test_an_alphabet_that_needs_long_reports_shortens_the_trade_off(
    layers: int | None, symbols: int, report_bytes: int, smallest: float, epsilon: float, too_many: str
) -> None:
    letters = "".join(chr(point) for point in range(0x4E00, 0x4E00 + symbols))
    known = Vocabulary([letters[:3]])
    words = {letters[place : place + 2]: 1e-4 for place in range(100)}
    people = EmbeddedPopulation("zh", USERS, words, known, 60, 1)

    def campaigns(users: int, epsilon: float | None) -> Campaign:
        return Campaign.from_profile(
            users=users,
            known=known,
            alphabet=Alphabet(letters),
            depth=3,
            layers=layers,
            epsilon=epsilon,
            report_bytes=report_bytes,
        )

    with pytest.raises(ParameterError, match=too_many):
        campaigns(USERS, smallest)
    found = plan(campaigns, Lexicon.of(people, campaigns(USERS, epsilon)), USERS, EpsilonLimits(local_epsilon=epsilon))
    assert 1 < len(found.tradeoff) < 5
    assert min(point.local_epsilon for point in found.tradeoff) > smallest


def test_a_statement_covers_every_layer_and_explains_what_it_lacks() -> None:
    statement = limited("unary, item").statement
    item, user = statement["item_central"], statement["user_central"]
    assert isinstance(item, dict)
    assert isinstance(user, dict)
    assert item["best"] == spent(limited("unary, item"), "item")
    assert user["best"] == spent(limited("unary, item"), "user")
    for central in (item, user):
        assert {name for name, value in central.items() if value is None} == set(central["reasons"])
