"""What few people report may be shown by any campaign: chances add up."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.privacy.anonymity import AnonymityPromise
from neologue.privacy.anonymity_chances import AnonymityChances

NEOLOGUE = AnonymityPromise(10, 0.95, 1e-6, 1, passes=2)


def test_a_campaign_has_the_chances_of_its_whole_release() -> None:
    assert AnonymityChances.of(NEOLOGUE) == AnonymityChances(10, 1 - 0.95, 1e-6, 1)
    assert AnonymityChances.of(NEOLOGUE, masked=True).hostile_devices == 0


def test_what_is_not_promised_may_always_happen() -> None:
    nothing = AnonymityChances.of(AnonymityPromise(0, 0.95))
    assert nothing == AnonymityChances(0, 1.0, 1.0, 0)
    assert AnonymityChances.of(NEOLOGUE) + nothing == nothing


def test_campaigns_add_up_and_the_weakest_promise_holds() -> None:
    other = AnonymityChances.of(AnonymityPromise(7, 0.9, 1e-4, 5))
    both = AnonymityChances.of(NEOLOGUE) + other
    assert (both.k, both.hostile_devices) == (7, 1)
    assert both.chance == pytest.approx(0.15)
    assert both.unique_chance == pytest.approx(1.01e-4)


@given(st.lists(st.floats(1e-15, 0.5), min_size=1, max_size=20))
def test_sums_are_never_rounded_down_and_never_above_one(chances: list[float]) -> None:
    total = AnonymityChances(10, 0.0, 0.0, 0)
    for chance in chances:
        total += AnonymityChances(10, chance, chance, 0)
    exact = sum(map(Fraction, chances))
    assert min(exact, 1) <= total.chance <= 1
    assert total.unique_chance <= float(exact) * (1 + 1e-12)
