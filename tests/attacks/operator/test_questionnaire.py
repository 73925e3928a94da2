"""An operator asks one device about a few words of their own choice, and reads the answers off its report.

Each attack is run against the device's own code, first without the limits that are against it, to show that it works.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from invitations import OPERATOR, SMALL_LAYERS, campaign_id, default_policy, policy
from neologue.device.contribution import contribute
from neologue.device.policy import Policy
from neologue.entropy import SeededEntropy
from neologue.errors import PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import root, strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import invite
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.report import read_report

QUESTIONS = [f"{subject}{number}" for subject in ("diet", "dose", "fear", "loan") for number in "abcdefghij"]
ALPHABET = Alphabet("abcdefghijklmnopqrstuvwxyz")
DEVICES = 60


def questionnaire(mechanism: str = "subset-selection", epsilon: float = 10.0, **changes: Any) -> ClosedLayer:  # noqa: ANN401
    """A closed layer of forty words that nobody has to have found."""
    layer = ClosedLayer(
        layer_size=1_000_000,
        alphabet=ALPHABET,
        words=strings(QUESTIONS),
        depth=8,
        mechanism=mechanism,
        epsilon=epsilon,
        bound=len(QUESTIONS),
        known=Vocabulary.empty(),
    )
    return replace(layer, **changes)


def devices() -> list[set[str]]:
    """What each of some devices would say yes to: about a quarter of the questions."""
    dice = np.random.default_rng(0)
    return [{question for question in QUESTIONS if dice.random() < 0.25} for _ in range(DEVICES)]


def read_without_error(layer: ClosedLayer, held: set[str], seed: int) -> bool:
    """Whether the votes of one report are just the questions that its device would say yes to."""
    votes = read_report(layer, contribute(dict.fromkeys(held, 1), layer, SeededEntropy(seed)))
    return set(layer.words[votes[votes < len(layer.words)]].tolist()) == held


def answers(by: Policy, layer: Layer | ClosedLayer) -> bool:
    """Whether a device with this policy answers."""
    try:
        by.check(invite(campaign_id(1), layer, OPERATOR))
    except PolicyError:
        return False
    return True


def test_without_limits_on_an_answer_one_report_reads_nearly_every_device() -> None:
    layer = questionnaire()
    assert answers(policy(), layer)
    assert sum(read_without_error(layer, held, seed) for seed, held in enumerate(devices())) >= 54


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("epsilon", [10.0, 7.0, 5.0])
def test_by_default_a_device_answers_no_questionnaire(mechanism: str, epsilon: float) -> None:
    assert answers(policy(), questionnaire(mechanism, epsilon))
    assert not answers(default_policy(), questionnaire(mechanism, epsilon))


@pytest.mark.parametrize("limit", ["largest_closed_vote_ratio", "largest_silence_ratio", "fewest_noise_votes"])
def test_each_limit_alone_refuses_it_and_says_what_the_owner_can_change(limit: str) -> None:
    alone = policy(**{limit: getattr(Policy, limit)})
    with pytest.raises(PolicyError, match=f"its owner can change {limit}"):
        alone.check(invite(campaign_id(1), questionnaire(), OPERATOR))


def test_a_list_is_answered_only_if_a_log_shows_it_or_the_owner_allows_it() -> None:
    """Within all other limits: what others can see of it is what is asked here."""
    fillers = ["".join(ALPHABET.characters[index // 26**place % 26] for place in range(3)) for index in range(700)]
    listed = questionnaire("unary", 4.5, words=strings(sorted({*QUESTIONS, *fillers})))
    with pytest.raises(PolicyError, match=r"the list of 740 words .*\(quorum\), or allow .*\(allow_unlogged_lists\)"):
        default_policy().check(invite(campaign_id(1), listed, OPERATOR))
    key, witness = bytes(32), bytes(range(32))
    demanding = default_policy(logs=frozenset({key}), witnesses=frozenset({witness}), quorum=1)
    assert answers(demanding, listed), "that the log has the layer is checked by the client, which has the proof"
    assert not answers(default_policy(logs=frozenset({key}), witnesses=frozenset({witness})), listed)
    assert answers(default_policy(allow_unlogged_lists=True), listed)


def test_a_questionnaire_padded_with_other_words_is_refused_for_what_a_vote_says() -> None:
    padding = ["".join(ALPHABET.characters[index // 26**place % 26] for place in range(5)) for index in range(70_000)]
    padded = questionnaire("unary", words=strings(sorted({*QUESTIONS, *padding})))
    with pytest.raises(PolicyError, match="multiply the odds that a word is held by 11,013"):
        default_policy().check(invite(campaign_id(1), padded, OPERATOR))


def test_targets_are_refused_unless_the_owner_allows_them() -> None:
    layer = ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=1_000_000,
        alphabet=ALPHABET,
        frontier=root(ALPHABET),
        extension=3,
        depth=8,
        mechanism="unary",
        epsilon=10.0,
        bound=60,
        sampler="random",
        known=Vocabulary.empty(),
        targets=frozenset(QUESTIONS),
    )
    assert answers(default_policy(allow_targets=True), layer)
    assert answers(default_policy(), replace(layer, targets=None))
    with pytest.raises(
        PolicyError, match=r"list of 40 that the operator made .*its owner can allow it \(allow_targets\)"
    ):
        default_policy().check(invite(campaign_id(1), layer, OPERATOR))


def test_the_limits_that_are_off_in_tests_are_those_on_an_answer() -> None:
    """So that a limit that is added here is not left off there unseen."""
    assert {limit for limit in SMALL_LAYERS if getattr(policy(), limit) != getattr(default_policy(), limit)} == {
        "largest_vote_ratio",
        "largest_closed_vote_ratio",
        "largest_silence_ratio",
        "fewest_noise_votes",
        "allow_targets",
        "allow_unlogged_lists",
    }


def test_a_question_hidden_among_many_candidates_is_still_answered_as_far_as_epsilon_permits() -> None:
    """What no limit on a layer prevents, as docs/device-policy.md says: only a smaller ε does."""
    layer = ExtendingLayer(
        pass_number=1,
        number=2,
        layer_size=1_000_000,
        alphabet=ALPHABET,
        frontier=strings(["dieta", "fearb", "xqzjk", "zzqxv"]),
        extension=3,
        depth=8,
        mechanism="unary",
        epsilon=10.0,
        bound=60,
        sampler="random",
        known=Vocabulary.empty(),
    )
    assert answers(default_policy(), layer)
    assert float(layer.randomizer.channel.p) == 0.5
    assert 11_013 < layer.randomizer.channel.vote_ratio < 11_014
    assert not answers(default_policy(largest_vote_ratio=50.0), layer)
    assert not answers(default_policy(largest_epsilon=4.0), layer)
