"""An audit passes what is right, catches what is wrong, and is wrong itself no more often than it says.

Devices draw from seeds here, so that every run sees the same reports.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layers import small_layer
from neologue.audit.attack import Columns
from neologue.audit.audit import Maker, attack_on, audit, audit_layer, reports_needed, usual_reports
from neologue.audit.coincidences import Coincidence, matches, overlaps, repeats, ties
from neologue.audit.mean_bounds import largest_mean, least_mean, least_share
from neologue.device.contribution import contribute, held_prefixes
from neologue.device.sampling import sample
from neologue.entropy import ONE, Entropy, SeededEntropy
from neologue.errors import OverfullError, ParameterError
from neologue.protocol.layer import Layer
from neologue.protocol.report import header, read_report
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Ones, Unary

SEED = 20_240_814
EPSILON = 4.0
KINDS = [("unary", 10), ("subset-selection", 1), ("subset-selection", 10)]
kinds = pytest.mark.parametrize(("mechanism", "bound"), KINDS)

Source = Callable[[int], Entropy]


def devices(source: Source = lambda n: SeededEntropy(SEED, n)) -> Maker:
    """The real device code, with the randomness that the n-th report is given."""
    numbers = count()
    return lambda words, layer: contribute(words, layer, source(next(numbers)))


def wrong_devices(randomize: Callable[[Layer, NDArray[np.int64], Entropy], Any]) -> Maker:
    """Devices with a randomizer of their own, whose reports look like any others."""
    numbers = count()

    def make(words: Mapping[str, int], layer: Layer) -> bytes:
        entropy = SeededEntropy(SEED, next(numbers))
        held = sample(*held_prefixes(words, layer), layer.bound, layer.sampler, entropy)
        return header(layer) + layer.randomizer.encode(randomize(layer, held, entropy))

    return make


def too_loud(layer: Layer, held: NDArray[np.int64], entropy: Entropy) -> Any:  # noqa: ANN401
    """What the randomizer does when its probabilities are those of an ε that is 5 % larger."""
    right = layer.randomizer
    odds = math.exp(1.05 * right.epsilon)
    wrong = replace(right)
    if isinstance(right, SubsetSelection):
        d = right.subset_size
        wrong.__dict__.update(subset_size=d, truth=round(ONE * d * odds / (d * odds + right.domain - d)))
    else:
        wrong.__dict__.update(noise=round(ONE / (odds + 1)))
    return wrong.randomize(held, entropy)


def too_honest(layer: Layer, held: NDArray[np.int64], entropy: Entropy) -> Ones:
    """Unary with the right noise, whose coins for words held are not fair: p/(1-p) is 5 % of ε too large."""
    ones = layer.randomizer.randomize(held, entropy).positions
    odds = math.exp(0.05 * layer.epsilon)
    coins = entropy.chances(round(ONE * odds / (odds + 1)), len(held))
    return Ones(np.union1d(ones[~np.isin(ones, held)], held[coins]))


def one_coin(layer: Layer, held: NDArray[np.int64], entropy: Entropy) -> Ones:
    """Unary with the right probability for each bit, but one draw for all of them."""
    unary = layer.randomizer
    assert isinstance(unary, Unary)
    thresholds = np.full(unary.candidates, unary.noise, np.uint64)
    thresholds[held] = ONE // 2
    return Ones(np.flatnonzero(entropy.words(1)[0] < thresholds))


class SharedCoins(SeededEntropy):
    """One coin for all words of a report."""

    def chances(self, numerator: int, count: int) -> NDArray[np.bool_]:
        return np.repeat(super().chances(numerator, 1), count)


class SharedPlaces(SeededEntropy):
    """One place, in its base subset, for all words of a report."""

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        return np.repeat(super().below(bound, 1), count) if bound < 100 else super().below(bound, count)


class SharedOffsets(SeededEntropy):
    """One offset for all words of a report whose subset does not contain them."""

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        return np.repeat(super().below(bound, 1), count) if bound >= 100 else super().below(bound, count)


class SortedWords(SeededEntropy):
    """No order but that of the candidates."""

    def permutation(self, count: int) -> NDArray[np.int64]:
        return np.arange(count)


class SameCoins(SeededEntropy):
    """The coins of every report are those of the first; everything else is fresh."""

    def chances(self, numerator: int, count: int) -> NDArray[np.bool_]:
        return SeededEntropy(SEED).chances(numerator, count)


def told(coincidences: tuple[Coincidence, ...]) -> str:
    return "; ".join(found.what for found in coincidences)


@kinds
def test_what_is_right_passes_and_the_bound_is_close(mechanism: str, bound: int) -> None:
    layer = audit_layer(mechanism, EPSILON, bound)
    needed, done = reports_needed(layer.randomizer), list[int]()
    found = audit(layer, maker=devices(), seed=SEED, reports=needed, advance=done.append)
    assert found.passed, told(found.coincidences)
    assert 0.95 * EPSILON < found.lower_bound < found.enforced_epsilon <= EPSILON
    assert (found.mechanism, found.epsilon, found.bound) == (mechanism, EPSILON, bound)
    assert found.reports == sum(done) == needed
    assert found.sharp
    holding, others = found.evidence.holding, found.evidence.not_holding
    assert others.seen / others.of < others.limit < holding.limit < holding.seen / holding.of


@kinds
def test_an_epsilon_that_is_5_percent_too_large_is_caught(mechanism: str, bound: int) -> None:
    layer = audit_layer(mechanism, EPSILON, bound)
    needed = reports_needed(layer.randomizer)
    found = audit(layer, maker=wrong_devices(too_loud), seed=SEED, reports=needed)
    assert not found.passed
    assert EPSILON < found.lower_bound < 1.05 * EPSILON
    assert not found.coincidences, "the draws are all fresh"


def test_unfair_coins_for_words_held_are_caught() -> None:
    found = audit(audit_layer("unary", EPSILON, 10), maker=wrong_devices(too_honest), seed=SEED, reports=1500)
    assert EPSILON < found.lower_bound < 1.05 * EPSILON


def test_a_larger_epsilon_is_no_harder_to_audit() -> None:
    layer = audit_layer("unary", 10.0, 10)
    right = audit(layer, maker=devices(), seed=SEED, reports=1000)
    wrong = audit(layer, maker=wrong_devices(too_loud), seed=SEED, reports=1000)
    assert right.sharp
    assert right.passed
    assert 9.5 < right.lower_bound < 10.0 < wrong.lower_bound < 10.5


@kinds
@pytest.mark.parametrize("period", [1, 200])
def test_a_stream_that_repeats_is_caught(mechanism: str, bound: int, period: int) -> None:
    layer = audit_layer(mechanism, EPSILON, bound)
    found = audit(layer, maker=devices(lambda n: SeededEntropy(SEED, n % period)), seed=SEED, reports=1000)
    assert not found.passed
    assert "that of another" in told(found.coincidences)
    assert ("in a row" in told(found.coincidences)) == (period == 1)


@pytest.mark.parametrize(
    ("mechanism", "source", "seen"),
    [
        ("unary", SharedCoins, "as many votes for words held"),
        ("unary", SameCoins, "as many votes for words held"),
        ("subset-selection", SharedCoins, "as many subsets that hold a word"),
        ("subset-selection", SameCoins, "subsets that hold a word in two reports in a row"),
        ("subset-selection", SharedPlaces, "words at one place in two subsets"),
        ("subset-selection", SharedOffsets, "offsets equal in two subsets"),
        ("subset-selection", SortedWords, "the first subset holds one and the same word"),
    ],
)
def test_words_that_share_their_draws_are_caught(mechanism: str, source: type[SeededEntropy], seen: str) -> None:
    layer = audit_layer(mechanism, EPSILON, 10)
    found = audit(layer, maker=devices(lambda n: source(SEED, n)), seed=SEED, reports=1000)
    assert not found.passed
    assert seen in told(found.coincidences)


def test_one_coin_for_all_bits_is_caught_both_ways_though_a_service_refuses_such_reports() -> None:
    layer, make = audit_layer("unary", 1.0, 10), wrong_devices(one_coin)
    found = audit(layer, maker=make, seed=SEED, reports=1000)
    assert found.lower_bound > 2.0, "no bit is ever noise while a word held is silent"
    assert "as many noise bits" in told(found.coincidences)
    with pytest.raises(OverfullError, match="more than an honest device sends"):
        _ = [read_report(layer, make({}, layer)) for _ in range(20)]


def test_reports_can_be_made_side_by_side_with_secure_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neologue.audit.audit.WORTH_A_PROCESS", 500)
    done: list[int] = []
    layer = audit_layer("subset-selection", 8.0, 1)
    found = audit(layer, reports=1001, confidence=0.999999, processes=2, advance=done.append)
    assert found.passed
    assert found.reports == sum(done) == 1001


class TestPower:
    """Reports are summed up here by drawing what the attack would see of them from its law."""

    REPETITIONS = 150

    def seen(self, layer: Layer, epsilon: float, reports: int, rng: np.random.Generator) -> Columns:
        """The votes in the reports of devices whose true ε is this one."""
        randomizer, bound = layer.randomizer, layer.bound
        if isinstance(randomizer, Unary):
            noise = rng.binomial(randomizer.candidates - bound, 1 / (math.exp(epsilon) + 1), reports)
            return {"held": rng.binomial(bound, 0.5, reports), "noise": noise}
        assert isinstance(randomizer, SubsetSelection)
        d, s = randomizer.subset_size, randomizer.domain
        own = rng.random((reports, bound)) < d * math.exp(epsilon) / (d * math.exp(epsilon) + s - d)
        others = rng.hypergeometric(bound - 1, s - bound, d - own) if bound > 1 else 0
        return {"report": (own + others).sum(axis=1)[:, None]}

    def share_above(self, layer: Layer, epsilon: float, reports: int, risk: float) -> float:
        """How often the lower bound is above the ε of the layer."""
        rng, attack = np.random.default_rng(SEED), attack_on(layer.randomizer)
        bounds = [
            attack.evidence(self.seen(layer, epsilon, reports, rng), risk).epsilon for _ in range(self.REPETITIONS)
        ]
        return float(np.mean([bound > layer.epsilon for bound in bounds]))

    @pytest.mark.parametrize("epsilon", [3.0, 10.0])
    @kinds
    def test_the_reports_needed_see_5_percent_in_95_of_100_audits(
        self, mechanism: str, bound: int, epsilon: float
    ) -> None:
        layer = audit_layer(mechanism, epsilon, bound)
        needed = reports_needed(layer.randomizer)
        # Two standard deviations of such a share are 3.5 %.
        assert self.share_above(layer, 1.05 * epsilon, needed, 0.005) >= 0.915
        if needed > 1000:
            assert self.share_above(layer, 1.05 * epsilon, needed // 3, 0.005) < 0.95, "far fewer would not do"

    @pytest.mark.parametrize("risk", [0.5, 0.1])
    @pytest.mark.parametrize("epsilon", [0.5, EPSILON])
    @kinds
    def test_the_bound_is_above_the_true_epsilon_as_seldom_as_it_says(
        self, mechanism: str, bound: int, epsilon: float, risk: float
    ) -> None:
        layer = audit_layer(mechanism, epsilon, bound)
        tolerated = risk + 3 * math.sqrt(risk * (1 - risk) / self.REPETITIONS)
        assert self.share_above(layer, epsilon, 1000, risk) <= tolerated

    def test_fewer_are_needed_the_larger_epsilon_and_the_smaller_the_confidence(self) -> None:
        needed = [reports_needed(audit_layer("unary", epsilon, 10).randomizer) for epsilon in (0.5, 1.0, 2.0, 4.0)]
        assert needed == sorted(needed, reverse=True)
        randomizer = audit_layer("unary", 1.0, 10).randomizer
        assert reports_needed(randomizer, 0.9) < reports_needed(randomizer) < reports_needed(randomizer, 0.9999)
        assert usual_reports(randomizer) == max(5000, reports_needed(randomizer))

    def test_an_audit_with_too_few_reports_says_so(self) -> None:
        layer = audit_layer("unary", 1.0, 1)
        found = audit(layer, maker=devices(), seed=SEED, reports=1000)
        assert found.passed
        assert not found.sharp
        assert found.reports_needed == reports_needed(layer.randomizer) > 1000


class TestLimits:
    def test_a_share_is_at_least_what_clopper_and_pearson_say(self) -> None:
        assert least_share(0, 10, 0.05) == 0.0
        assert least_share(10, 10, 0.05) == pytest.approx(0.05 ** (1 / 10))
        below = least_share(3, 10, 0.05)
        exceeded = sum(math.comb(10, k) * below**k * (1 - below) ** (10 - k) for k in range(3, 11))
        assert exceeded == pytest.approx(0.05)

    def test_a_mean_is_between_its_limits_even_if_most_of_it_is_rare(self) -> None:
        rng = np.random.default_rng(SEED)
        missed = 0
        for _ in range(400):
            values = np.where(rng.random(500) < 0.01, 2.0, 0.0)
            missed += not least_mean(values, 2.0, 0.05) <= 0.02 <= largest_mean(values, 2.0, 0.05)
        assert missed <= 0.1 * 400

    def test_numbers_that_never_vary_still_have_a_margin(self) -> None:
        silent = np.zeros(1000)
        assert 0 < largest_mean(silent, 1.0, 0.01) < 0.02
        assert largest_mean(silent, 0.1, 0.01) == pytest.approx(0.1 * largest_mean(silent, 1.0, 0.01))


class TestCoincidences:
    def test_fresh_draws_are_suspected_no_more_often_than_it_says(self) -> None:
        rng = np.random.default_rng(SEED)
        tied, overlapping = 0, 0
        for _ in range(400):
            tied += ties("", rng.binomial(20, 0.3, 400), 20, 0.3).chance < 0.05
            first, second = rng.integers(0, 10, 200), rng.integers(0, 10, 200)
            shared = rng.hypergeometric(first, 30 - first, second)
            overlapping += overlaps("", shared, first, second, np.full(200, 30)).chance < 0.05
        assert tied <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)
        assert overlapping <= 400 * 0.05

    def test_repeats_are_found_wherever_they_are(self) -> None:
        none = repeats("", np.arange(1000), 1e-9)
        assert (none.seen, none.of, none.chance) == (0, 1000, 1.0)
        assert none.expected == pytest.approx(499_500e-9)
        assert repeats("", np.array([7, *range(10, 1000), 7]), 1e-9).chance < 0.001
        assert repeats("", np.array([7, *range(10, 1000), 7]), 0.5).chance == 1.0, "where repeats prove nothing"

    def test_nothing_to_count_proves_nothing(self) -> None:
        none = np.zeros(4, np.int64)
        assert matches("", 0, 0, 0.5).chance == 1.0
        assert overlaps("", none, none, none, none).chance == 1.0


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"epsilon": 0.0}, "not 0.0"),
        ({"epsilon": math.nan}, "not nan"),
        ({"bound": 0}, "not 0"),
        ({"reports": 999}, "from 1000 to 10,000,000, not 999"),
        ({"confidence": 1.0}, "not 1.0"),
        ({"confidence": math.nan}, "not nan"),
    ],
)
def test_what_cannot_be_audited_is_refused(wanted: dict[str, Any], says: str) -> None:
    layer = {"mechanism": "unary", "epsilon": EPSILON, "bound": 10}
    options = {"reports": 1000, "confidence": 0.99}
    with pytest.raises(ParameterError, match=says):
        audit(
            audit_layer(**{name: wanted.get(name, value) for name, value in layer.items()}),
            **{name: wanted.get(name, value) for name, value in options.items()},
        )


def test_a_layer_whose_devices_would_not_say_what_they_hold_is_refused() -> None:
    with pytest.raises(ParameterError, match="not every candidate"):
        audit(small_layer(["a", "b", "c"], known=audit_layer("unary", 1.0, 1).known, targets=frozenset({"ab"})))
    with pytest.raises(ParameterError, match="not every candidate"):
        audit(small_layer(["a", "b", "c"]))
    with pytest.raises(ParameterError, match="8 candidates are too few to audit reports of 4 words"):
        audit(small_layer(["a", "b"]))
