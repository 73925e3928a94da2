"""Discoveries that ask about what is likely: words are found however they are carried on, and their claims hold."""

import copy
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.discovery.decision import Decision
from neologue.discovery.likely import LikelyQuestion, discover_likely
from neologue.discovery.open_prefixes import open_prefixes
from neologue.discovery.selection.selected import Selection
from neologue.discovery.selection.summed import Judged, pass_significant
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.language.likely_roots import NO_PREFIXES
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.allocation.planned_layers import planned_reports
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import Layer, LikelyLayer
from neologue.protocol.signed_document import digest
from neologue.randomizers.unary import Unary
from neologue.release.certification.certificate import certify
from neologue.release.codec import ReleaseDocument, decode_release, release_text
from neologue.reporting.simulated_release import discovery_document
from neologue.simulation.discovery_run import DiscoveryRun

WORDS = {
    "yeet": 0.3,
    "rizz": 0.2,
    "xqzjkv": 0.25,
    "zzvqwp": 0.05,
    "skibidi": 0.02,
    "q": 0.1,
    "hello": 0.9,
    "rare": 0.0002,
}
KNOWN = Vocabulary(["hello", "world", "feet", "fizz", "skid", "bidding", "yes", "rip", "ease", "rate"])
USERS = 6000


@pytest.fixture(scope="module")
def population() -> Population:
    held = np.random.default_rng(7).random((USERS, len(WORDS))) < np.array(list(WORDS.values()))
    return Population.from_words(
        {str(user): {word: 1 for word, has in zip(WORDS, row, strict=True) if has} for user, row in enumerate(held)}
    )


def campaign(**changes: object) -> Campaign:
    settings: dict[str, Any] = {"depth": 8, "epsilon": 6.0, "layers": 4, "candidates": 50_000} | changes
    return Campaign.from_profile(users=USERS, known=KNOWN, alphabet=Alphabet.named("en"), **settings)


@pytest.fixture(scope="module")
def found(population: Population) -> DiscoveryRun:
    return discover(population, campaign(), seed=5)


@pytest.mark.parametrize("fidelity", ["fast", "exact", "devices"])
def test_words_are_found_however_they_are_spelled(population: Population, fidelity: str) -> None:
    release = discover(population, campaign(), seed=5, fidelity=fidelity).release
    words = {word.word: word for word in release.words}
    assert {"yeet", "rizz", "xqzjkv"} <= set(words) <= set(WORDS) - {"hello", "rare"}
    truth = dict(zip(population.words, population.holders().tolist(), strict=True))
    for word in ("yeet", "rizz", "xqzjkv"):
        assert 0.6 * truth[word] < words[word].estimate < 1.5 * truth[word]
    assert [layer.asked for layer in release.layers] == [1500] * 4


def layers_of(found: DiscoveryRun) -> list[LikelyLayer]:
    """The layers of a run, read from their documents."""
    layers = [read_layer(document) for document in found.documents]
    likely = [layer for layer in layers if isinstance(layer, LikelyLayer)]
    assert len(likely) == len(layers)
    return likely


def test_a_word_that_is_spelled_like_no_other_is_not_asked_about_first(found: DiscoveryRun) -> None:
    layers = layers_of(found)
    odd = np.array(["xqzjkv"])
    first = layers[0].candidates
    prefix, ended = first.prefixes(first.index(odd))
    assert "xqzjkv".startswith(prefix[0])
    assert not ended[0]


def test_words_that_were_found_are_told_to_later_devices_and_votes_of_the_others_add_up(found: DiscoveryRun) -> None:
    layers = layers_of(found)
    for layer, facts in zip(layers, found.release.layers, strict=True):
        assert layer.found.words == {word.word for word in found.release.words if word.layer < facts.layer}
        assert facts.candidates == layer.candidates.size <= 50_000
    assert layers[-1].candidates.rounds[-1].prefix_limit == NO_PREFIXES
    assert sum(len(part.roots.prefixes) for part in layers[-1].candidates.again) > 1


def test_a_word_that_was_released_is_not_counted_again_among_what_stands_out(population: Population) -> None:
    before = 0

    def trace(layer: Layer, tally: Tally, selection: Selection) -> None:
        nonlocal before
        texts, ended = layer.candidates.prefixes(selection.index)
        assert layer.found.words.isdisjoint(texts[ended].tolist())
        before += len(layer.found.words)

    discover(population, campaign(), seed=3, trace=trace)
    assert before > 3


def test_each_word_belongs_to_at_most_one_candidate_of_every_layer(found: DiscoveryRun) -> None:
    for layer in layers_of(found):
        texts, ended = layer.candidates.prefixes(np.arange(layer.candidates.size))
        words = texts[ended]
        assert len(set(words.tolist())) == len(words)
        np.testing.assert_array_equal(layer.candidates.index(words), np.flatnonzero(ended))


def read(release: dict[str, Any]) -> ReleaseDocument:
    """A release as its file would be read, with a digest that fits."""
    return decode_release(release_text(release | {"digest": digest(release)}).encode(), "a release")


@pytest.fixture(scope="module")
def documents(found: DiscoveryRun) -> dict[str, bytes]:
    return {hashlib.sha256(content).hexdigest(): content for content in found.documents}


def test_the_release_is_certified(found: DiscoveryRun, documents: dict[str, bytes]) -> None:
    assert certify(read(discovery_document(found)), documents).objections == ()


def test_the_prefixes_of_a_release_are_the_roots_of_its_last_layer(found: DiscoveryRun) -> None:
    """So a release tells nothing that devices were not told, and whoever has the documents can check the list."""
    last = layers_of(found)[-1]
    prefixes = {kept.prefix: kept for kept in found.release.prefixes}
    assert sorted(prefixes) == last.asked.rounds[-1].prefixes.tolist() != []
    assert [kept.estimate for kept in found.release.prefixes] == sorted(
        (kept.estimate for kept in prefixes.values()), reverse=True
    )
    assert {(kept.layer, kept.pass_number) for kept in prefixes.values()} == {(3, 1)}


def test_a_word_that_no_layer_asked_about_lies_behind_a_prefix_that_is_listed(population: Population) -> None:
    """Two layers do not reach the end of an odd word, and its users are those who went on from the prefix."""
    run = discover(population, campaign(layers=2), seed=5)
    assert "xqzjkv" not in {word.word for word in run.release.words}
    (listed,) = [kept for kept in run.release.prefixes if "xqzjkv".startswith(kept.prefix)]
    truth = dict(zip(population.words, population.holders().tolist(), strict=True))
    assert listed.low < truth["xqzjkv"] < listed.high
    (left,) = [each for each in open_prefixes(run.release.prefixes, run.release.words) if each.prefix == listed.prefix]
    assert left.left > 0.8 * truth["xqzjkv"]


def decided(question: LikelyQuestion, *, enough: bool = True) -> Decision:
    """What votes without noise decide, if x has many; or that too few reports came."""
    reports = question.campaign.parameters.counted_reports(question.layer.layer_size) if enough else 1
    votes = np.zeros(question.layer.candidates.size, np.int64)
    votes[question.layer.candidates.index(np.array(["xqzjkv"]))] = reports // 2
    return question.decide(Tally(votes, reports))


def test_where_a_pass_ends_early_the_prefixes_are_listed_that_it_went_on_from() -> None:
    asking = discover_likely(campaign(layers=3, passes=2))
    second = asking.send(decided(next(asking)))
    again = asking.send(decided(second, enough=False))
    assert (again.layer.pass_number, again.layer.number) == (2, 1)
    with pytest.raises(StopIteration) as end:
        asking.send(decided(again, enough=False))
    release = end.value.value
    assert [(kept.prefix, kept.layer, kept.pass_number) for kept in release.prefixes] == [
        (second.layer.asked.rounds[-1].prefixes[0], 1, 1)
    ]


def test_a_trie_has_no_prefixes(population: Population) -> None:
    run = discover(population, campaign(layers=None), seed=5)
    assert run.release.prefixes == ()
    assert discovery_document(run)["prefixes"] == []


def again_word(release: dict[str, Any]) -> dict[str, Any]:
    """A word that was judged by the votes of several layers."""
    return next(word for word in release["words"] if word["since"] < word["layer"])


TAMPERED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a word that was not asked about": lambda release: release["words"][0].update(word="nobody"),
    "a word with too few votes": lambda release: release["words"][-1].update(votes=3),
    "a word of an earlier layer": lambda release: release["words"][-1].update(layer=1),
    "a word that more layers judged": lambda release: again_word(release).update(since=again_word(release)["layer"]),
    "an estimate": lambda release: release["words"][0].update(high=release["words"][0]["high"] * 2),
    "fewer candidates": lambda release: release["layers"][1].update(candidates=17),
    "more layers": lambda release: release["parameters"].update(layers=5),
    "a layer that is left out": lambda release: release["layers"].pop(),
    "a trie": lambda release: release["parameters"].update(layers=None),
    "a prefix that is left out": lambda release: release["prefixes"].pop(),
    "no prefixes": lambda release: release["prefixes"].clear(),
    "a prefix that is made up": lambda release: release["prefixes"].append(release["prefixes"][0] | {"prefix": "qu"}),
    "a prefix in the place of another": lambda release: release["prefixes"][0].update(prefix="qu"),
    "a prefix twice": lambda release: release["prefixes"].append(release["prefixes"][0]),
    "a prefix of another layer": lambda release: release["prefixes"][0].update(layer=2),
    "a prefix of a pass that is not there": lambda release: release["prefixes"][0].update({"pass": 2}),
    "a prefix with too few votes": lambda release: release["prefixes"][0].update(votes=3),
    "a prefix with more votes than reports": lambda release: release["prefixes"][0].update(votes=9999),
    "the estimate of a prefix": lambda release: release["prefixes"][0].update(estimate=1.0, low=0.5, high=2.0),
    "an extension": lambda release: release["layers"][0].update(extension=2),
}


@pytest.mark.parametrize("lie", TAMPERED)
def test_a_lie_about_a_layer_or_a_word_is_objected_to(
    found: DiscoveryRun, documents: dict[str, bytes], lie: str
) -> None:
    release = copy.deepcopy(discovery_document(found))
    TAMPERED[lie](release)
    assert certify(read(release), documents).objections


def test_a_layer_that_asks_about_nothing_new_is_certified_too(population: Population) -> None:
    """Its candidates are all words that were asked about before, those that it finds among them."""
    known = Campaign.from_profile(
        users=USERS, known=KNOWN, alphabet=Alphabet("deilrtyz"), depth=4, epsilon=8.0, layers=4, candidates=40_000
    )
    run = discover(population, known, seed=3)
    assert any(layer.candidates and not layer.kept for layer in run.release.layers[:-1])
    documents = {hashlib.sha256(content).hexdigest(): content for content in run.documents}
    assert certify(read(discovery_document(run)), documents).objections == ()


def test_sums_of_several_layers_are_judged_as_one_larger_layer() -> None:
    channel = Unary(1000, 5.0, 1).channel
    rng = np.random.default_rng(11)
    votes = rng.binomial(30_000, float(channel.q), 1000)
    held = np.arange(20)
    votes[held] += 200
    costs = np.full(1000, 40, np.int16)
    (right,) = pass_significant([Judged(votes, costs, 30_000, 0)], channel, 0.05, found=0)
    assert set(held) <= set(right.index.tolist())
    assert len(right.index) <= 25
    # Judged as the votes of the last of three layers alone, nearly everything would stand out.
    (wrong,) = pass_significant([Judged(votes, costs, 10_000, 0)], channel, 0.05, found=0)
    assert len(wrong.index) > 900


def test_noise_is_kept_at_its_level_over_groups_with_other_numbers_of_reports() -> None:
    channel = Unary(1000, 5.0, 1).channel
    rng = np.random.default_rng(12)
    kept = 0
    for _ in range(200):
        groups = [
            Judged(rng.binomial(reports, float(channel.q), 500), rng.integers(10, 90, 500).astype(np.int16), reports, 0)
            for reports in (2_000, 9_000)
        ]
        kept += any(len(passed.index) for passed in pass_significant(groups, channel, 0.1, found=0))
    # Without anything to find, at most a tenth of the runs keep something: 20 of 200, or 33 once in 1,000 times.
    assert kept <= 33


def test_words_found_before_count_among_the_discoveries_and_false_words_keep_their_share_over_two_looks() -> None:
    """In 400 runs with 60 held words the share of false ones is 0.1 at most on average, and 0.12 would be seen."""
    channel = Unary(1000, 5.0, 1).channel
    rng = np.random.default_rng(13)
    costs, held = np.full(2000, 40, np.int16), np.arange(2000) < 60
    shares = []
    for _ in range(400):
        votes, found = np.zeros(2000, np.int64), np.zeros(2000, np.bool_)
        for look in (1, 2):
            votes += rng.binomial(9_000, float(channel.q), 2000) + np.where(held, rng.binomial(70, 0.5, 2000), 0)
            left = np.flatnonzero(~found)
            (passed,) = pass_significant(
                [Judged(votes[left], costs[left], look * 9_000, 0)], channel, 0.05, found=int(found.sum())
            )
            found[left[passed.index]] = True
        shares.append((found & ~held).sum() / max(found.sum(), 1))
    assert np.mean(shares) < 0.12
    assert np.mean(shares) > 0.02


def test_every_layer_is_foreseen_and_has_its_share_of_users() -> None:
    batches = foreseen_collection(campaign(passes=2, allocation="filled")).batches
    assert [batch.reports for batch in batches] == [750] * 8
    planned = foreseen_collection(campaign(passes=2)).batches
    assert [batch.reports for batch in planned] == [planned_reports(750, 1e-10)] * 8
    assert {batch.candidates for batch in batches} == {50_000}


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match="only the rule significant"):
        campaign(rule="top")
    with pytest.raises(ParameterError, match="layers"):
        campaign(layers=0)
    with pytest.raises(ParameterError, match="too few: 60 layers"):
        campaign(layers=30, passes=2, smallest_layer=200)


def test_no_more_prefixes_are_kept_than_a_document_has_room_for(
    population: Population, found: DiscoveryRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found.release.layers[0].kept > 2, "else the limit below would change nothing"
    openings = campaign().alphabet.size * 7  # the beginning of all words, and two roots for each of three layers
    for module in ("neologue.campaign.campaign", "neologue.language.likely_candidates"):
        monkeypatch.setattr(f"{module}.MOST_OPENINGS", openings)
    limited = discover(population, campaign(), seed=5).release
    assert campaign().most_roots == 2
    assert limited.layers[0].kept == 2
    assert max(layer.kept for layer in limited.layers) == 2
    assert "xqzjkv" in {word.word for word in limited.words}, "what most users go on from comes first"
