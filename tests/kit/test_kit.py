"""The conformance kit passes the Python client, and tells devices that break a rule."""

import re
import sys
from collections.abc import Callable, Iterator
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
from neologue.device import client, policy
from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network import transport
from neologue.device.network.backoff import Backoff
from neologue.device.operator_keys import OperatorKeys
from neologue.device.storage.log_record import LogRecord
from neologue.device.storage.spending_record import SpendingRecord
from neologue.device.tick import OUT
from neologue.errors import ConformanceError, LaterError
from neologue.protocol.submission import Submission
from neologue.transparency.inclusion_proof import TreeProof
from protocol_mutants import MUTANTS, ROOT

PYTHON: Final = (sys.executable, "-m", "neologue.conformance.python_driver")
ELSEWHERE: Final = {
    "F13": "tests/language/test_spelling_costs.py",
    "S1": "tests/test_entropy.py",
    "M4": "tests/device/test_spending_record.py",
    "T7": "tests/device/test_sending_time.py",
    "T12": "tests/masking",
    "Z1": "tests/device/test_spending_record.py",
    "Z4": "tests/device/test_diary.py",
    "Z5": "docs/android.md",
    "V6": "tests/device/test_log_record.py",
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


Broken = Callable[[pytest.MonkeyPatch], None]
WRONG: Final[dict[str, tuple[str, Broken]]] = {}
"""Devices that break a rule, by their name, and the check that tells."""


def wrong(check: str) -> Callable[[Broken], Broken]:
    def enter(broken: Broken) -> Broken:
        WRONG[broken.__name__] = check, broken
        return broken

    return enter


@wrong("sends_the_same_bytes_after_a_restart")
def draws_again(patch: pytest.MonkeyPatch) -> None:
    really = Submission

    def submission(campaign: bytes, serial: bytes, ticket: bytes, report: bytes) -> Any:  # noqa: ANN401
        return really(campaign, serial, ticket, report[:-1] + bytes([next(NUMBERS) % 256]))

    patch.setattr(client, "Submission", submission)


def _numbers() -> Iterator[int]:
    yield from range(1 << 30)


NUMBERS: Final = _numbers()


@wrong("says_nothing_at_the_same_length")
def is_silent_without_words(patch: pytest.MonkeyPatch) -> None:
    really = Client.tick

    def tick(device: Client) -> Any:  # noqa: ANN401
        return really(device) if device._diary.words() else OUT

    patch.setattr(Client, "tick", tick)


@wrong("checks_signatures")
def believes_every_signature(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy, "is_signed", lambda *_: True)


@wrong("answers_no_stranger")
def answers_everybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy.Policy, "_operator_complaints", lambda *_: iter(()))


@wrong("checks_digests")
def believes_every_digest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Library, "_content", lambda _library, kind, digest, most, fetch: fetch(f"/v1/{kind}/{digest}", most))
    # It has other lines of defence.
    patch.setattr("neologue.protocol.documents._check_known", lambda *_: None)
    patch.setattr("neologue.protocol.invitation.is_signed", lambda *_: True)


@wrong("comes_later_and_later")
def comes_again_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Backoff, "delay", lambda _backoff, error: error.retry_after or 1.0)


@wrong("keeps_to_retry_after")
def waits_for_years(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.network.answers.LATEST", 1e9)


@wrong("follows_no_redirection")
def follows_redirections(patch: pytest.MonkeyPatch) -> None:
    really = transport.HttpTransport.request

    def request(connection: transport.HttpTransport, method: str, path: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        response = really(connection, method, path, *given, **named)
        return really(connection, method, "/v1/elsewhere") if response.status == 307 else response

    patch.setattr(transport.HttpTransport, "request", request)


@wrong("answers_one_layer_alone")
def answers_every_layer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.spending_record._stored_report", lambda *_: b"\x02" + bytes(1000))


@wrong("follows_a_key_and_never_goes_back")
def forgets_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OperatorKeys, "learn", lambda *_: None)


@wrong("refuses_a_wrong_succession")
def believes_every_succession(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.protocol.succession.is_signed", lambda *_: True)


@wrong("answers_no_second_time_however_it_is_forgotten")
def forgets_what_it_spent(patch: pytest.MonkeyPatch) -> None:
    really = Client.forget_me

    def forget_me(device: Client) -> None:
        really(device)
        with device._record._file.transaction() as db:
            db.execute("DELETE FROM answers")

    patch.setattr(Client, "forget_me", forget_me)


@wrong("judges_a_layer_before_it_fetches_words")
def asks_no_policy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy.Policy, "check", lambda *_: None)


@wrong("renews_a_ticket_that_is_not_accepted")
def keeps_its_ticket(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.membership.Membership.drop_ticket", lambda _membership: None)


@wrong("gives_up_what_is_closed")
def sends_what_is_closed(patch: pytest.MonkeyPatch) -> None:
    def later(*_: object) -> None:
        raise LaterError("again", 1.0)

    patch.setattr(Client, "_end", later)


@wrong("is_silent_when_its_owner_opts_out")
def talks_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Client, "opt_out", lambda _device: None)


@wrong("shows_no_word")
def tells_a_word(patch: pytest.MonkeyPatch) -> None:
    really = SpendingRecord.answer

    def answer(record: SpendingRecord, invitation: Any, words: Any, *given: Any) -> bytes:  # noqa: ANN401
        return really(record, invitation, words, *given) + "".join(words).encode()

    patch.setattr(SpendingRecord, "answer", answer)


@wrong("needs_a_proof")
def asks_for_no_proof(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogRecord, "check", lambda *_: None)


@wrong("answers_what_is_in_the_log_alone")
def believes_every_proof(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.transparency.inclusion_proof.verify", lambda *_: True)
    patch.setattr(TreeProof, "witnesses_of", lambda _proof, _checkpoint, _witnesses, _now, quorum: quorum)


@wrong("counts_the_witnesses_that_it_knows")
def counts_no_witnesses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TreeProof, "witnesses_of", lambda _proof, _checkpoint, _witnesses, _now, quorum: quorum)


@wrong("follows_a_log_that_grows_and_no_fork")
def follows_every_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.log_record.check_goes_on", lambda *_: None)


@wrong("waits_for_a_log_that_went_back")
def goes_back_with_a_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogRecord, "newest", lambda *_: None)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_device_is_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check, broken = WRONG[name]
    with monkeypatch.context() as patch:
        broken(patch)
        (verdict,) = judge(InProcess, tmp_path, [check_named(check)])
    assert verdict.complaint


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
