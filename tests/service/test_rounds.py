"""The rounds of a live campaign, with time as an argument."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from neologue.protocol.slot import SLOTS
from neologue.service.campaigns.rounds import LOOKS, Round, Rules, advance_round, open_round, resume_round, rounds_ahead

RULES = Rules(devices=100_000, reserve=0.0, seconds=800.0, batch=100, smallest=200, most_extensions=2)


def seen(round_: Round, now: float, **changes: int) -> Round:
    """The round at a later time, which is not over."""
    later = advance_round(replace(round_, **changes), RULES, now)
    assert later is not None
    return later


def test_a_round_invites_its_group_and_a_few_more_behind_those_invited_before() -> None:
    first = open_round(10_000, 0, RULES, now=50.0)
    assert first.high == -(-10_200 * SLOTS // 100_000)
    assert (first.opened, first.deadline) == (50.0, 850.0)
    second = open_round(10_000, first.high, RULES, now=900.0)
    assert second.low == first.high


def test_a_round_invites_its_part_of_the_reserve_at_once() -> None:
    with_reserve = replace(RULES, reserve=0.2)
    assert open_round(10_000, 0, with_reserve, now=0.0).high == -(-12_500 * SLOTS // 100_000)
    # All rounds together have room for all devices, however many they are.
    low = 0
    for _ in range(8):
        low = open_round(10_000, low, with_reserve, now=0.0).high
    assert SLOTS - 8 <= low <= SLOTS


def test_whoever_is_rounds_away_need_not_ask_in_each() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    for device, rounds in ((10_201, 0), (30_000, 0), (30_201, 1), (70_201, 3), (99_999, 4)):
        assert rounds_ahead(device * SLOTS // 100_000, first, RULES.devices) == rounds
    # Even if all rounds have to invite twice as many as they want, nobody's is over before they ask again.
    later = first
    for _ in range(3):
        later = open_round(20_000, later.high, RULES, now=0.0)
    assert rounds_ahead(later.high, first, RULES.devices) <= 3


def test_slots_end_where_the_devices_do() -> None:
    assert open_round(200_000, SLOTS // 2, RULES, now=0.0).high == SLOTS


def test_a_round_is_over_once_no_batch_fits_any_more() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    assert advance_round(replace(first, reports=9_901), RULES, now=1.0) is None
    assert advance_round(replace(first, reports=9_900), RULES, now=1.0) is not None


def test_a_round_that_keeps_up_invites_nobody_else() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    halfway = seen(first, 400.0, reports=5_000)
    assert halfway.high == first.high
    assert halfway.looks == LOOKS // 2


def test_a_round_that_lags_invites_as_many_as_it_lags_by_once_for_every_look() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    halfway = seen(first, 400.0, reports=2_000)
    assert halfway.high == first.high + -(-3_000 * SLOTS // 100_000)
    assert seen(halfway, 450.0) == halfway
    assert seen(halfway, 500.0).high > halfway.high


def test_with_enough_reports_the_deadline_ends_it() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    assert advance_round(replace(first, reports=200), RULES, now=800.0) is None


def test_with_too_few_it_waits_as_long_again_and_not_for_ever() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    again = seen(first, 800.0, reports=199)
    assert (again.deadline, again.extensions) == (1600.0, 1)
    assert seen(again, 1600.0).extensions == 2
    assert advance_round(replace(again, reports=199), RULES, now=2400.0) is None, "both extensions are used up by then"
    assert advance_round(replace(first, reports=0), replace(RULES, most_extensions=0), now=800.0) is None


def test_a_service_that_was_away_for_weeks_counts_all_the_extensions_it_missed() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    patient = replace(RULES, most_extensions=100_000)
    later = advance_round(first, patient, now=5_000 * RULES.seconds + 1)
    assert later
    assert (later.extensions, later.deadline) == (5_000, 5_001 * RULES.seconds)


def test_a_pause_does_not_count() -> None:
    first = open_round(10_000, 0, RULES, now=0.0)
    assert advance_round(replace(resume_round(first, 10_000.0), reports=1), RULES, now=10_100.0) is not None
    assert advance_round(replace(first, reports=250), RULES, now=10_100.0) is None


@given(
    groups=st.lists(st.integers(1, 30_000), min_size=1, max_size=12),
    looks=st.lists(st.tuples(st.floats(0, 5000), st.integers(0, 30_000)), max_size=10),
)
def test_rounds_never_share_a_slot_and_never_take_one_back(groups: list[int], looks: list[tuple[float, int]]) -> None:
    low, now = 0, 0.0
    for layer_size in groups:
        round_ = open_round(layer_size, low, RULES, now)
        assert low == round_.low <= round_.high <= SLOTS
        for after, reports in looks:
            later = advance_round(replace(round_, reports=min(reports, layer_size)), RULES, now + after)
            if later is None:
                break
            assert later.low == round_.low
            assert round_.high <= later.high <= SLOTS
            round_ = later
        low, now = round_.high, now + 10_000.0
