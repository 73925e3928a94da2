"""`neologue fleet`: a whole campaign with real devices in bad weather, and how it fails."""

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from neologue.cli import main
from service.campaigns import definition
from service.masked_crowd import SECURE, started
from service.serving import Process, Served, free_port, served

WORDS = ("blorp", "zonk", "yeet", "quux")
DEVICES = 1700
WEATHER = ("--silent", "0.05", "--lost", "0.05", "--twice", "0.05", "--restarts", "0.2", "--delay", "0.1")
SECONDS = 600
SHORT_WORDS = ("gg", "xd", "yo", "qq")
FEW_DEVICES = 260
SECURE_DEVICES = 300


def write_typed(path: Path, users: int, words: Collection[str]) -> None:
    """Write a table of users who hold some new words, the first of them most often."""
    dice = random.Random(20240814)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user", "word", "count"])
        for user in range(users):
            table.writerow([user, "the", 9])
            table.writerows(
                [user, word, dice.randint(1, 5)]
                for place, word in enumerate(words)
                if dice.random() < 0.8 - 0.1 * place
            )


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Users who hold some new words, and a short list of known ones, as arguments."""
    folder = tmp_path_factory.mktemp("typed")
    write_typed(folder / "typed.csv", DEVICES, WORDS)
    (folder / "known.txt").write_text("the\nof\nneologism\n")
    return str(folder / "typed.csv"), "--known", str(folder / "known.txt")


def fleet(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "neologue", "fleet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def check_release(folder: Path, held: Collection[str]) -> None:
    """The words of a certified release are words that somebody holds."""
    assert {file.name for file in folder.iterdir()} == {
        "words.csv",
        "prefixes.csv",
        "words.dic",
        "words.aff",
        "release.json",
        "layers.zip",
    }
    assert json.loads((folder / "release.json").read_text())["fidelity"] == "rehearsal"
    found = [word["word"] for word in json.loads((folder / "release.json").read_text())["words"]]
    assert found
    assert set(found) <= set(held)
    command = [sys.executable, "-m", "neologue", "certify", str(folder / "release.json")]
    certified = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert certified.returncode == 0, certified.stderr


def test_a_fleet_in_bad_weather_and_two_workers_end_in_a_certified_release(
    tmp_path: Path, postgres: Callable[[], str]
) -> None:
    typed, out = tmp_path / "typed.csv", tmp_path / "out"
    write_typed(typed, FEW_DEVICES, SHORT_WORDS)
    process = Process(postgres(), tmp_path, free_port(), "--workers", "2", "--requests-per-second", "1000000")
    process.start()
    try:
        service = Served(process.address, process.token)
        # Two layers of 104, as devices take part in none below 100; with so large a reserve none lacks devices.
        drawn = definition(devices=FEW_DEVICES, batch=8, reserve=0.2, rehearsal=True, parameters={"depth": 2})
        assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(drawn)).status == 201
        there = ("--server", service.address, "--token", service.token, "--campaign", "small")
        done = fleet(str(typed), "--devices", str(FEW_DEVICES), *there, *WEATHER, "--out", str(out))
    finally:
        process.kill()
    assert done.returncode == 0, done.stderr
    assert "of which somebody holds" in done.stdout
    check_release(out, SHORT_WORDS)


def test_a_fleet_whose_devices_leave_their_groups_ends_in_a_certified_release(tmp_path: Path) -> None:
    (tmp_path / "typed.csv").write_text(
        "user,word\n" + "".join(f"{user},{word}\n" for user in range(SECURE_DEVICES) for word in ("gg", "xd"))
    )
    out = tmp_path / "out"
    with served(f"sqlite:///{tmp_path}/service.db", requests_per_second=1e6) as service:
        groups = {
            "cohort_size": 40,
            "smallest_cohort": 20,
            "check_in_seconds": 3,
            "reserve": 0.25,
            "stage_seconds": 3.0,
        }
        started(
            service,
            devices=SECURE_DEVICES,
            rehearsal=True,
            layer_seconds=20.0,
            parameters={**SECURE["parameters"], "smallest_layer": 60, "depth": 2},
            **groups,
        )
        there = ("--server", service.address, "--token", service.token, "--campaign", "small")
        secure = ("--aggregation", "secure", "--cohort-size", "40", "--leaving", "0.1", "--processes", "1")
        done = fleet(str(tmp_path / "typed.csv"), "--devices", str(SECURE_DEVICES), *there, *secure, "--out", str(out))
        assert done.returncode == 0, done.stderr
        layers = service.ask("GET", "/v1/campaigns/small/layers").json
    ended = {
        state: int(count) for count, state in re.findall(r"([0-9]+) ([a-z]+)", done.stdout.partition("Devices:")[2])
    }
    # Who leaves is drawn by the devices: of 100 and more, none at all leaves once in 30,000 runs.
    assert ended["left"] > 0
    # Those who leave behind their votes are counted all the same.
    assert 0 < ended["final"] <= sum(layer["reports"] for layer in layers)
    check_release(out, {"gg", "xd"})


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """A service that runs already, as options."""
    with served(f"sqlite:///{tmp_path_factory.mktemp('service')}/service.db") as service:
        yield "--server", service.address, "--token", service.token


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--silent", "2"), "silent must be a share"),
        (("--lost", "-1"), "lost must be a share"),
        (("--delay", "1000"), "delay must be"),
        (("--server", "http://127.0.0.1:1"), "--token"),
        (("--server", "ftp://x", "--token", "x"), "ftp://x"),
        (("--server", "http://127.0.0.1:1", "--token", "x"), "can't be reached"),
        (("--devices", "20"), "too few"),
        (("--devices", "100000"), "100000"),
        (("--database", "mysql://x"), "mysql"),
        (("--devices", "0"), "--devices"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(typed: tuple[str, ...], options: tuple[str, ...], named: str) -> None:
    done = CliRunner().invoke(main, ["fleet", *typed, "--devices", str(DEVICES), *options], prog_name="neologue")
    assert done.exit_code == 2, done.output
    assert named in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("options", "named"), [(("--epsilon", "-1"), "epsilon"), (("--batch", "1"), "batch")])
def test_what_the_service_refuses_is_told_in_a_sentence(
    typed: tuple[str, ...], there: tuple[str, ...], options: tuple[str, ...], named: str
) -> None:
    test_a_mistake_is_told_in_a_sentence(typed, (*there, *options), named)


def test_a_fleet_that_is_broken_off_leaves_no_files(
    typed: tuple[str, ...], tmp_path: Path, postgres: Callable[[], str]
) -> None:
    service = ("--database", postgres(), "--workers", "2", "--epsilon", "10", "--candidates", "20000")
    command = [sys.executable, "-m", "neologue", "fleet", *typed, "--devices", str(DEVICES), *service]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        # A shell that starts a job in the background makes it deaf to SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    ) as running:
        assert running.stderr
        lines = iter(running.stderr.readline, "")
        assert any(line.startswith("pass 1, layer 1:") for line in lines)
        folders = [*tmp_path.glob("neologue-fleet-*")]
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=SECONDS)
    assert running.returncode == 130, told
    assert "Traceback" not in told
    assert folders, "there was something to clean up"
    assert not [*tmp_path.glob("neologue-*")]
