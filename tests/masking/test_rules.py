"""The rules of a campaign's groups: what follows from them, and which can't be kept."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from groups import ISSUERS
from neologue.errors import MaskingError, ParameterError
from neologue.masking.rules import GroupRules, groups_of, most_corrupt
from neologue.masking.terms import Promise


def test_the_defaults_can_be_kept() -> None:
    """For 200,000 devices."""
    rules = GroupRules(groups=groups_of(200_000, GroupRules.smallest))
    assert rules.groups == 5716
    assert (rules.fewest, rules.corrupt, rules.honest) == (88, 23, 47)
    assert rules.promise(ISSUERS.keys) == Promise(70, 20, 23, ISSUERS.keys)


@given(
    st.integers(20, 300),
    st.integers(3, 300),
    st.integers(0, 30),
    st.integers(0, 15),
    st.sampled_from([1e-3, 1e-6, 1e-12]),
    st.integers(1, 10_000),
)
def test_a_group_that_begins_survives_the_dropouts_it_must(
    size: int, smallest: int, dropout: int, share: int, risk: float, groups: int
) -> None:
    try:
        rules = GroupRules(size, smallest, dropout, share, risk, groups)
    except ParameterError:
        return
    for devices in range(rules.fewest, size + 1):
        stay = devices - -(-devices * dropout // 100)
        assert stay >= smallest
        assert 2 * (stay - rules.corrupt) > devices - rules.corrupt, "no majority of the honest ones"
    assert not rules.survives(rules.fewest - 1)
    assert rules.honest == smallest - rules.corrupt >= 2


class TestCorruptDevices:
    def test_a_share_of_the_population_is_not_the_share_of_a_group(self) -> None:
        """At a share of 5 per cent, 38 per cent of all groups of 100 have more than 5 corrupt devices."""
        assert stats.binom.sf(5, 100, 0.05) == pytest.approx(0.384, abs=5e-4)
        assert most_corrupt(100, 5, 0.385, 1) == 5
        assert most_corrupt(100, 5, 1e-6, 1) > 5

    @pytest.mark.parametrize("size", [12, 100, 1000])
    @pytest.mark.parametrize("share", [1, 5, 30])
    @pytest.mark.parametrize(("risk", "groups"), [(1e-2, 1), (1e-6, 100), (1e-6, 6000)])
    def test_it_is_the_smallest_number_that_is_exceeded_seldom_enough(
        self, size: int, share: int, risk: float, groups: int
    ) -> None:
        most = most_corrupt(size, share, risk, groups)
        assert stats.binom.sf(most, size, share / 100) * groups <= risk * (1 + 1e-9)
        assert most == 0 or stats.binom.sf(most - 1, size, share / 100) * groups > risk * (1 - 1e-9)

    def test_it_is_not_rounded_in_our_favour(self) -> None:
        """Of a group of 3 all are corrupt with a chance of .001, exactly; of a risk just below, all may be."""
        exact = Fraction(1, 1000)
        for risk in (0.001, 0.000_999_999_999_999_9, 0.001_000_000_000_000_1):
            assert most_corrupt(3, 10, risk, 1) == (2 if Fraction(risk) >= exact else 3)

    def test_none_are_corrupt_in_a_population_without_any(self) -> None:
        assert most_corrupt(100, 0, 1e-12, 1) == 0

    def test_a_campaign_has_twice_the_groups_that_can_yield_sums(self) -> None:
        assert groups_of(1000, 70) == 30
        assert groups_of(1, 70) == 2


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ((100, 90, 20, 5), "80 devices stay, and 90 must be"),
        ((100, 2, 20, 5), "not 2"),
        ((5_000, 50, 20, 5), "5,000"),
        ((100, 50, 40, 5), "40"),
        ((100, 50, 20, 31), "31"),
        ((100, 19, 20, 5), "less than two honest"),
        ((100, 30, 30, 25), "no majority of honest devices; make the group larger"),
        ((100, 50, 20, 5, 0.0), "risk .* not 0"),
        ((100, 50, 20, 5, 0.6), "not 0.6"),
        ((100, 50, 20, 5, 1e-6, 0), "not 0"),
    ],
)
def test_rules_that_can_not_be_kept_are_refused(rules: tuple[int, int, int, int], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        GroupRules(*rules)


@pytest.mark.parametrize("name", ["size", "smallest", "dropout", "corruption", "groups"])
@pytest.mark.parametrize("value", [5.5, 40.0, float("inf"), float("nan"), 1e300, True, "40", None])
def test_rules_are_whole_numbers(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=f"the {name} of groups must be a whole number, not"):
        GroupRules(**{"size": 2000, "smallest": 1000, name: value})


def test_a_promise_is_six_bytes_and_the_issuers() -> None:
    promise = Promise(300, 20, 7, (bytes(range(32)), bytes(32)))
    assert bytes(promise).hex() == "012c14000702" + bytes(range(32)).hex() + bytes(32).hex()
    assert Promise.parse(bytes(promise)) == promise


@pytest.mark.parametrize(
    "body",
    [
        "",
        "0032140005",
        "003214000500",  # nobody vouches
        "003214000501",
        "003214000501" + "00" * 31,
        "003214000501" + "00" * 33,
        "003214000502" + "00" * 64,  # one of them twice
        "000214000501" + "00" * 32,
        "ffff14000501" + "00" * 32,
        "00321f000501" + "00" * 32,  # more dropouts than any group survives
        "003214ffff01" + "00" * 32,
    ],
)
def test_bytes_that_promise_nothing_are_refused(body: str) -> None:
    with pytest.raises(MaskingError):
        Promise.parse(bytes.fromhex(body))
