"""What few people report may be shown by any campaign: chances add up."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import ParameterError
from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.anonymity_chances import NO_PROMISE, AnonymityChances
from neologue.privacy.anonymity.thresholds import AnonymityPromise

PROMISE = AnonymityPromise(10, 0.95, 1e-6, 1, passes=2)
NEOLOGUE = AnonymityChances.of(PROMISE)


def test_a_campaign_has_the_chances_of_its_whole_release() -> None:
    assert AnonymityChances(10, 0.05, 1e-6, 1) == NEOLOGUE
    assert AnonymityChances.of(replace(PROMISE, groups=GroupRules())) == AnonymityChances(10, 0.05, 1e-6, 0)
    assert AnonymityChances.of(replace(PROMISE, groups=GroupRules(limited=True))) == NEOLOGUE


@pytest.mark.parametrize("k", [0, 1])
def test_what_is_not_promised_may_always_happen(k: int) -> None:
    nothing = AnonymityChances.of(AnonymityPromise(k, 0.95, 0.0, 3))
    assert nothing == NO_PROMISE == AnonymityChances(0, 1.0, 1.0, 0)
    assert NEOLOGUE + nothing == nothing


def test_campaigns_add_up_as_decimals_and_the_weakest_promise_holds() -> None:
    other = AnonymityChances.of(AnonymityPromise(7, 0.9, 1e-4, 5))
    assert NEOLOGUE + other == AnonymityChances(7, 0.15, 1.01e-4, 1)


@given(st.lists(st.floats(1e-15, 0.5), min_size=2, max_size=20))
def test_sums_are_never_rounded_down_and_never_above_one(chances: list[float]) -> None:
    total, *others = (AnonymityChances(10, chance, chance, 0) for chance in chances)
    for other in others:
        total += other
    exact = sum(Decimal(repr(chance)) for chance in chances)
    assert min(exact, 1) <= Decimal(repr(total.chance)) <= 1
    assert total.unique_chance <= float(exact) * (1 + 1e-13)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((-1, 0.1, 0.1, 0), "k must be 0, for no promise, or from 2 to 1,000,000, not -1"),
        ((1, 0.1, 0.1, 0), "not 1"),
        ((10**6 + 1, 0.1, 0.1, 0), "not 1000001"),
        ((10, 0.0, 0.1, 0), "the chance for k must be above 0 and at most 1, not 0.0"),
        ((10, float("nan"), 0.1, 0), "not nan"),
        ((10, 0.1, 1.1, 0), "the chance for unique words must be above 0 and at most 1, not 1.1"),
        ((0, 0.1, 0.1, 0), "a chance of 0.1 for no k says nothing: give a k, or a chance of 1"),
        ((10, 0.1, 0.1, -1), "hostile devices are from 0 to 1,000,000, not -1"),
        ((10, 0.1, 0.1, 10**30), "hostile devices are from 0"),
    ],
)
def test_what_no_campaign_can_promise_is_refused(wrong: tuple[int, float, float, int], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        AnonymityChances(*wrong)
