"""`neologue audit`: what it prints, and the exit code for every outcome."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import Result

from neologue.entropy import ONE, SeededEntropy
from neologue.randomizers.unary import Unary

Neologue = Callable[..., Result]

FEW = ("--words-per-user", 5, "--reports", 1000, "--confidence", 0.999999)
"""An audit of a moment, in this process, that fails a right device once in a million runs."""


@pytest.fixture(scope="module")
def passed(neologue: Neologue) -> Result:
    """An audit of both randomizers with their secure randomness, for people."""
    return neologue("audit", *FEW)


def test_the_shipped_code_passes(passed: Result) -> None:
    assert passed.exit_code == 0, passed.stdout
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in passed.stdout.splitlines() if "│" in line]
    assert [row[:4] for row in rows] == [
        ["unary", "5", "1,000", "7"],
        ["subset-selection", "1", "1,000", "7"],
        ["subset-selection", "5", "1,000", "7"],
    ]
    assert all(0 < float(row[4]) <= 7 for row in rows)
    assert {tuple(row[5:]) for row in rows} == {("none seen", "passed")}


def test_its_progress_is_told_beside_the_table(passed: Result) -> None:
    assert "unary, 5 words in a report: 1,000 reports" in passed.stderr
    assert "subset-selection, 1 word in a report: 1,000 reports" in passed.stderr


def test_json_has_everything(neologue: Neologue) -> None:
    result = neologue("audit", "--randomizer", "unary", "--epsilon", 5, "--json", *FEW)
    assert result.exit_code == 0
    (document,) = json.loads(result.stdout)
    assert document["mechanism"] == "unary"
    assert document["epsilon"] == 5
    assert 0 < document["lower_bound"] == document["evidence"]["epsilon"] <= document["enforced_epsilon"] <= 5
    assert (document["bound"], document["reports"], document["confidence"]) == (5, 1000, 0.999999)
    assert (document["passed"], document["reuse_seen"], document["coincidences"]) == (True, False, [])
    assert document["evidence"]["holding"]["seen"] > document["evidence"]["not_holding"]["seen"] > 0
    assert document["sharp"] == (document["reports_needed"] <= 1000)


def test_too_few_reports_are_told(neologue: Neologue) -> None:
    result = neologue("audit", "--randomizer", "unary", "--epsilon", 1, *FEW)
    assert result.exit_code == 0
    assert "1,000 reports may miss an ε that is 5 % too large" in result.stdout


def test_reused_randomness_fails(neologue: Neologue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neologue.device.contribution.SecureEntropy", lambda: SeededEntropy(1))
    result = neologue("audit", *FEW)
    assert result.exit_code == 1
    assert result.stdout.count("FAILED") == 3
    # All but a few: a device that lacks a word draws less before its seed.
    assert "Reports whose seed is that of another: 99" in result.stdout


def test_too_large_an_epsilon_fails(neologue: Neologue, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_little(unary: Unary) -> int:
        return round(ONE / (math.exp(1.2 * unary.epsilon) + 1))

    monkeypatch.setattr(Unary, "noise", property(too_little))
    result = neologue("audit", "--randomizer", "unary", *FEW)
    assert result.exit_code == 1
    assert "the reports give away more than stated" in result.stdout
    assert "randomness is used twice" not in result.stdout


@pytest.mark.parametrize(
    ("option", "value", "remedy"),
    [
        ("--epsilon", "0", "from 0.001 to 20"),
        ("--epsilon", "nan", "from 0.001 to 20"),
        ("--epsilon", "much", "Try 'neologue audit --help'"),
        ("--words-per-user", "0", "from 1 to 10,000"),
        ("--reports", "999", "from 1000 to 10,000,000"),
        ("--confidence", "1", "0.9999 is usual"),
        ("--confidence", "nan", "0.9999 is usual"),
        ("--randomizer", "coin", "'unary', 'subset-selection'"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(neologue: Neologue, option: str, value: str, remedy: str) -> None:
    result = neologue("audit", option, value)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert value in result.stderr
    assert remedy in result.stderr


def _hears_interrupts() -> None:
    # A shell that starts a job in the background makes it, and so its children, deaf to SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_audit_that_is_interrupted_from_the_keyboard_ends_at_once_and_without_a_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "neologue", "audit", "--epsilon", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        preexec_fn=_hears_interrupts,
        start_new_session=True,
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("unary, 60 words in a report:")
        # As a terminal does it: to the command and to all processes that it started.
        os.killpg(running.pid, signal.SIGINT)
        try:
            printed, after = running.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    assert running.returncode == 130
    assert printed == ""
    assert after == "neologue: interrupted\n"
