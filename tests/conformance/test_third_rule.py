"""A third rule, known to these tests alone, goes through everything that asks which rule a campaign has."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from layers import small_layer
from neologue.campaign.campaign import Campaign
from neologue.campaign.rule_names import JUDGES_LAYERS
from neologue.discovery.selection import RULES, select, top
from neologue.discovery.selection.rule import Cut, ForeseenCuts, Rule
from neologue.discovery.selection.selected import Selection, select_largest
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.planning.forecast import forecast
from neologue.planning.plan import EpsilonLimits, Plan
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import Population
from neologue.privacy.statement import Exposure
from neologue.protocol.layer import ExtendingLayer
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release, release_text
from neologue.release.facts import facts_of
from neologue.release.foreseen import foreseen_facts
from neologue.release.influence import influence
from neologue.release.layer_archive import by_digest
from neologue.reporting.simulated_release import discovery_document
from neologue.simulation.discovery_run import discover

NAME = "podium"
STEPS = 3
"""The rule keeps the three most voted candidates of every layer."""
SHARES = {"a": 0.5, "abc": 0.4, "cab": 0.3}


def select_podium(layer: ExtendingLayer, tally: Tally, campaign: Campaign) -> Selection:
    """The three with the most votes."""
    return select_largest(np.arange(len(tally.votes)), tally.votes, STEPS, layer)


def foresee_podium(campaign: Campaign) -> ForeseenCuts:
    """One cut for all candidates."""
    return ForeseenCuts(Cut(1.0, STEPS), Cut(1.0, STEPS), together=True)


PODIUM = Rule(select_podium, foresee_podium, top.surely_enough, keeps_most_voted=True)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule's name, and nothing else of it."""
    monkeypatch.setitem(JUDGES_LAYERS, NAME, False)


@pytest.fixture
def third(named: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole rule."""
    monkeypatch.setitem(RULES, NAME, PODIUM)


def campaign(**changes: Any) -> Campaign:  # noqa: ANN401
    settings: dict[str, Any] = {
        "users": 4000,
        "known": Vocabulary(["bb"]),
        "alphabet": Alphabet("abc"),
        "rule": NAME,
        "depth": 4,
        "epsilon": 6.0,
        "words_per_user": 8,
    }
    return Campaign.from_profile(**settings | changes)


def people() -> Population:
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(4000)}
    return Population.from_words({user: words or {"bb": 1} for user, words in held.items()})


@cache
def lexicon() -> Lexicon:
    known = Vocabulary.builtin("en")
    plain = campaign(users=200_000, known=known, alphabet=Alphabet.named("en"), epsilon=9.0, rule="top")
    return Lexicon.of(Population.embedded("en", 200_000, known=known, seed=1), plain)


def embedded() -> tuple[Campaign, Lexicon]:
    known = Vocabulary.builtin("en")
    return campaign(users=200_000, known=known, alphabet=Alphabet.named("en"), epsilon=9.0), lexicon()


def test_the_names_that_a_campaign_permits_are_the_rules_there_are() -> None:
    assert tuple(RULES) == tuple(JUDGES_LAYERS)


def test_an_unknown_rule_is_refused_by_a_campaign() -> None:
    with pytest.raises(ParameterError, match="rule must be one of top, significant, not 'podium'") as refused:
        campaign()
    assert refused.value.parameter == "rule"


@pytest.mark.usefixtures("named")
def test_a_rule_that_is_only_named_is_refused_by_every_part() -> None:
    layer = small_layer(["a"])
    wanted, words = embedded()
    parts = (
        lambda: select(layer, Tally(np.full(layer.candidates.size, 500), 1000), campaign()),
        lambda: facts_of(campaign().parameters, (), exposure=Exposure()),
        lambda: forecast(wanted, words),
        lambda: discover(people(), campaign()),
    )
    for part in parts:
        with pytest.raises(ParameterError, match=r"no rule is called 'podium': register one in neologue.discovery"):
            part()


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize("randomizer", ["unary", "subset-selection"])
def test_a_run_with_it_is_certified(randomizer: str) -> None:
    found = discover(people(), campaign(randomizer=randomizer), seed=1)
    release = found.release
    assert {word.word for word in release.words} <= SHARES.keys() | {""}
    assert "a" in {word.word for word in release.words}
    assert all(layer.kept + layer.words <= STEPS for layer in release.layers)
    read = decode_release(release_text(discovery_document(found)).encode(), "release.json")
    assert certify(read, by_digest(found.documents)).passed
    few, many = (influence(release.campaign, release.layers, release.words, hostile=hostile) for hostile in (1, 1000))
    assert few.unsure <= many.unsure == len(release.words)


@pytest.mark.usefixtures("third")
def test_what_it_will_find_can_be_foreseen() -> None:
    wanted, words = embedded()
    expected = forecast(wanted, words)
    assert 0 < expected.words <= STEPS * len(expected.layers)
    statement = Plan(
        wanted, EpsilonLimits(local_epsilon=9.0), expected, (), foreseen_facts(wanted, None, Exposure())
    ).statement
    assert statement["mechanism"] == "unary"
