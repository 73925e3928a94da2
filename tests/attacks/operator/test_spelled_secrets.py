"""An operator spells a secret of one device, some letters with each campaign, and gives each device layers of its own.

A secret is a string that nobody could guess: all strings are equally likely before.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from invitations import OPERATOR, campaign_id, default_policy, policy
from neologue.device.contribution import contribute
from neologue.entropy import SeededEntropy
from neologue.errors import PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Strings, root, strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.invitation import invite
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.report import read_report
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

ALPHABET = Alphabet("abcdefghijklmnopqrstuvwxyz")
LETTERS = 6
ONE = Fraction(1)


def layer_about(frontier: Strings, extension: int, mechanism: str, epsilon: float) -> Layer:
    """A layer for one device, which says that it asks a million."""
    return ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=1_000_000,
        alphabet=ALPHABET,
        frontier=frontier,
        extension=extension,
        depth=LETTERS,
        mechanism=mechanism,
        epsilon=epsilon,
        bound=1,
        sampler="random",
        known=Vocabulary.empty(),
    )


def secrets(count: int) -> list[str]:
    dice = np.random.default_rng(0)
    return ["".join(dice.choice(list(ALPHABET.characters), LETTERS)) for _ in range(count)]


def spelled(secret: str, seed: int) -> bool:
    """Whether three campaigns within the lifetime ε, two letters each, end with the secret."""
    entropy = SeededEntropy(seed)
    prefix = ""
    for number in range(3):
        frontier, extension = (strings([prefix]), 2) if prefix else (root(ALPHABET), 1)
        layer = layer_about(frontier, extension, "subset-selection", 6.6)
        policy().check(invite(campaign_id(number), layer, OPERATOR), Fraction(6.6) * number)
        votes = read_report(layer, contribute({secret: 1}, layer, entropy))
        if not len(votes):
            return False
        (prefix,), (ended,) = layer.candidates.prefixes(votes[:1])
        if ended:
            return False
    return str(prefix) == secret


def test_without_limits_on_an_answer_three_campaigns_spell_every_eighth_secret() -> None:
    # Each step succeeds with e^6.6 / (e^6.6 + 702) = 0.51; by chance one secret in 300 million would be right.
    assert sum(spelled(secret, seed) for seed, secret in enumerate(secrets(120))) >= 10


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("epsilon", [6.6, 10.0])
@pytest.mark.parametrize(
    ("frontier", "extension"), [(root(ALPHABET), 1), (strings(["se"]), 2), (strings(["sec"]), 1)], ids=["1", "2", "3"]
)
def test_by_default_a_device_answers_none_of_these_layers(
    frontier: Strings, extension: int, mechanism: str, epsilon: float
) -> None:
    asked = invite(campaign_id(1), layer_about(frontier, extension, mechanism, epsilon), OPERATOR)
    policy().check(asked)
    with pytest.raises(PolicyError, match=r"fewest_noise_votes|largest_silence_ratio"):
        default_policy().check(asked)


def guesses_that_are_right(layer: Layer, devices: int) -> int:
    """How often a vote taken at random from a report is the candidate that its device holds, whichever that is."""
    dice = np.random.default_rng(1)
    right = 0
    for seed, held in enumerate(dice.integers(0, layer.candidates.size, devices)):
        votes = layer.randomizer.votes(layer.randomizer.randomize(np.array([held]), SeededEntropy(seed)))
        right += int(len(votes) and votes[dice.integers(len(votes))] == held)
    return right


def test_who_keeps_to_the_default_limits_guesses_a_secret_as_rarely_as_is_proved() -> None:
    devices = 400
    for frontier, admitted in ((strings(list("abcd")), True), (strings(["a"]), False)):
        layer = layer_about(frontier, 3, "unary", 10.0)
        channel = layer.randomizer.channel
        if admitted:
            default_policy().check(invite(campaign_id(1), layer, OPERATOR))
        proved = float(channel.vote_ratio / layer.candidates.size)
        most = float(channel.p) / default_policy().fewest_noise_votes
        assert (proved <= most) is admitted
        right = guesses_that_are_right(layer, devices)
        # Four standard deviations; a layer of a quarter of the candidates shows that the test can fail.
        assert (right <= devices * most + 4 * math.sqrt(devices * most * (1 - most))) is admitted


@pytest.mark.parametrize("candidates", [1, 2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_a_guess_improves_by_at_most_the_vote_ratio(candidates: int, epsilon: float) -> None:
    """The theorem of docs/device-policy.md, from every report there is."""
    channel = Unary(candidates, epsilon, 1).channel
    p, q = channel.p, channel.q
    chance = Fraction(0)  # of the best guess, if each candidate is as likely as the others
    for report in product((False, True), repeat=candidates):
        silent = math.prod((q if vote else 1 - q for vote in report), start=Fraction(1))
        chance += max(silent * (p / q if vote else (1 - p) / (1 - q)) for vote in report) / candidates
    ones = 1 - (1 - q) ** candidates
    assert chance == (p / q * ones + (1 - p) * (1 - q) ** (candidates - 1)) / candidates
    assert chance <= channel.vote_ratio / candidates
    assert chance <= p / (candidates * q)


@pytest.mark.parametrize(("candidates", "epsilon", "bound"), [(3, 1.0, 2), (4, 3.0, 2), (4, 0.3, 2), (3, 2.0, 3)])
def test_a_guess_from_subsets_improves_by_at_most_what_is_proved(candidates: int, epsilon: float, bound: int) -> None:
    """The same for Subset Selection: one contribution holds the secret, nobody knows which, and the others γ."""
    selection = SubsetSelection(candidates, epsilon, bound)
    p, size, null = selection.channel.p, selection.subset_size, candidates
    subsets = list(combinations(range(selection.domain), size))

    def law(subset: tuple[int, ...], word: int) -> Fraction:
        has = p / math.comb(candidates, size - 1)
        return has if word in subset else (1 - p) / math.comb(candidates, size)

    def mixed(report: tuple[tuple[int, ...], ...], held: int) -> Fraction:
        ways = (
            math.prod((law(subset, held if place == j else null) for place, subset in enumerate(report)), start=ONE)
            for j in range(bound)
        )
        return sum(ways, start=Fraction(0)) / bound

    chance = Fraction(0)
    for report in product(subsets, repeat=bound):
        chance += max(mixed(report, held) for held in range(candidates))
    chance /= candidates
    pairs = math.comb(bound, 2) * candidates * selection.channel.q**2
    assert chance <= (selection.worst_ratio / bound * (1 + pairs) + 1) / candidates
    assert chance > Fraction(1, candidates)
