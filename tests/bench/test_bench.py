"""The benchmarks run and say what they should; how fast anything is, is nothing that a test could hold them to."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import kernels
from benchmarks.installation import REFUSED, reason, refusals
from benchmarks.measure import Curve, Measured, Work, measure_in_turn, ratio
from benchmarks.setting import FULL, QUICK, selection_of

ROOT = Path(__file__).parents[2]


def bench(out: Path, *arguments: str | Path, **environment: str) -> dict[str, Any]:
    """What a quick run writes."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", out, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (out / "bench.txt").read_text("utf-8") in done.stdout
    return dict(json.loads((out / "bench.json").read_text("utf-8")))


def ratios(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in document["parts"].values():
        yield from part["ratios"]


def test_a_run_without_peers_has_every_part_and_says_why_they_are_missing(tmp_path: Path) -> None:
    environment, out = tmp_path / "peers", tmp_path / "out"
    environment.mkdir()
    (environment / REFUSED).write_text(json.dumps({"multi-freq-ldpy": "no wheel fits"}), "utf-8")
    document = bench(out, "--peers", environment / "bin" / "python")
    states = {name: peer["state"] for name, peer in document["peers"].items()}
    assert states["multi-freq-ldpy"] == "not installed: no wheel fits"
    assert states["pure-ldp"].startswith("not installed: there is no environment of peers")
    for name, peer in document["peers"].items():
        assert not peer["measured"]
        assert f"{name}: {peer['state']}" in (out / "bench.txt").read_text("utf-8")

    assert tuple(document["parts"]) == (
        "kernels",
        "device",
        "ingest",
        "workers",
        "secure",
        "transparency",
        "accountants",
        "costs",
        "memory",
    )
    for name, part in document["parts"].items():
        assert part["measured"] or part["curves"]
        assert (out / f"{name}.svg").read_text("utf-8").startswith("<?xml")
        for measured in part["measured"]:
            assert len(measured["seconds"]) == QUICK.rounds
            assert 0 < measured["shortest"] <= measured["median"]
            assert measured["rate"] == pytest.approx(measured["amount"] / measured["shortest"])
        for curve in part["curves"]:
            assert len(curve["sizes"]) == len(curve["costs"]) >= 1
            assert min(curve["costs"]) > 0
    found = list(ratios(document))
    assert len(found) >= 10
    for each in found:
        assert 0 < each["lowest"] <= each["middle"] <= each["highest"] < math.inf
        assert 0 < each["times"] < math.inf
    against = [curve["against"].partition(",")[0] for curve in document["parts"]["costs"]["curves"]]
    assert set(against) == {"N", "s", "d", "B", "threads"}


def test_what_does_not_install_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    wanted = ["no-such-peer==0.2.5", "another ; python_version < '3'", "pip"]
    refused = refusals(Path(sys.executable), wanted)
    assert list(refused) == ["no-such-peer"]
    assert refused["no-such-peer"].startswith("No matching distribution found")


def test_a_peer_that_is_there_takes_its_turns(tmp_path: Path) -> None:
    oracles = tmp_path / "multi_freq_ldpy" / "pure_frequency_oracles"
    oracles.mkdir(parents=True)
    (oracles / "SS.py").write_text(
        "def SS_Client(word, k, epsilon): return sorted(range(k))\n"
        "def SS_Aggregator_MI(reports, k, epsilon): return len(reports)\n"
    )
    (oracles / "UE.py").write_text("def UE_Client(word, k, epsilon, optimal): return sorted(range(k))\n")
    facts = tmp_path / "multi_freq_ldpy-9.9.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: multi-freq-ldpy\nVersion: 9.9\n")
    (tmp_path / "pure_ldp").mkdir()
    (tmp_path / "pure_ldp" / "__init__.py").write_text("raise RuntimeError('out of order')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    document = bench(tmp_path / "out", "--only", "kernels", "--peers", sys.executable, PYTHONPATH=path)
    assert document["peers"]["multi-freq-ldpy"] == {
        "version": "9.9",
        "measured": True,
        "state": "measured, version 9.9",
    }
    assert document["peers"]["pure-ldp"]["state"] == "does not run: RuntimeError: out of order"
    names = {each["name"] for each in ratios(document)}
    assert {
        "exact kernel / multi-freq-ldpy, subset-selection",
        "exact kernel / multi-freq-ldpy, subset-selection-tallied",
        "unary kernel / multi-freq-ldpy, unary",
    } < names


def test_everyone_takes_turns_after_a_round_that_does_not_count() -> None:
    turns: list[str] = []

    def work(name: str, seconds: float) -> Work:
        def turn() -> float:
            turns.append(name)
            return seconds * len(turns)

        return Work(name, 12.0, "reports", turn)

    measured = measure_in_turn([work("a", 1.0), work("b", 0.5)], rounds=2)
    assert turns == ["a", "b"] * 3
    assert measured["a"].seconds == (3.0, 5.0)
    assert measured["a"].rate == 4.0


def test_a_ratio_is_of_the_shortest_rounds_and_shows_those_of_each_turn() -> None:
    fast, slow = Measured("fast", 10, "reports", (1.0, 2.0)), Measured("slow", 1, "reports", (4.0, 2.0))
    found = ratio(fast, slow, goal=20.0)
    assert (found.name, found.times, found.met) == ("fast / slow", 20.0, True)
    assert (found.lowest, found.middle, found.highest) == (10.0, 25.0, 40.0)
    assert ratio(slow, fast, goal=1.0).met is False
    assert ratio(fast, slow).met is None


def test_a_curve_knows_its_power() -> None:
    assert Curve("", "N", "s", (1, 10, 100), (2.0, 20.0, 200.0)).exponent == pytest.approx(1.0)
    assert Curve("", "s", "s", (1, 10), (2.0, 2.0)).exponent == pytest.approx(0.0)
    assert Curve("", "threads", "s", (1,), (2.0,)).exponent is None


def test_the_full_run_is_that_of_the_paper() -> None:
    assert (FULL.selection.domain, FULL.selection.subset_size, FULL.layer_reports) == (1_000_001, 46, 30_000_000)
    assert [selection_of(1_000_000, size, 60).subset_size for size in FULL.sweep_sizes] == list(FULL.sweep_sizes)


@pytest.mark.parametrize("add", [kernels.add_by_choice, kernels.add_batched])
def test_what_the_kernel_is_compared_with_has_its_law(add: Any) -> None:  # noqa: ANN401
    selection = selection_of(60, 20, 1)
    reports, word = 4_000, 7
    counts = np.zeros(selection.domain, np.uint32)
    add(np.random.default_rng(3), np.full(reports, word, np.int32), selection, counts)
    assert counts.sum() == reports * selection.subset_size
    means = np.full(selection.domain, reports * float(selection.channel.q))
    means[word] = reports * float(selection.channel.p)
    spreads = np.sqrt(means * (1 - means / reports))
    assert (np.abs(counts - means) < 5 * spreads).all()


def test_the_reason_is_the_last_error_of_pip() -> None:
    said = "WARNING: old\nERROR: first thing\nERROR: No matching distribution found for x\n[notice] new pip"
    assert reason(said) == "No matching distribution found for x"
    assert reason("Traceback\nOSError: no space\n") == "OSError: no space"
    assert reason("") == "pip failed and did not say why"
