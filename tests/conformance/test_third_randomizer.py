"""A third randomizer, known to these tests alone: every part works with it, or refuses and says what is missing.

Symmetric unary encoding flips every bit of a device's set with the same chance f. Replacing one candidate by another
changes two bits, and the likelihood ratio of any report is at most ((1-f)/f)², so f ≥ 1/(e^(ε/2)+1) keeps ε. Its votes
are independent, as those of the unary randomizer are, but a bit that is held is no fair coin: laws that count on that
must not be applied to it.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from closed import small_closed_layer
from layers import small_layer
from neologue.aggregation.decoding import Decoder
from neologue.aggregation.made_up import made_up_votes
from neologue.audit.audit import ATTACKS, attack_on, audit_layer
from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.device.contribution import contribute
from neologue.discovery.plausibility import PLAUSIBILITY, Plausibility, find_implausible
from neologue.discovery.tally import Tally
from neologue.entropy import ONE, Entropy, SeededEntropy
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.vocabulary import Vocabulary
from neologue.ledger import composition
from neologue.ledger.budget import Budget
from neologue.ledger.composition import COMPOSITIONS, Composition, LossPart, composed_epsilon
from neologue.ledger.ledger_file import create_ledger
from neologue.planning.forecast import forecast
from neologue.planning.plan import EpsilonLimits, plan
from neologue.populations.lexicon import Lexicon
from neologue.populations.population import Population
from neologue.privacy.anonymity.thresholds import MOST_VOTED_LAWS
from neologue.privacy.bound import Bound
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import ACCOUNTING, Accounting, central_epsilon, cost
from neologue.privacy.privacy_profile import PrivacyProfile
from neologue.privacy.statement import Exposure, LayerShown, privacy_statement
from neologue.protocol.documents import read_layer
from neologue.protocol.report import read_report
from neologue.randomizers.binomial import most_of_sum
from neologue.randomizers.channel import Channel
from neologue.randomizers.closed import CLOSED_DOMAINS, Thermometer, closed_domain
from neologue.randomizers.randomizer import RARE_BITS, Randomizer
from neologue.randomizers.registry import RANDOMIZERS, randomizer
from neologue.randomizers.rice import RiceCode
from neologue.randomizers.thresholds import exp_below, log_above, numerator_up
from neologue.randomizers.unary import Ones
from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release, release_text
from neologue.release.facts import facts_of
from neologue.release.influence import influence
from neologue.release.layer_archive import by_digest
from neologue.reporting.simulated_release import discovery_document
from neologue.simulation.discovery_run import DiscoveryRun, discover
from neologue.simulation.votes.report_kernels import REPORTS
from neologue.simulation.votes.vote_laws import VOTE_LAWS, draw_unary_votes

NAME = "symmetric-unary"
USERS = 4000
SHARES = {"a": 0.5, "abc": 0.4, "cab": 0.3, "ca": 0.3, "bca": 0.2}


@dataclass(frozen=True)
class SymmetricUnary(Randomizer[Ones]):
    """Every bit flipped with the same chance."""

    name: ClassVar[str] = NAME

    @cached_property
    def flip(self) -> int:
        """The numerator of f: 2^64 / (e^(ε/2) + 1), rounded up."""
        return numerator_up(1 / (exp_below(self.epsilon / 2) + 1))

    @cached_property
    def channel(self) -> Channel:
        return Channel(1 - Fraction(self.flip, ONE), Fraction(self.flip, ONE), contributions=1)

    @property
    def worst_ratio(self) -> Fraction:
        return (self.channel.p / self.channel.q) ** 2

    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Ones:
        self.check_held(held)
        flipped = np.flatnonzero(entropy.chances(self.flip, self.candidates))
        return Ones(np.setxor1d(flipped, held))

    def votes(self, report: Ones) -> NDArray[np.int64]:
        return report.positions

    @cached_property
    def code(self) -> RiceCode:
        return RiceCode.of(self.candidates, self.flip, self.bound)

    @property
    def payload_bytes(self) -> int:
        return self.code.usual_bytes

    @cached_property
    def most_votes(self) -> int:
        held = min(self.bound, self.candidates)
        return most_of_sum((self.candidates - held, self.flip), (held, ONE - self.flip), RARE_BITS)

    @property
    def likeliest(self) -> float:
        return self.candidates * log_above(1 - self.channel.q)

    def encode(self, report: Ones) -> bytes:
        return self.code.encode(report.positions)

    def decode(self, payload: bytes) -> Ones:
        return Ones(self.code.decode(payload, self.most_votes))


@dataclass(frozen=True)
class SymmetricThermometer(Thermometer):
    """The thermometer of the unary randomizer serves: what a device holds is again a set of at most B elements."""

    mechanism = SymmetricUnary


@pytest.fixture(autouse=True)
def third(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The randomizer, and nothing that is known about it."""
    monkeypatch.setitem(RANDOMIZERS, NAME, SymmetricUnary)
    yield
    cost.cache_clear()
    composition._part.cache_clear()


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be proved of it with little work: the local promise alone, and that its votes are independent."""

    def nothing_better(asked: list[tuple[SymmetricUnary, Batch]], delta: float) -> dict[str, Bound]:
        return {"sums_only": Bound.none("sums of symmetric unary reports", "nobody has proved one")}

    def local_part(asked: list[tuple[SymmetricUnary, int]], words: int, local: float) -> LossPart:
        return LossPart(PrivacyProfile.of_local(local), words, local, 1)

    def total(asked: SymmetricUnary, reports: int, level: float) -> tuple[float, float]:
        return 0.0, float(reports * asked.candidates)

    monkeypatch.setitem(ACCOUNTING, NAME, Accounting(nothing_better, nothing_better, lambda *_: 0.0, density=None))
    monkeypatch.setitem(COMPOSITIONS, NAME, Composition(lambda _, batches: tuple(batches), local_part))
    monkeypatch.setitem(MOST_VOTED_LAWS, NAME, None)
    monkeypatch.setitem(CLOSED_DOMAINS, NAME, SymmetricThermometer)
    monkeypatch.setitem(PLAUSIBILITY, NAME, Plausibility(total, independent=True))
    monkeypatch.setitem(VOTE_LAWS, NAME, draw_unary_votes)


def campaign(**changes: Any) -> Campaign:  # noqa: ANN401
    settings: dict[str, Any] = {
        "users": 3000,
        "known": Vocabulary(["bb"]),
        "alphabet": Alphabet("abc"),
        "randomizer": NAME,
        "depth": 4,
        "epsilon": 6.0,
        "words_per_user": 8,
    }
    return Campaign.from_profile(**settings | changes)


@pytest.fixture(scope="module")
def population() -> Population:
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(USERS)}
    return Population.from_words({user: words or {"bb": 1} for user, words in held.items()})


def tally_of(candidates: int) -> Tally:
    return Tally(np.full(candidates, 500), 1000)


COLLECTION = Collection(NAME, 6.0, 8, (Batch(3000, 100), Batch(2000, 200)))

Part = Callable[[Population], object]

PARTS: dict[str, tuple[Part, str]] = {
    "the central cost": (lambda _: cost(COLLECTION, 1e-10), "privacy.cost"),
    "the central epsilon": (lambda _: central_epsilon(COLLECTION, 1e-10, "user"), "privacy.cost"),
    "a privacy statement": (
        lambda _: privacy_statement(
            facts_of(campaign().parameters, (LayerShown(Batch(3000, 100), 1, 900),), exposure=Exposure())
        ),
        "privacy.cost",
    ),
    "a release": (
        lambda people: discovery_document(discover(people, campaign(), fidelity="devices")),
        "privacy.cost",
    ),
    "composition": (lambda _: composed_epsilon([COLLECTION], 1e-10, "item"), "ledger.composition"),
    "a closed domain": (lambda _: closed_domain(NAME, 10, 6.0, 8), "randomizers.closed"),
    "a measurement": (
        lambda people: discover(people, campaign(), fidelity="devices", measure=Measuring(1000)),
        "randomizers.closed",
    ),
    "plausibility": (
        lambda _: find_implausible(layer := small_layer(["a"], mechanism=NAME), tally_of(layer.candidates.size)),
        "discovery.plausibility",
    ),
    "a made-up report": (lambda _: made_up_votes(small_layer(["a"], mechanism=NAME), 10), "aggregation.made_up"),
    "a fast simulation": (lambda people: discover(people, campaign(), fidelity="fast"), "simulation.votes.vote_laws"),
    "an exact simulation": (
        lambda people: discover(people, campaign(), fidelity="exact"),
        "simulation.votes.report_kernels",
    ),
    "the layer of an audit": (lambda _: audit_layer(NAME, 4.0, 1), "audit.audit"),
    "an attack": (lambda _: attack_on(randomizer(NAME, 100, 4.0, 1)), "audit.audit"),
}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_not_known_about_it_is_refused_by_name(part: str, population: Population) -> None:
    call, home = PARTS[part]
    with pytest.raises(ParameterError, match=rf"'{NAME}': register one in neologue\.{home}"):
        call(population)


def test_a_ledger_refuses_it_and_stays_as_it_was(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "ledger")
    ledger.add_population("people", Budget("item", 9.0, 1e-10))
    with pytest.raises(ParameterError, match=r"register one in neologue.ledger.composition"):
        ledger.plan("people", "first", COLLECTION)
    assert ledger.snapshot("people").charges == ()


def test_its_report_travels_from_a_device_to_a_tally() -> None:
    layer = small_layer(["a", "b"], 2, mechanism=NAME)
    told = read_layer(layer.document, layer.known)
    reports = [contribute({"abc": 3, "ba": 1}, told, SeededEntropy(n)) for n in range(300)]
    assert {len(report) for report in reports} == {len(reports[0])}
    assert all(len(report) <= Decoder(layer).longest for report in reports)
    quick = [Decoder(layer).votes(report) for report in reports]
    assert [votes.tolist() for votes in quick] == [read_report(layer, report).tolist() for report in reports]
    votes = Tally.of(layer.candidates.size, (votes.astype(np.int64) for votes in quick)).votes
    held = layer.candidates.index(np.array(["abc", "ba"]))
    channel = layer.randomizer.channel
    expected = channel.mean(np.where(np.isin(np.arange(len(votes)), held), 300, 0), 300)
    spread = np.sqrt(channel.variance(0, 300))
    assert np.abs(votes - expected).max() < 6 * spread


def test_its_local_promise_is_kept() -> None:
    asked = randomizer(NAME, 100, 4.0, 2)
    assert asked.statement.enforced_epsilon <= 4.0
    assert asked.statement.enforced_epsilon == pytest.approx(4.0)
    assert asked.statement.user_epsilon == 8.0


def test_real_devices_find_words_with_it(population: Population) -> None:
    found = discover(population, campaign(), fidelity="devices", seed=1)
    assert {"abc", "a"} <= {word.word for word in found.release.words}
    assert all(word.low <= word.estimate <= word.high for word in found.release.words)
    assert found.release.statement.mechanism == NAME
    hostile = influence(found.release.campaign, found.release.layers, found.release.words, hostile=5)
    assert hostile.words == len(found.release.words)
    assert {layer.votes for layer in hostile.layers} == {5}, "a report votes for a candidate at most once"


def test_what_it_will_find_can_be_foreseen() -> None:
    wanted, words = embedded()
    assert forecast(wanted, words).words > 0


@cache
def lexicon() -> Lexicon:
    known = Vocabulary.builtin("en")
    plain = campaign(users=200_000, known=known, alphabet=Alphabet.named("en"), epsilon=9.0, randomizer="unary")
    return Lexicon.of(Population.embedded("en", 200_000, known=known, seed=1), plain)


def embedded() -> tuple[Campaign, Lexicon]:
    known = Vocabulary.builtin("en")
    return campaign(users=200_000, known=known, alphabet=Alphabet.named("en"), epsilon=9.0), lexicon()


@pytest.fixture
def measured_run(laws: None, population: Population) -> DiscoveryRun:
    return discover(population, campaign(), fidelity="fast", seed=3, measure=Measuring(1000))


def test_a_measured_release_of_it_is_certified(measured_run: DiscoveryRun) -> None:
    document = discovery_document(measured_run)
    read = decode_release(release_text(document).encode(), "release.json")
    certified = certify(read, by_digest(measured_run.documents))
    assert certified.passed, certified
    privacy: Any = document["privacy"]
    assert privacy["item_central"]["best"] == pytest.approx(6.0, abs=1e-5), "only the local promise is proved"
    assert privacy["item_central"]["reasons"] == {
        "sums_only": "nobody has proved one",
        "allocation": f"it is proved for unary reports, and these are {NAME}",
    }
    coverage = measured_run.release.measurement and measured_run.release.measurement.coverage
    assert coverage
    assert coverage.low <= measured_run.score.coverage <= coverage.high


@pytest.mark.usefixtures("laws")
def test_its_law_is_the_one_that_real_devices_have(population: Population) -> None:
    words = [
        {word.word for word in discover(population, campaign(), fidelity=fidelity, seed=5).release.words}
        for fidelity in ("fast", "devices")
    ]
    assert words[0] == words[1] == {"a", "abc", "bca", "ca", "cab"}


@pytest.mark.usefixtures("laws")
def test_a_ledger_charges_what_is_proved(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "ledger")
    ledger.add_population("people", Budget("item", 13.0, 1e-10))
    assert ledger.plan("people", "first", COLLECTION).epsilon == pytest.approx(6.0, abs=1e-4)
    assert ledger.settle("first", COLLECTION).settled == 1


@pytest.mark.usefixtures("laws")
def test_a_plan_keeps_to_its_limits() -> None:
    wanted, words = embedded()

    def campaigns(users: int, epsilon: float | None) -> Campaign:
        return campaign(users=users, known=wanted.known, alphabet=wanted.alphabet, epsilon=epsilon)

    found = plan(campaigns, words, wanted.users, EpsilonLimits(central_epsilon=8.0))
    assert 7.0 < found.campaign.epsilon <= 8.0, "with the local promise alone, it is all that central limits allow"
    assert found.full_layer is None
    assert found.statement["mechanism"] == NAME


@pytest.mark.usefixtures("laws")
def test_its_votes_are_held_to_the_limits_that_are_stated() -> None:
    open_layer, closed_layer = (
        small_layer(["a"], mechanism=NAME, bound=2),
        small_closed_layer(["ab", "abc"], mechanism=NAME, bound=2),
    )
    for layer in (open_layer, closed_layer):
        noise = np.full(layer.randomizer.candidates, int(1000 * float(layer.randomizer.channel.q)) + 5)
        assert find_implausible(layer, Tally(noise, 1000)) == []
        assert find_implausible(layer, Tally(np.full_like(noise, 1000), 1000))


def test_every_other_randomizer_has_a_row_in_every_table() -> None:
    there = RANDOMIZERS.keys() - {NAME}
    tables: tuple[dict[str, Any], ...] = (
        ACCOUNTING,
        MOST_VOTED_LAWS,
        COMPOSITIONS,
        CLOSED_DOMAINS,
        PLAUSIBILITY,
        VOTE_LAWS,
        REPORTS,
        ATTACKS,
    )
    assert [table.keys() for table in tables] == [there] * len(tables)
