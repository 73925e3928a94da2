"""`neologue discover --engine`: the same files from this machine and from a cluster, and what is wrong with either."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Neologue = Callable[..., Result]


def test_an_address_needs_a_cluster(neologue: Neologue, tmp_path: Path) -> None:
    result = neologue("discover", "--address", "127.0.0.1:6379", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "--address 127.0.0.1:6379 is the address of a cluster; add --engine ray" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_cluster_that_is_not_there_is_a_sentence(neologue: Neologue, tmp_path: Path) -> None:
    result = neologue("discover", "--engine", "ray", "--address", "127.0.0.1:1", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "nothing answers at 127.0.0.1:1" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_frontier_that_does_not_fit_into_memory_is_refused(
    neologue: Neologue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neologue.simulation.engines.memory.free_memory", lambda: 10**9)
    out = tmp_path / "out"
    wanted = ("--profile", "gboard-2024", "--users", "20000", "--frontier", "300000", "--candidates", "30000000")
    result = neologue("discover", *wanted, "--out", str(out))
    assert result.exit_code == 2
    assert "GB are free;" in result.stderr
    assert "candidates would fit: use --candidates" in result.stderr
    assert not list(out.rglob("*.csv"))
