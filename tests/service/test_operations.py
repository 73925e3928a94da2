"""Looking after a service: its commands, how it starts and stops, a lost database, a copy that is put in its place."""

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import psutil
import psycopg
import pytest
from click.testing import CliRunner, Result

from neologue.cli import main
from neologue.device.contribution import contribute
from neologue.device.library import Library
from neologue.protocol.credential import Credential
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.service.storage.database_address import open_database
from neologue.service.storage.report_store import ReportStore

from .campaigns import WORDS, definition
from .serving import Process, Served, fetch_layer, free_port, served, wait_until
from .stores import spent_serials

THREADS = 16
DEVICES = 240
# With so large a reserve no layer waits for its deadline, which no machine is too busy to keep.
SMALL: dict[str, Any] = {"devices": DEVICES, "reserve": 0.3, "layer_seconds": 60.0, "parameters": {"depth": 3}}


def neologue(*arguments: object, token: str = "") -> Result:
    run = CliRunner(env={"NEOLOGUE_TOKEN": token, "NEOLOGUE_SERVER": None, "NEOLOGUE_DATABASE": None})
    return run.invoke(main, [str(argument) for argument in arguments], prog_name="neologue")


class Devices:
    """Devices of a campaign, without files: each sends the same bytes until it is told what became of them."""

    def __init__(self, service: Served, name: str) -> None:
        self.service, self.name = service, name
        self.library = Library()
        self.waiting: dict[bytes, bytes] = {}
        """What each device that is asked sends, by its serial."""
        self.final: set[bytes] = set()
        self.asleep: list[str] = []

    def issue(self, count: int) -> None:
        self.asleep += (
            self.service.ask("POST", f"/v1/campaigns/{self.name}/credentials", {"count": count}).body.decode().split()
        )

    def check_in(self, most: int = 10**6) -> None:
        """Let devices ask what there is to do, until so many have something to send."""
        wait = []
        while self.asleep and len(self.waiting) < most:
            credential = self.asleep.pop()
            told = self.service.ask("POST", "/v1/check-in", {"credential": credential}, token="").json
            state = told.get("state", "wait")  # a service without its database answers with an error: ask again
            if state == "wait":
                wait.append(credential)
            if state == "invited":
                layer = fetch_layer(self.service, self.library, bytes.fromhex(told["layer"]))
                assert isinstance(layer, Layer)
                parsed = Credential.parse(credential)
                report = contribute(WORDS, layer)
                body = Submission(parsed.campaign_id, parsed.serial, bytes.fromhex(told["ticket"]), report)
                self.waiting[parsed.serial] = bytes(body)
        self.asleep = [*wait, *self.asleep]

    def send(self) -> list[int]:
        """All who wait send once, many at a time; the statuses."""
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(self._send, list(self.waiting)))

    def _send(self, serial: bytes) -> int:
        try:
            status = self.service.ask("POST", "/v1/reports", self.waiting[serial], token="").status
        except OSError:
            return 0
        if status == 200:
            self.final.add(serial)
        if status in (200, 410):
            del self.waiting[serial]
        assert status in (200, 202, 410, 503), status
        return status

    def run(self) -> None:
        """Do what is asked until the campaign is over."""

        def is_over() -> bool:
            self.check_in()
            self.send()
            return bool(self.service.ask("GET", f"/v1/campaigns/{self.name}").json["state"] == "released")

        wait_until(is_over, 240)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    process = Process(str(tmp_path / "service.db"), tmp_path, free_port())
    process.start()
    yield process
    if psutil.pid_exists(process.pid):
        process.kill()


def create(process: Process, name: str, tmp_path: Path, *options: object) -> Result:
    """A campaign as the command line makes one; the same as that of other tests."""
    known = tmp_path / "known.txt"
    known.write_text("the\nox\n")
    given = ("--devices", 900, "--known", known, "--epsilon", 10, "--batch", 10, "--minimum", 20)
    promise = ("--k-anonymity", 5, "--yes")
    return neologue(
        *("campaign", "--server", process.address, "create", name, *given, *promise, "--check-in-seconds", 1, *options),
        token=process.token,
    )


def test_from_zero_to_words_by_commands(process: Process, tmp_path: Path) -> None:
    def campaign(*arguments: object) -> Result:
        result = neologue("campaign", "--server", process.address, *arguments, token=process.token)
        assert result.exit_code == 0, result.output
        return result

    service = Served(process.address, process.token)
    body = msgspec.to_builtins(definition(rehearsal=True, name="spring", **SMALL))
    assert service.ask("POST", "/v1/campaigns", body).status == 201
    assert "draft" in campaign("list").output
    assert "running" in campaign("start", "spring").output
    assert "paused" in campaign("pause", "spring").output
    assert "running" in campaign("start", "spring").output
    campaign("credentials", "spring", "--count", 900, "--out", tmp_path / "credentials")
    assert len((tmp_path / "credentials").read_text().split()) == 900
    assert (tmp_path / "credentials").stat().st_mode & 0o077 == 0
    wait_until(lambda: json.loads(campaign("status", "spring", "--json").stdout)["layers"])
    devices = Devices(service, "spring")
    devices.issue(DEVICES)
    devices.run()
    assert "released" in campaign("status", "spring").output
    words = json.loads(campaign("words", "spring", "--json").stdout)
    assert words
    assert {word["word"] for word in words} <= set(WORDS)
    assert "spring" in campaign("words", "spring").output
    assert "100 hostile devices" in campaign("influence", "spring", "--hostile", 100).output
    campaign("export", "spring", "--out", tmp_path / "found")
    campaign("key", "--out", tmp_path / "operator.pub")
    certified = neologue("certify", tmp_path / "found" / "release.json", "--verify", tmp_path / "operator.pub")
    assert certified.exit_code == 0, certified.output
    hidden, *rest = sorted(word["word"] for word in words)
    campaign("review", "spring", "--hide", hidden)
    campaign("export", "spring", "--out", tmp_path / "shown")

    def exported(folder: str, name: str) -> str:
        return (tmp_path / folder / name).read_text()

    assert exported("found", "words.dic").split() == [str(len(words)), hidden, *rest]
    assert exported("shown", "words.dic").split() == [str(len(rest)), *rest]
    assert {line.split(",")[0] for line in exported("shown", "words.csv").splitlines()} == {"word", *rest}
    assert exported("shown", "release.json") == exported("found", "release.json"), "which is signed as a whole"
    assert "spring: released" in campaign("wait", "spring").output
    assert "released" in campaign("status", "spring", "--watch").output
    campaign("review", "spring", "--accept", rest[0])
    next_part = campaign("repeat", "spring").output
    assert "spring 2: draft" in next_part
    assert "1 words of earlier releases are known; paid by nobody." in next_part
    repeated = service.ask("GET", "/v1/campaigns/spring%202/definition").json
    assert repeated == {**body, "name": "spring 2", "also_known": [rest[0]]}
    campaign("delete", "spring 2")
    again = neologue("campaign", "--server", process.address, "start", "spring", token=process.token)
    assert (again.exit_code, "is released" in again.output) == (2, True)


def test_commands_say_what_is_wrong_in_a_sentence(process: Process, tmp_path: Path) -> None:
    def refused(*arguments: object, token: str = process.token, server: str = process.address) -> str:
        result = neologue("campaign", "--server", server, *arguments, token=token)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        assert result.output.count("\n") == 1, result.output
        return result.output

    assert "no campaign is called 'none'" in refused("start", "none")
    assert "no token is given" in refused("list", token="")
    assert "unknown or revoked token" in refused("list", token="wrong")
    assert "token has characters" in refused("list", token="a\nb")
    assert "is not the address" in refused("list", server="http://[")
    assert "can't be reached" in refused("list", server=f"http://127.0.0.1:{free_port()}")
    assert "no slash" in refused("create", "a/b", "--devices", 900)
    assert "too few" in refused("create", "tiny", "--devices", 3)
    assert "no campaign is called" in refused("credentials", "none", "--count", 3, "--out", tmp_path / "credentials")
    assert not (tmp_path / "credentials").exists(), "nothing is left that would be in the way of the next try"
    assert create(process, "spring", tmp_path).exit_code == 0
    assert "is draft, and nothing of it is released" in refused("words", "spring")
    assert "already" in create(process, "spring", tmp_path).output
    assert "90,001 credentials are too many for the 900 devices" in refused(
        *("credentials", "spring", "--count", 90_001, "--out", tmp_path / "credentials")
    )
    assert not (tmp_path / "credentials").exists()
    assert "--cohort-size needs --aggregation secure" in create(process, "masks", tmp_path, "--cohort-size", 5).output
    assert "there is nothing under this address" in refused("status", "a/b")


def test_who_does_not_agree_to_an_abort_changes_nothing(process: Process, tmp_path: Path) -> None:
    assert create(process, "spring", tmp_path).exit_code == 0
    for answer in ("n\n", ""):  # no, and nobody there to be asked
        run = CliRunner(env={"NEOLOGUE_TOKEN": process.token, "NEOLOGUE_SERVER": process.address})
        result = run.invoke(main, ["campaign", "abort", "spring"], prog_name="neologue", input=answer)
        assert result.exit_code == 2
        assert "nothing was changed: spring goes on" in result.output
        assert "Aborted" not in result.output
    service = Served(process.address, process.token)
    assert service.ask("GET", "/v1/campaigns/spring").json["state"] == "draft"
    ended = neologue("campaign", "--server", process.address, "abort", "spring", "--yes", token=process.token)
    assert (ended.exit_code, "aborted" in ended.output) == (0, True)


def test_everybody_gets_a_token_of_their_own(process: Process) -> None:
    def token(*arguments: object, by: str = process.token) -> Result:
        return neologue("token", "--server", process.address, *arguments, token=by)

    ada, grace = (
        token("make", name, "--role", role).output.strip() for name, role in (("ada", "operator"), ("grace", "analyst"))
    )
    assert token("revoke", "first", by=ada).exit_code == 0
    assert "unknown or revoked token" in token("list").output
    assert json.loads(token("list", "--json", by=ada).stdout) == [
        {"name": "ada", "role": "operator"},
        {"name": "grace", "role": "analyst"},
    ]
    assert "grace" in token("list", by=ada).output
    refused = token("list", by=grace)
    assert (refused.exit_code, "for the role operator" in refused.output) == (2, True)


def serve(*options: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "neologue", "serve", *map(str, options)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


def pem(folder: Path) -> tuple[Path, Path]:
    """Files that are no certificate and no key."""
    for name in ("certificate", "key"):
        (folder / name).write_text("not PEM")
    return folder / "certificate", folder / "key"


def test_a_service_that_can_t_start_says_why_in_a_sentence(tmp_path: Path) -> None:
    certificate, key = pem(tmp_path)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE letters (letter TEXT)")
    (tmp_path / "text.db").write_text("no database at all, but a text that is long enough to look like one" * 20)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = (
            (("--port", port), f"port {port}"),
            (("--port", port, "--workers", 2), f"port {port}"),
            (("--host", "no.such.host.invalid", "--port", 0), "no.such.host.invalid"),
            (("--database", tmp_path / "none" / "x.db", "--port", 0), "none/x.db"),
            (("--database", tmp_path, "--port", 0), str(tmp_path)),
            (("--database", other, "--port", 0), "tables of something else"),
            (("--database", tmp_path / "text.db", "--port", 0), "text.db"),
            (("--database", "mysql://x", "--port", 0), "mysql"),
            (("--database", "postgresql://127.0.0.1:1/none?connect_timeout=2", "--port", 0), "postgresql://127.0.0.1"),
            (("--certificate", certificate, "--port", 0), "go together"),
            (("--certificate", tmp_path / "none", "--private-key", key, "--port", 0), "none"),
            (("--certificate", certificate, "--private-key", key, "--port", 0), "certificate"),
            (("--ledger", other, "--port", 0), f"`neologue ledger import {other} http://127.0.0.1:0`"),
            (("--patience", -1, "--port", 0), "patience"),
            (("--port", 70000), "70000"),
        )

        def start(layer_index: int) -> "subprocess.CompletedProcess[str]":
            folder = tmp_path / f"start-{layer_index}"
            folder.mkdir()
            return serve(*cases[layer_index][0], cwd=folder)

        with ThreadPoolExecutor(2) as pool:
            ended = list(pool.map(start, range(len(cases))))
    for (options, named), done in zip(cases, ended, strict=True):
        assert done.returncode == 2, (options, done.stderr)
        assert named in done.stderr, options
        assert "Traceback" not in done.stderr, options
        assert "operator token" not in done.stderr, "the token is shown once, so not by a start that fails"


def test_the_doctor_finds_what_is_unsafe(process: Process, tmp_path: Path) -> None:
    database = tmp_path / "service.db"
    well = neologue("doctor", "--database", database, "--server", process.address)
    assert well.exit_code == 0, well.output
    assert "UNSAFE" not in well.output
    assert f"{process.address} is ready" in well.output
    database.chmod(0o644)
    ill = neologue("doctor", "--database", f"sqlite:///{database}", "--server", "http://words.example.invalid")
    assert ill.exit_code == 1
    assert "chmod 600" in ill.output
    assert "without TLS" in ill.output
    for missing in (tmp_path / "none.db", f"sqlite:///{tmp_path}/none.db"):
        assert neologue("doctor", "--database", missing).exit_code == 2
        assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("setting", ["log_min_duration_statement = 0", "log_statement = 'mod'"])
def test_the_doctor_looks_into_postgresql(postgres: Callable[[], str], setting: str) -> None:
    url = postgres()
    with served(url):
        pass
    name = url.partition("?")[0].rpartition("/")[2]
    assert "logs the values" not in neologue("doctor", "--database", url).output
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {name} SET {setting}".encode())
    told = neologue("doctor", "--database", url)
    assert told.exit_code == 1
    assert "logs the values" in told.output
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"ALTER DATABASE {name} SET log_parameter_max_length = 0".encode())
    assert "logs the values" not in neologue("doctor", "--database", url).output


@pytest.fixture
def devices(process: Process) -> Devices:
    """Devices of a campaign that has begun."""
    return begun(Served(process.address, process.token))


def begun(service: Served, issued: int = DEVICES, **changes: Any) -> Devices:  # noqa: ANN401 - checked by the definition
    body = msgspec.to_builtins(definition(rehearsal=True, **SMALL | changes))
    assert service.ask("POST", "/v1/campaigns", body).status == 201
    service.ask("POST", "/v1/campaigns/small/start")
    wait_until(lambda: service.ask("GET", "/v1/campaigns/small/layers").json)
    devices = Devices(service, "small")
    devices.issue(issued)
    return devices


def test_a_copy_of_a_running_service_goes_on(process: Process, devices: Devices, tmp_path: Path) -> None:
    devices.check_in()
    devices.send()
    assert devices.final
    assert neologue("backup", "--database", tmp_path / "service.db", tmp_path / "copy.db").exit_code == 0
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
    again = neologue("backup", "--database", tmp_path / "service.db", tmp_path / "copy.db")
    assert (again.exit_code, "never overwritten" in again.output) == (2, True)
    devices.send()  # some of this is not in the copy
    process.kill()
    wrapping_key = (tmp_path / "service.db.key").read_text()
    for file in tmp_path.glob("service.db*"):
        file.unlink()
    shutil.move(tmp_path / "copy.db", tmp_path / "service.db")
    alone = neologue("serve", "--database", tmp_path / "service.db", "--port", "0")
    assert (alone.exit_code, "put back the file" in alone.output) == (2, True), "a copy alone has no keys"
    (tmp_path / "service.db.key").write_text(wrapping_key)
    process.start()
    devices.run()
    assert devices.service.ask("GET", "/v1/campaigns/small/words").json


def test_a_service_that_is_stopped_has_confirmed_nothing_that_it_loses(
    process: Process, devices: Devices, tmp_path: Path
) -> None:
    """Less than a batch waits, and more comes while it stops: all that was confirmed stays, the rest is sent again."""
    devices.check_in(most=60)
    sending = threading.Thread(target=devices.send)
    sending.start()
    wait_until(lambda: len(devices.final) > 0)
    assert process.stop() == 0
    sending.join()
    database = open_database(str(tmp_path / "service.db"))
    with closing(database):
        assert spent_serials(database) >= devices.final
        campaign = Credential.parse(devices.asleep[0]).campaign_id
        assert ReportStore(database).tally(campaign, 0).reports == len(spent_serials(database))
    log = process.log.read_text()
    assert "stopped" in log
    assert "Traceback" not in log
    process.start()
    devices.run()
    with closing(open_database(str(tmp_path / "service.db"))) as database:
        assert spent_serials(database) == devices.final


def test_lost_connections_to_postgresql_are_made_anew(postgres: Callable[[], str]) -> None:
    url = postgres()
    ended = threading.Event()

    def cut() -> None:
        """End all connections of the service, again and again."""
        with psycopg.connect(url, autocommit=True) as db:
            while not ended.wait(1.0):
                db.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    with served(url) as service:
        devices = begun(service)

        def enough_are_final() -> bool:
            devices.check_in()  # whose layer may be over before they come through
            devices.send()
            return len(devices.final) >= 50

        cutting = threading.Thread(target=cut)
        cutting.start()
        try:
            wait_until(enough_are_final)
        finally:
            ended.set()
            cutting.join()
        devices.run()
    with closing(open_database(url)) as database:
        assert spent_serials(database) == devices.final


def test_memory_stays_flat(process: Process) -> None:
    """What was counted is gone from the memory, however much it was."""
    service = Served(process.address, process.token)
    devices = begun(service, 4000, devices=4000, layer_seconds=1e6)
    memory = psutil.Process(process.pid).memory_info
    grown = []
    for _ in range(4):
        devices.check_in(most=100)
        assert len(devices.waiting) == 100

        def all_final() -> bool:
            devices.send()
            if 0 < len(devices.waiting) < definition().batch:
                devices.check_in(most=len(devices.waiting) + 1)  # lest they wait for a batch
            return not devices.waiting

        wait_until(all_final)
        wait_until(lambda: "neologue_waiting_reports 0.0" in service.ask("GET", "/metrics").body.decode())
        grown.append(memory().rss)
    assert len(devices.final) >= 400
    assert grown[-1] - grown[0] < 32 << 20, grown
