"""A campaign that would not fit into memory is refused before anyone is asked, with what would fit."""

import re
from typing import Any

import pytest

from neologue.campaign.campaign import Campaign
from neologue.errors import EngineError
from neologue.simulation.engines.memory import BASE, check_memory, free_memory, largest_layer


def campaign(**changes: Any) -> Campaign:  # noqa: ANN401 - whatever a campaign takes
    return Campaign.from_profile("gboard-2024", users=1_000_000, **changes)


def test_what_fits_is_allowed() -> None:
    check_memory(campaign(), 2, free=BASE + 10**9)
    check_memory(campaign(), 2)


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    free = BASE + 10**9
    wanted = campaign(frontier=500_000, candidates=50_000_000, report_bytes=10**9)
    assert largest_layer(wanted) == 50_000_000
    with pytest.raises(EngineError, match=r"50,000,000 candidates need about 8\.3 GB .* 1\.7 GB are free") as refused:
        check_memory(wanted, 2, free=free)
    candidates, frontier = map(int, re.findall(r"(?:--candidates |at most )(\d+)", str(refused.value)))
    check_memory(campaign(frontier=frontier, candidates=candidates, report_bytes=10**9), 2, free=free)
    with pytest.raises(EngineError):
        check_memory(
            campaign(frontier=frontier + 200, candidates=candidates + 20_000, report_bytes=10**9), 2, free=free
        )


def test_cores_need_memory_too() -> None:
    free = BASE + 200 * 10**6
    check_memory(campaign(), 2, free=free)
    with pytest.raises(EngineError):
        check_memory(campaign(), 64, free=free)


def test_a_machine_that_is_too_small_for_anything_is_told_so() -> None:
    with pytest.raises(EngineError, match="free some"):
        check_memory(campaign(), 2, free=BASE)


def test_a_small_frontier_needs_little() -> None:
    check_memory(campaign(frontier=10, candidates=10**8), 2, free=BASE + 2 * 10**6)


def test_some_memory_is_free_here() -> None:
    assert free_memory() > BASE
