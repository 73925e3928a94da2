"""An operator is told what devices refuse by default, before anybody is asked."""

from invitations import OPERATOR, campaign_id, default_policy
from neologue.cli.campaign import refusals_by_default
from neologue.errors import PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import invite


def is_measured(epsilon: float) -> bool:
    """Whether a device answers a long closed list by default."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    layer = ClosedLayer(
        layer_size=1000,
        alphabet=Alphabet(letters),
        words=strings([a + b for a in letters for b in letters]),
        depth=2,
        mechanism="unary",
        epsilon=epsilon,
        bound=60,
        known=Vocabulary.empty(),
    )
    try:
        default_policy().check(invite(campaign_id(1), layer, OPERATOR))
    except PolicyError:
        return False
    return True


def test_a_campaign_that_all_devices_answer_has_no_note() -> None:
    assert refusals_by_default(10.0, measured=False, targets=False) == []


def test_targets_have_a_note() -> None:
    (note,) = refusals_by_default(1.0, measured=False, targets=True)
    assert "allow_targets" in note


def test_a_measurement_has_a_note_where_devices_refuse_it() -> None:
    for epsilon in (1.0, 4.0, 4.59, 4.6, 7.0, 10.0):
        assert bool(refusals_by_default(epsilon, measured=True, targets=False)) is not is_measured(epsilon)
    (note,) = refusals_by_default(10.0, measured=True, targets=False)
    assert "multiplies the odds of a word by 11,014" in note
    assert "largest_closed_vote_ratio" in note
