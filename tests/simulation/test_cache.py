"""Compiled code is kept where it can be, and its absence stops nobody."""

import numba
import numpy as np
import pytest

from neologue.compiled import compiled


def test_loops_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*, nogil: bool, cache: bool = False) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(nogil=nogil)

    monkeypatch.setattr("neologue.compiled.njit", refuses)

    @compiled
    def doubled(values: np.ndarray) -> np.ndarray:
        return values * 2

    assert doubled(np.array([1, 2])).tolist() == [2, 4]
