"""How much one address may ask."""

import pytest

from neologue.service.api import rate_limit
from neologue.service.api.rate_limit import Limit


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
    limit.count("a", 0.0)
    assert limit.wait("a", 0.0) == 1.0


def test_who_asked_the_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "REMEMBERED", 2)
    limit = Limit(per_second=1.0, at_once=1.0)
    for address in ("a", "b", "a", "c"):
        limit.count(address, 0.0)
    assert list(limit._buckets) == ["a", "c"]
