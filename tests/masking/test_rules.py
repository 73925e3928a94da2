"""The rules of a campaign's groups: what follows from them, and which can't be kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import MaskingError, ParameterError
from neologue.masking.rules import GroupRules
from neologue.masking.terms import Promise


def test_the_defaults_can_be_kept() -> None:
    rules = GroupRules()
    assert (rules.fewest, rules.corrupt, rules.honest) == (63, 5, 45)
    assert rules.promise == Promise(50, 5)


@given(st.integers(20, 300), st.integers(3, 300), st.integers(0, 30), st.integers(0, 15))
def test_a_group_that_begins_survives_the_dropouts_it_must(size: int, smallest: int, dropout: int, rate: int) -> None:
    try:
        rules = GroupRules(size, smallest, dropout, rate)
    except ParameterError:
        return
    for devices in (rules.fewest, size):
        assert devices - -(-devices * dropout // 100) >= smallest
    assert not rules.survives(rules.fewest - 1)
    assert rules.honest == smallest - -(-size * rate // 100) >= 2


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ((100, 90, 20, 5), "80 devices stay, and 90 must be"),
        ((100, 2, 20, 5), "not 2"),
        ((5_000, 50, 20, 5), "5,000"),
        ((100, 50, 40, 5), "40"),
        ((100, 50, 20, 31), "31"),
        ((100, 10, 20, 10), "less than two honest"),
    ],
)
def test_rules_that_can_not_be_kept_are_refused(rules: tuple[int, int, int, int], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        GroupRules(*rules)


def test_a_promise_is_three_bytes() -> None:
    promise = Promise(300, 7)
    assert bytes(promise).hex() == "012c07"
    assert Promise.parse(bytes(promise)) == promise


@pytest.mark.parametrize("body", ["", "0032", "00320505", "000205", "003220", "ffff05"])
def test_bytes_that_promise_nothing_are_refused(body: str) -> None:
    with pytest.raises(MaskingError):
        Promise.parse(bytes.fromhex(body))
