"""`neologue device`: what it prints, and the exit code for every outcome."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from invitations import OPERATOR
from neologue.cli import main
from neologue.conformance.scripted_log import ScriptedLog
from neologue.release.signature import sign_document
from small_service import CAMPAIGN, Service, error, instead, running
from transparency.logs import published

KEY = OPERATOR.public_key().public_bytes_raw().hex()
SECRET = "xylomancytest"

Device = Callable[..., Result]


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "device"


@pytest.fixture
def device(folder: Path) -> Device:
    """Run a command of the device; the input is what is typed."""

    def run(command: str, *arguments: object, typed: str = "") -> Result:
        given = ["device", command, "--folder", folder, *arguments]
        return CliRunner().invoke(main, [str(argument) for argument in given], input=typed, prog_name="neologue")

    return run


@pytest.fixture
def talking(service: Service, device: Device) -> Device:
    """Run a command of a device that has joined and typed."""
    assert device("join", "-", typed=service.credential().text + "\n").exit_code == 0
    assert device("type", typed=f"abcab, “{SECRET}”!\nabcab …").exit_code == 0
    talks = ("--server", service.address, "--operator", KEY, "--sending-window", 0, 0.001)
    return lambda command, *arguments: device(command, *talks, *arguments)


def words_in(folder: Path) -> bytes:
    return (folder / "diary.db").read_bytes()


def test_a_device_joins_types_and_reports(service: Service, device: Device, talking: Device, folder: Path) -> None:
    assert SECRET.encode() in words_in(folder)
    assert "“".encode() not in words_in(folder)
    result = talking("tick")
    assert (result.exit_code, result.stdout) == (0, "final: the report was counted and erased from this device\n")
    assert len(service.final) == 1
    result = talking("tick")
    assert (result.exit_code, result.stdout) == (0, "over: this device has done its part in the campaign\n")
    told = device("receipts")
    assert told.exit_code == 0
    assert "this device made a report" in told.stdout.splitlines()[0]
    assert told.stdout.endswith("All campaigns together: ε = 3 spent.\n")


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """A log that was exported."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def test_a_release_is_checked_on_the_device_alone(
    service: Service, device: Device, talking: Device, folder: Path, tmp_path: Path
) -> None:
    release = tmp_path / "release.json"
    said = {
        "format": 3,
        "campaign": CAMPAIGN.hex(),
        "parameters": {"epsilon": service.layer.epsilon, "words_per_user": service.layer.bound},
        "layers": [{"digest": service.layer.digest.hex()}],
        "measurement": None,
        "exposure": {"masked": None},
    }
    release.write_text(json.dumps(sign_document(said, OPERATOR)))
    assert "there is no folder" in sentence(
        CliRunner().invoke(main, ["device", "check", "--folder", str(tmp_path / "none"), str(release)])
    )
    before = device("check", release)
    assert before.exit_code == 1
    assert "no: this device has answered nothing in the campaign" in before.stdout
    assert talking("tick").exit_code == 0
    asked = len(service.requests)
    found = device("check", release)
    assert found.exit_code == 0
    yes = "yes: the layer that this device answered is in the release, with the {} that it was told\n"
    assert found.stdout == yes.format("ε, B and masks")
    log = ScriptedLog(CAMPAIGN, time=1_700_000_000)
    log.open(log.layer(0, service.layer.digest))
    write_files(tmp_path / "log", published(log))
    logged = device("check", release, "--log", tmp_path / "log")
    assert logged.exit_code == 0, logged.output
    assert logged.stdout.endswith("in the operator's log, where everybody was asked the same\n")
    other = ScriptedLog(CAMPAIGN, time=1_700_000_000)
    other.open(other.layer(0))
    write_files(tmp_path / "other", published(other))
    hidden = device("check", release, "--log", tmp_path / "other")
    assert (hidden.exit_code, "is not in the log" in hidden.stdout) == (1, True)
    away = device("check", release, "--log", "http://127.0.0.1:9/log")
    assert (away.exit_code, "can't be relied on" in away.stdout) == (1, True)
    assert "give the log itself" in sentence(device("check", release, "--trust", release))
    release.write_text(json.dumps(sign_document(said | {"layers": []}, OPERATOR)))
    left_out = device("check", release)
    assert left_out.exit_code == 1
    assert "is not among those of the release" in left_out.stdout
    release.write_text("{")
    assert "not a complete JSON file" in sentence(device("check", release))
    release.write_text(json.dumps(sign_document(said, OPERATOR)))
    with closing(sqlite3.connect(folder / "account.db")) as db, db:
        db.execute("UPDATE answers SET operator = NULL, stated = NULL, bound = NULL, masked = NULL")
    earlier = device("check", release, "--operator", KEY)
    assert earlier.exit_code == 0
    assert earlier.stdout == (
        "not compared, because an earlier version of this device did not record it: who asked, B, masks\n"
        + yes.format("ε")
    )
    assert len(service.requests) == asked, "nothing is sent"


def test_a_credential_may_be_in_a_file(service: Service, device: Device, tmp_path: Path) -> None:
    (tmp_path / "credential").write_text(service.credential().text)
    assert device("join", tmp_path / "credential").exit_code == 0


def test_run_goes_on_until_the_report_is_final(
    service: Service, talking: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        service.state, service.batch = "invited", 2 if len(waits) < 2 else 1

    monkeypatch.setattr("time.sleep", wait)
    service.state = "wait"
    result = talking("run")
    assert result.exit_code == 0, result.stderr
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["wait", "received", "final"]
    assert waits == [7.0, 5.0]


def test_words_are_forgotten(device: Device, talking: Device, folder: Path) -> None:
    assert device("forget", typed=SECRET).exit_code == 0
    assert SECRET.encode() not in words_in(folder)
    assert b"abcab" in words_in(folder)
    assert device("forget", "--me").exit_code == 0
    assert b"abcab" not in words_in(folder)
    assert talking("tick").stdout.startswith("alone: no campaign is joined")


def test_opting_out_is_remembered(service: Service, device: Device, talking: Device, folder: Path) -> None:
    assert device("opt-out").exit_code == 0
    assert device("type", typed=SECRET).exit_code == 0
    assert SECRET.encode() not in words_in(folder)
    assert talking("tick").stdout.startswith("out: the owner of this device has opted out")
    assert service.requests == []
    assert device("opt-in").exit_code == 0
    assert talking("tick").stdout.startswith("final: ")


def test_private_words_are_not_kept(device: Device, folder: Path) -> None:
    assert device("type", "--private", typed=SECRET).exit_code == 0
    assert SECRET.encode() not in words_in(folder)


def test_a_folder_that_is_not_there_has_no_receipts_and_is_not_made(device: Device, folder: Path) -> None:
    assert f"there is no folder {folder}" in sentence(device("receipts"))
    assert not folder.exists()


def test_a_key_seals_the_words(device: Device, folder: Path, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text("ab" * 32 + "\n")
    other.write_text("cd" * 32)
    assert device("type", "--key-file", key, typed=SECRET).exit_code == 0
    assert SECRET.encode() not in words_in(folder)
    for arguments, said in ((["--key-file", other], "sealed by another key"), ([], "is sealed: give its key")):
        result = device("receipts", *arguments)
        assert result.exit_code == 2
        assert said in result.stderr
    other.write_text(SECRET)
    result = device("receipts", "--key-file", other)
    assert result.exit_code == 2
    assert "must be 64 hexadecimal digits" in result.stderr
    assert SECRET not in result.stderr


def sentence(result: Result) -> str:
    """What a command says of a mistake."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_a_refusal_by_the_policy_is_a_sentence(device: Device, talking: Device, service: Service) -> None:
    assert "largest_epsilon" in sentence(talking("tick", "--largest-epsilon", 2))
    assert "smallest_layer_size" in sentence(talking("run", "--smallest-cohort", 5000))
    assert "not one of the 0 that this device answers" in sentence(device("tick", "--server", service.address))
    assert service.bodies == []


def test_mistakes_are_sentences(device: Device, talking: Device, service: Service, folder: Path) -> None:
    assert "128 letters, digits, - and _" in sentence(device("join", "-", typed="nonsense"))
    assert "64 hexadecimal digits" in sentence(talking("tick", "--operator", "zz"))
    assert "https://words.example.org" in sentence(device("tick", "--server", "words"))
    assert "without TLS" in sentence(device("tick", "--server", "http://words.example.org"))
    assert "largest epsilon must be" in sentence(talking("tick", "--largest-epsilon", -1))
    service.ahead("/v1/check-in", instead(error(401, "forged")))
    assert "401 (forged)" in sentence(talking("tick"))
    (folder / "account.db").write_bytes(b"not an account at all" * 100)
    assert "account.db is damaged" in sentence(device("receipts"))


def test_a_service_that_cant_be_reached_is_for_later(service: Service, talking: Device) -> None:
    service.ahead("/v1/check-in", instead(error(503, "busy", Retry_After="9")))
    result = talking("tick")
    assert (result.exit_code, result.stdout) == (
        0,
        "later: the service answers 503 to a check-in: try again later; again in 9 s\n",
    )
