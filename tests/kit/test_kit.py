"""The conformance kit passes the Python client, and tells devices that break a rule."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from neologue.cli.main import main
from neologue.conformance.checks import CHECKS, RULES, Check
from neologue.conformance.driver import CommandDriver, DeviceSetup, Step
from neologue.conformance.kit import judge
from neologue.conformance.python_driver import ClientDriver
from neologue.errors import ConformanceError
from protocol_mutants import MUTANTS, ROOT
from wrong_devices import WRONG, Broken

PYTHON: Final = (sys.executable, "-m", "neologue.conformance.python_driver")
ELSEWHERE: Final = {
    "S1": "tests/test_entropy.py",
    "T7": "tests/device/test_sending_time.py",
    "T12": "tests/masking",
    "Z1": "tests/device/test_spending_record.py",
    "Z4": "tests/device/test_diary.py",
    "Z5": "docs/android.md",
    "N6": "tests/test_entropy.py",
}
"""Rules that neither vectors nor a service can judge, and where they are looked at."""


def test_the_python_client_keeps_to_every_rule(tmp_path: Path) -> None:
    driver = CommandDriver(PYTHON)
    verdicts = list(judge(lambda: driver, tmp_path))
    driver.end()
    assert [str(verdict) for verdict in verdicts if verdict.complaint] == []


class InProcess:
    """The Python client, here, so that it can be broken."""

    def __init__(self) -> None:
        self._driver = ClientDriver()

    def open(self, setup: DeviceSetup) -> None:
        self._run("open", **setup.told())

    def tick(self) -> Step:
        told: Any = self._run("tick")
        return Step(told["state"], told["again"])

    def owner(self, says: str) -> None:
        self._run("owner", says=says)

    def close(self) -> None:
        self._run("close")

    def crash(self) -> bool:
        return False

    def _run(self, do: str, **given: object) -> object:
        try:
            return self._driver.run(do, given)
        except Exception as error:
            raise ConformanceError(str(error)) from error


def check_named(name: str) -> Check:
    return next(check for check in CHECKS if check.run.__name__ == name)


@pytest.mark.parametrize(("check", "broken"), WRONG, ids=lambda given: getattr(given, "__name__", given))
def test_a_wrong_device_is_told(check: str, broken: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        broken(patch)
        (verdict,) = judge(InProcess, tmp_path, [check_named(check)])
    assert verdict.complaint


def test_every_check_tells_some_wrong_device() -> None:
    assert {check for check, _ in WRONG} == {check.run.__name__ for check in CHECKS}


def test_the_command_reports_and_exits_with_1_if_a_rule_is_broken() -> None:
    run = CliRunner()
    passed = run.invoke(main, ["conformance", "--rule", "K1", "--", *PYTHON])
    assert (passed.exit_code, passed.output.splitlines()[-1]) == (0, "1 of 1 checks passed.")
    says_nothing = "import sys\nfor line in sys.stdin: print('{}', flush=True)"
    failed = run.invoke(main, ["conformance", "--rule", "K1", "--", sys.executable, "-c", says_nothing])
    assert failed.exit_code == 1
    assert "FAIL K1" in failed.output
    assert "the driver failed at 'open'" in failed.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--rule", "Q9", "--", *PYTHON], "no check is about the rule Q9"),
        (["--rule", "K1", "--", "no-such-device"], "can't start no-such-device"),
    ],
)
def test_mistakes_are_told(arguments: list[str], told: str) -> None:
    done = CliRunner().invoke(main, ["conformance", *arguments])
    assert told in done.output
    assert done.exit_code in (1, 2)


def rules_of(page: Path) -> set[str]:
    """The names of the rules of a page."""
    text = page.read_text("utf-8")
    numbered = set(re.findall(r"\*\*([A-Z]\d+)\.(?:\*\*| )", text)) | set(re.findall(r"^\| ([FP]\d+) \|", text, re.M))
    letters = {f"W4{letter}" for letter in re.findall(r"^- ([a-e])\. ", text, re.M)}
    return numbered - {"W4"} | letters


def test_every_rule_is_judged_somewhere() -> None:
    refused = set(re.findall(r'"rule": "(F\d+)"', (ROOT / "vectors" / "refusals.json").read_text("ascii")))
    refused |= set(re.findall(r'"rule": "(F\d+)"', (ROOT / "vectors" / "likely.json").read_text("ascii")))
    judged = {each.rule for each in MUTANTS} | refused | RULES | ELSEWHERE.keys()
    assert rules_of(ROOT / "docs" / "protocol.md") == judged
    for place in ELSEWHERE.values():
        assert (ROOT / place).exists(), place


def test_what_a_device_leaves_out_is_skipped() -> None:
    knows_no_logs = 'import sys\nfor line in sys.stdin: print(\'{"unsupported": "no logs"}\', flush=True)'
    done = CliRunner().invoke(main, ["conformance", "--rule", "V1", "--", sys.executable, "-c", knows_no_logs])
    assert done.exit_code == 0
    assert done.output.startswith("skip V1")
    assert done.output.endswith("0 of 1 checks passed. 1 were skipped: they are about what the device leaves out.\n")


def test_a_driver_that_ends_too_early_is_told() -> None:
    done = CliRunner().invoke(main, ["conformance", "--rule", "K1", "--", sys.executable, "-c", ""])
    assert done.exit_code == 1
    assert "the driver gave no answer in JSON to 'open'" in done.output


def test_a_check_has_a_sentence_and_a_name_of_its_own() -> None:
    assert len({check.sentence for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence and replace(check).rules for check in CHECKS)
