"""A measurement that people's devices would refuse by default is refused before anybody is asked."""

import pytest

from invitations import OPERATOR, campaign_id, default_policy
from neologue.errors import ParameterError, PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import invite
from service.campaigns import definition

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [a + b for a in LETTERS for b in LETTERS]


def is_answered(epsilon: float) -> bool:
    """Whether a device answers a long closed list, of an owner who allows that it is in no log."""
    layer = ClosedLayer(
        layer_size=1000,
        alphabet=Alphabet(LETTERS),
        words=strings(WORDS),
        depth=2,
        mechanism="unary",
        epsilon=epsilon,
        bound=60,
        known=Vocabulary.empty(),
    )
    try:
        default_policy(allow_unlogged_lists=True).check(invite(campaign_id(1), layer, OPERATOR))
    except PolicyError:
        return False
    return True


def check(epsilon: float, **changes: object) -> None:
    parameters = {"epsilon": epsilon, "frontier": len(WORDS), "candidates": 200_000}
    definition(devices=5000, measure_devices=500, answer_seconds=60.0, parameters=parameters, **changes).check()


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 4.59, 4.6, 7.0, 10.0])
def test_a_campaign_measures_with_an_epsilon_that_devices_accept_by_default_and_no_other(epsilon: float) -> None:
    if is_answered(epsilon):
        check(epsilon)
        return
    with pytest.raises(ParameterError, match=r"devices refuse more than 50: give an ε of at most 4.59, or") as caught:
        check(epsilon)
    assert caught.value.parameter == "measure_devices"
    assert f"at ε = {epsilon:g} a vote on a word of the list" in str(caught.value)


def test_devices_that_are_the_operator_s_own_or_allow_more_measure_with_any_epsilon() -> None:
    check(10.0, rehearsal=True)
    check(10.0, largest_closed_vote_ratio=22_100.0)
    with pytest.raises(ParameterError, match="devices refuse more than 11000"):
        check(10.0, largest_closed_vote_ratio=11_000.0)
    with pytest.raises(ParameterError, match="largest closed vote ratio must be at least 1, not nan"):
        check(1.0, largest_closed_vote_ratio=float("nan"))
