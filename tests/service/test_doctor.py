"""The doctor: each thing that a deployment must have is found, and so is its lack."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from neologue.conformance.scripted_log import WITNESSES
from neologue.errors import InputError
from neologue.service.api.deployment_api import DeploymentView
from neologue.service.doctor import examine
from neologue.service.finding import Finding
from neologue.service.log import log_store
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.ops import confinement
from neologue.service.ops.confinement import Confinement, read_confinement
from neologue.service.ops.service_keys import load_keys
from neologue.service.service_checks import _connections, _way, check_confinement
from neologue.service.storage.database_address import open_database, read_address
from neologue.service.storage.migrations import migrate
from neologue.service.witness_checks import check_witnesses
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.signed_note import COSIGNATURE, NoteKey, cosign_note

from .serving import served

CONFINED = Confinement(
    root_user=False, capabilities=False, new_privileges=False, writable_root=False, core_files=False, swap=False
)
DEPLOYED = DeploymentView(proxies=1, forwarded=1, https=True, connections=10_000, confinement=CONFINED)


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.verdict, finding.what) for finding in findings]


def test_a_confined_service_passes() -> None:
    ((verdict, what),) = told(list(check_confinement(CONFINED, "the service")))
    assert (verdict, what.partition(":")[0]) == ("good", "the service is confined")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("root_user", "runs as root"),
        ("capabilities", "CapabilityBoundingSet="),
        ("new_privileges", "NoNewPrivileges=yes"),
        ("writable_root", "ProtectSystem=strict"),
        ("core_files", "LimitCORE=0"),
        ("swap", "MemorySwapMax=0"),
    ],
)
def test_whatever_a_service_may_do_beyond_its_work_is_told_with_the_remedy(name: str, sentence: str) -> None:
    ((verdict, what),) = told(list(check_confinement(replace(CONFINED, **{name: True}), "the service")))
    assert verdict == "doubtful"
    assert sentence in what


def test_what_the_system_does_not_tell_is_not_called_good() -> None:
    ((verdict, what),) = told(list(check_confinement(replace(CONFINED, swap=None), "the service")))
    assert (verdict, "does not tell" in what) == ("doubtful", True)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"status": "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n", "swap": "0"}, (False, False, False)),
        ({"status": "CapEff:\t000001ffffffffff\nNoNewPrivs:\t0\n", "swap": "max"}, (True, True, True)),
        ({"status": "", "swap": "max"}, (None, None, True)),
    ],
)
def test_confinement_is_read_from_the_system(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    expected: tuple[bool | None, bool | None, bool],
) -> None:
    group = tmp_path / "groups" / "system.slice" / "neologue.service"
    group.mkdir(parents=True)
    (group / "memory.swap.max").write_text(files["swap"] + "\n")
    for name, text in (
        ("_STATUS", files["status"]),
        ("_GROUP", "0::/system.slice/neologue.service\n"),
        ("_SWAPS", "Filename\n/dev/sda2\n"),
    ):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(confinement, name, tmp_path / name)
    monkeypatch.setattr(confinement, "_GROUPS", tmp_path / "groups")
    read = read_confinement()
    assert (read.capabilities, read.new_privileges, read.swap) == expected


@pytest.mark.parametrize(
    ("scheme", "here", "changed", "verdict", "sentence"),
    [
        ("https", False, {}, "good", "how many proxies a request comes through: 1"),
        ("https", False, {"forwarded": 2}, "unsafe", "all devices are one address to it: serve --proxies 2"),
        ("https", False, {"forwarded": 0}, "unsafe", "anybody can forge an address: serve --proxies 0"),
        ("https", False, {"https": False}, "unsafe", "X-Forwarded-Proto"),
        ("http", True, {"forwarded": 0, "https": False}, "doubtful", "asked behind its proxies"),
    ],
)
def test_the_number_of_proxies_is_the_true_one(
    scheme: str, here: bool, changed: dict[str, object], verdict: str, sentence: str
) -> None:
    import msgspec

    found = told(list(_way(scheme, here, msgspec.structs.replace(DEPLOYED, **changed))))
    assert [what for said, what in found if said == verdict and sentence in what]


def test_too_few_file_descriptors_are_told() -> None:
    assert told(list(_connections(768)))[0][0] == "doubtful"
    assert "LimitNOFILE" in told(list(_connections(768)))[0][1]
    assert told(list(_connections(10_000)))[0][0] == "good"


def test_a_running_service_says_how_it_is_deployed_to_operators_alone(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/service.db", proxies=1) as service:
        deployed = service.ask("GET", "/v1/deployment", X_Forwarded_For="192.0.2.1, 192.0.2.2").json
        assert (deployed["proxies"], deployed["forwarded"], deployed["https"]) == (1, 2, False)
        assert deployed["confinement"].keys() == set(CONFINED.__dataclass_fields__)
        assert "192.0.2" not in str(deployed)
        assert service.ask("GET", "/v1/deployment", token="").status == 401
        analyst = service.ask("POST", "/v1/tokens", {"name": "grace", "role": "analyst"}).json["token"]
        assert service.ask("GET", "/v1/deployment", token=analyst).status == 403


def test_backups_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    with closing(open_database(str(tmp_path / "service.db"))) as database:
        migrate(database)

        def found(backups: Path | None) -> list[tuple[str, str]]:
            return [
                (verdict, what)
                for verdict, what in told(examine(database, backups=backups))
                if "backup" in what.replace(str(tmp_path), "")
            ]

        assert found(None) == [("doubtful", "nothing is known of backups: name their folder with --backups")]
        ((verdict, what),) = found(tmp_path / "backups")
        assert (verdict, "has no backup" in what) == ("unsafe", True)
        copy = tmp_path / "backups" / "2026-01-01.db"
        copy.touch(0o600)
        assert [verdict for verdict, _ in found(tmp_path / "backups")] == ["good", "doubtful"], "on the same disk"
        copy.chmod(0o644)
        assert "chmod 600" in str(found(tmp_path / "backups"))
        yesterday = time.time() - 30 * 3600
        os.utime(copy, (yesterday, yesterday))
        assert any(verdict == "unsafe" and "30 hours old" in what for verdict, what in found(tmp_path / "backups"))


def test_who_else_may_read_tables_of_postgresql_is_told(postgres: Callable[[], str]) -> None:
    url = postgres()
    with closing(open_database(url)) as database:
        migrate(database)
        assert ("good", "no other role of PostgreSQL was granted any of the tables") in told(examine(database))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("GRANT SELECT ON sums TO PUBLIC")
        unsafe = [what for verdict, what in told(examine(database)) if verdict == "unsafe"]
        assert any("PUBLIC may use tables" in what and "REVOKE" in what for what in unsafe)


def test_the_address_of_a_database_can_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "database"
    file.write_text("postgresql://neologue:secret@db/neologue\n")
    assert read_address(f"@{file}") == "postgresql://neologue:secret@db/neologue"
    assert open_database(f"@{file}").name == "postgresql://db/neologue"
    for text in ("", "a\nb\n", f"@{file}"):
        file.write_text(text)
        with pytest.raises(InputError, match="must have the address of the database, and nothing else"):
            read_address(f"@{file}")
    with pytest.raises(InputError, match="can't be read"):
        read_address(f"@{tmp_path}/none")


def test_witnesses_that_are_behind_are_named_and_too_few_are_an_error(tmp_path: Path) -> None:
    keys = [
        NoteKey(f"w{n}.example", COSIGNATURE, witness.public_key().public_bytes_raw())
        for n, witness in enumerate(WITNESSES, 1)
    ]
    lines = "".join(f"witness {key.name} {key} http://127.0.0.1:{n}\n" for n, key in enumerate(keys, 1))
    file = tmp_path / "witnesses"
    file.write_text(f"{lines}group them 2 w1.example w2.example w3.example\nquorum them\n")
    with closing(open_database(str(tmp_path / "service.db"))) as database:
        migrate(database)
        private = load_keys(database, "none").log

        def found(witnesses: Path | None = file) -> list[tuple[str, str]]:
            with database.reading() as db:
                checked = list(check_witnesses(db, witnesses))
            assert [each for each in examine(database, witnesses=witnesses) if each in checked] == checked
            return told(checked)

        assert found(None)[0][0] == "doubtful"
        assert found() == [("good", "3 of 3 witnesses have co-signed all of the log")], "which has nothing yet"
        with database.transaction() as db:
            log_store.append(db, LogEntry(Deed.KNOWN, bytes(32)))
        LogPublisher(database, private).publish()
        assert [verdict for verdict, _ in found()] == ["doubtful", "doubtful", "doubtful", "unsafe"]
        with database.transaction() as db:
            (checkpoint,) = log_store.not_cosigned(db, keys[0].public)
            for key, witness in zip(keys[:2], WITNESSES, strict=False):
                line = cosign_note(checkpoint.note.text, key.name, witness, 1000)
                log_store.keep_cosignature(db, checkpoint.tree, checkpoint.size, key.public, str(line))
        behind, enough = found()
        assert behind[0] == "doubtful"
        assert "w3.example has not co-signed 1 of the 1 trees of the log" in behind[1]
        assert enough == ("good", "2 of 3 witnesses have co-signed all of the log")
        file.write_text(f"{lines}quorum w1.example\n")
        assert found() == [("good", "1 of 1 witnesses have co-signed all of the log")]
        file.write_text(f"{lines}group them 1 w1.example w2.example\nquorum them\n")
        assert "are no majority" in found()[0][1]
