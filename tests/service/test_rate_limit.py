"""How much one address may ask."""

import pytest

from neologue.service.api import rate_limit
from neologue.service.api.rate_limit import LONGEST_WAIT, Limit, Standing


def test_what_is_taken_comes_back_with_time() -> None:
    limit = Limit(per_second=2.0, at_once=3.0)
    assert [limit.take("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert limit.wait("a", 0.25) == pytest.approx(0.25)
    assert limit.take("b", 0.25) == 0.0, "each has its own"
    assert limit.take("a", 0.5) == 0.0
    assert limit.take("a", 0.5) == 0.5
    assert [limit.take("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5], "never more than at once"


def test_to_look_takes_nothing_and_remembers_nobody() -> None:
    limit = Limit(per_second=1.0, at_once=1.0)
    assert [limit.wait("a", 0.0) for _ in range(3)] == [0.0] * 3
    assert not limit._buckets
    limit.owe("a", 0.0)
    assert limit.wait("a", 0.0) == 1.0


def test_who_asked_the_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "REMEMBERED", 2)
    limit = Limit(per_second=1.0, at_once=1.0)
    for address in ("a", "b", "a", "c"):
        limit.owe(address, 0.0)
    assert list(limit._buckets) == ["a", "c"]


def test_nobody_waits_longer_than_stated_however_many_failures_come_together() -> None:
    limit = Limit(per_second=2.0, at_once=120.0)
    for _ in range(10_000):
        limit.owe("a", 0.0)
    assert limit.wait("a", 0.0) == LONGEST_WAIT
    assert limit.wait("a", LONGEST_WAIT) == 0.0


def test_a_request_that_took_long_takes_nothing_that_has_come_since() -> None:
    limit = Limit(per_second=1.0, at_once=3.0)
    assert [limit.take("a", 0.0) for _ in range(3)] == [0.0] * 3
    assert limit.wait("a", 3.0) == 0.0
    limit.owe("a", 0.0)
    assert [limit.take("a", 3.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_requests_under_way_count_until_they_are_known_to_be_right() -> None:
    limit = Limit(per_second=1.0, at_once=2.0)
    first, second, third = (Standing(limit, "a", 0.0) for _ in range(3))
    assert [standing.suspect for standing in (first, second, third)] == [False, False, True]
    third.vouch()
    assert not third.suspect, "a ticket is worth more than its address"
    first.vouch()
    fourth = Standing(limit, "a", 0.0)
    assert not fourth.suspect, "the first is known to be right, and is waited for by nobody"
    for standing in (first, second, third, fourth):
        standing.end(False, 0.0)
    assert [Standing(limit, "a", 0.0).suspect for _ in range(3)] == [False, False, True]


def test_a_failure_costs_one_whether_it_was_reserved_or_not() -> None:
    limit = Limit(per_second=1.0, at_once=1.0)
    for _ in range(3):
        Standing(limit, "a", 0.0).end(True, 0.0)
    assert limit.wait("a", 0.0) == 3.0
    vouched = Standing(limit, "a", 3.0)
    vouched.vouch()
    vouched.end(True, 3.0)
    assert limit.wait("a", 3.0) == 1.0, "a hostile device fails too"
