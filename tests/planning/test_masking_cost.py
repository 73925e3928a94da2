"""What masks cost a device, as a plan says it."""

from neologue.masking.rules import GroupRules
from neologue.masking.terms import MaskingGroup, Terms
from neologue.masking.traffic import download_bytes, upload_bytes
from neologue.planning.masking_cost import candidates_within, masking_cost

RULES = GroupRules(20, 12, 20, 1)


def test_bytes_are_those_of_a_full_group() -> None:
    cost = masking_cost(RULES, 5_000, votes=1)
    group = MaskingGroup(Terms(bytes(16), bytes(32), 5_000, 1, 12, 20, RULES.corrupt), 20)
    assert (cost.sent_bytes, cost.received_bytes) == (upload_bytes(group), download_bytes(group))
    assert (cost.neighbours, cost.threshold) == (group.neighbourhood.degree, group.neighbourhood.threshold)


def test_the_work_is_measured_and_grows_with_the_candidates() -> None:
    few, many = (masking_cost(RULES, candidates, votes=1).milliseconds for candidates in (10, 5_000_000))
    assert 0 < few < many


def test_as_many_candidates_as_fit() -> None:
    most = candidates_within(10_000, RULES, votes=1)
    assert masking_cost(RULES, most, votes=1).sent_bytes <= 10_000
    assert masking_cost(RULES, most + 2, votes=1).sent_bytes > 10_000
    assert candidates_within(10, RULES, votes=1) == 0
