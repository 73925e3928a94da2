"""Whole runs: the same for the same seed, whatever the machine; scored against the truth."""

import numpy as np
import pytest

from neologue import Campaign, Population, Progress, Vocabulary, discover
from neologue.discovery.result import LayerFacts
from neologue.errors import ParameterError
from neologue.protocol.layer import Layer
from neologue.release.codec import release_text
from neologue.reporting.simulated_release import discovery_document

WORDS = ["aab", "abba", "bab", "cabba", "acca", "baca", "known"]


@pytest.fixture(scope="module")
def population() -> Population:
    rng = np.random.default_rng(7)
    held = rng.random((6000, len(WORDS))) < np.array([0.3, 0.2, 0.15, 0.1, 0.05, 0.0002, 0.9])
    users = {str(user): {word: 1 for word, has in zip(WORDS, row, strict=True) if has} for user, row in enumerate(held)}
    return Population.from_words(users | {"x": {"toolongforthis": 1}})


def campaign(users: int = 6000, **changes: object) -> Campaign:
    from neologue import Alphabet

    # All words of three letters have room many times over, and devices are quick.
    settings: dict[str, object] = {"depth": 6, "epsilon": 4.0, "alphabet": Alphabet("abc"), "candidates": 20_000}
    settings |= changes
    return Campaign.from_profile(users=users, known=Vocabulary(["known"]), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("fidelity", ["fast", "exact", "devices"])
@pytest.mark.parametrize("randomizer", ["unary", "subset-selection"])
def test_common_words_are_found_with_honest_intervals(population: Population, fidelity: str, randomizer: str) -> None:
    wanted = campaign(randomizer=randomizer, words_per_user=4)
    found = discover(population, wanted, fidelity=fidelity, seed=5)
    words = {word.word: word for word in found.release.words}
    assert {"aab", "abba", "bab"} <= set(words) <= set(WORDS) - {"known"}
    # Of the users of the campaign, who are one fewer than there are.
    held = np.bincount(population.draw(0, wanted.users).words, minlength=len(population.words))
    truth = dict(zip(population.words, held.tolist(), strict=True))
    for word in ("aab", "abba", "bab"):
        assert 0.5 * truth[word] < words[word].estimate < 1.6 * truth[word]
    assert found.score.precision == 1.0
    assert found.score.words_true == 6
    released = sum(truth[word] for word in words)
    assert found.score.coverage == pytest.approx(released / sum(truth[word] for word in WORDS[:-1]))


@pytest.mark.parametrize("fidelity", ["fast", "exact"])
def test_released_words_that_fewer_than_k_users_of_their_layer_hold_are_counted_exactly(
    population: Population, fidelity: str
) -> None:
    for k in (0, 300):
        wanted = campaign(k_anonymity=k, alpha=0.5, unique_chance=0.0, epsilon=6.0, passes=2)
        found = discover(population, wanted, fidelity=fidelity, seed=5)
        first, below = 0, 0
        for layer in found.release.layers:
            held = population.draw(first, first + layer.asked)
            names = [population.words[number] for number in held.words.tolist()]
            here = [
                word.word
                for word in found.release.words
                if (word.pass_number, word.layer) == (layer.pass_number, layer.layer)
            ]
            below += sum(names.count(word) < k for word in here)
            first += layer.asked
        assert found.score.words_below_k == below
        assert (below > 0) == (k > 0)


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_cores(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded = Population.embedded("en", 30_000, seed=2)
    wanted = Campaign.from_profile(
        users=30_000, known=Vocabulary.builtin("en"), depth=4, epsilon=8.0, candidates=100_000
    )
    texts = set()
    for cores in (1, 2, 5):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        texts.add(release_text(discovery_document(discover(embedded, wanted, seed=9))))
    assert len(texts) == 1
    one, other = (discovery_document(discover(population, campaign(), seed=seed)) for seed in (1, 2))
    assert one["words"] != other["words"]


@pytest.mark.parametrize("layers", [None, 4])
def test_an_onlooker_hears_of_every_layer_and_every_user(population: Population, layers: int | None) -> None:
    class Diarist(Progress):
        def __init__(self) -> None:
            self.layers: list[Layer] = []
            self.facts: list[LayerFacts] = []
            self.users = 0

        def on_layer_start(self, layer: Layer) -> None:
            self.layers.append(layer)

        def on_users(self, users: int) -> None:
            self.users += users

        def on_layer_end(self, facts: LayerFacts, words: int) -> None:
            self.facts.append(facts)

    diarist = Diarist()
    wanted = campaign(layers=layers)
    found = discover(population, wanted, seed=0, progress=diarist)
    assert tuple(diarist.facts) == found.release.layers
    assert [layer.layer_size for layer in diarist.layers] == [facts.asked for facts in diarist.facts]
    # A trie whose prefixes have died out asks nobody any more.
    everybody = 6000 if layers else 1000 * len(diarist.layers)
    assert diarist.users == sum(facts.asked for facts in diarist.facts) == everybody
    reports = [facts.reports for facts in diarist.facts]
    assert reports == [wanted.parameters.counted_reports(facts.asked) for facts in diarist.facts]
    # Made-up reports are of nobody.
    assert (sum(reports) > 6000) == wanted.parameters.drawn == (layers is not None)


def test_nobody_is_asked_twice_so_a_campaign_can_not_be_larger_than_its_population(population: Population) -> None:
    with pytest.raises(ParameterError, match="nobody is asked twice"):
        discover(population, campaign(users=population.users + 1))
    with pytest.raises(ParameterError, match="fidelity must be one of"):
        discover(population, campaign(), fidelity="perfect")


def test_targets_limit_what_is_found(population: Population) -> None:
    found = discover(population, campaign(targets=["abba", "known", "zzz"], depth=6), seed=1)
    assert {word.word for word in found.release.words} <= {"abba"}
    assert found.score.words_true == 1


def test_the_stated_epsilon_is_the_enforced_one_of_the_weakest_layer(population: Population) -> None:
    statement = discover(
        population, campaign(randomizer="subset-selection", words_per_user=3), seed=0
    ).release.statement
    assert statement.enforced_epsilon <= statement.epsilon == 4.0
    assert statement.user_epsilon == 12.0
