"""The file of a ledger: killed at any moment, used by two at once, damaged or foreign."""

import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from neologue.errors import BudgetError, InputError, LedgerError
from neologue.ledger.budget import Budget
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.ledger_file import LedgerFile, create_ledger, open_ledger
from neologue.ledger.rare_words import RareWords
from neologue.privacy.collection import Batch, Collection

USERS = Collection("unary", 7.0, 60, (Batch(900_000, 1_000_000), Batch(820_000, 9_000)))
BUDGET = Budget("user", 2.1, 1e-9)
"""Three times USERS fit into it, and four times do not."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = create_ledger(path, clock=lambda: 20_000, patience=0.01)
    ledger.add_population("en", BUDGET)
    return ledger


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(LedgerError) as caught:
        call()
    return str(caught.value)


# Killed, and two at once

PLAN = """
import os, signal, sys
from neologue.errors import BudgetError
from neologue.privacy.collection import Batch, Collection
from neologue.ledger import ledger_rows
from neologue.ledger.ledger_file import open_ledger

path, campaign, end = sys.argv[1:]
print("ready", flush=True)
input()
users = Collection("unary", 7.0, 60, (Batch(900_000, 1_000_000), Batch(820_000, 9_000)))
if end == "in the middle":
    ledger_rows.encode_collection = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
try:
    open_ledger(path).plan("en", campaign, users)
    print("planned", flush=True)
except BudgetError:
    print("refused", flush=True)
if end == "afterwards":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def begin(path: Path, campaign: str, end: str = "") -> subprocess.Popen[str]:
    """A process that will plan a campaign when told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", PLAN, str(path), campaign, end], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def test_killed_between_plan_and_settle_it_stays_charged(path: Path, ledger: Ledger) -> None:
    process = begin(path, "c1", "afterwards")
    assert process.communicate("\n", timeout=120)[0] == "planned\n"
    assert process.returncode == -signal.SIGKILL
    assert ledger.snapshot("en").spent.epsilon == composed_epsilon([USERS], 1e-9, "user")
    assert [entry.state for entry in ledger.snapshot("en").charges] == ["planned"]
    assert ledger.settle("c1", USERS).settled == 1


def test_killed_while_planning_it_leaves_nothing_behind(path: Path, ledger: Ledger) -> None:
    process = begin(path, "c1", "in the middle")
    assert process.communicate("\n", timeout=120)[0] == ""
    assert process.returncode == -signal.SIGKILL
    assert ledger.snapshot("en").charges == ()
    assert ledger.plan("en", "c1", USERS).open == 1


def test_two_at_once_never_both_slip_under_the_budget(path: Path, ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    processes = [begin(path, name) for name in ("c3", "c4")]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = sorted(process.communicate(timeout=120)[0] for process in processes)
    assert said == ["planned\n", "refused\n"]
    assert ledger.snapshot("en").spent.open == 3
    assert ledger.snapshot("en").spent.within_budget


# The file


def test_the_file_is_durable_and_for_its_owner_alone(path: Path, ledger: Ledger) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(ledger) == f"Ledger({'the ledger ' + str(path)!r})"
    assert isinstance(ledger._store, LedgerFile)
    with ledger._store.transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_missing_ledger_is_an_error_that_says_how_to_create_one(path: Path) -> None:
    said = refused(lambda: open_ledger(path))
    assert f"there is no ledger {path}: create one with `neologue ledger create {path}`" in said
    assert not path.exists()


def test_a_ledger_that_vanishes_is_not_begun_anew(path: Path, ledger: Ledger) -> None:
    path.unlink()
    assert "can't read or write the ledger" in refused(lambda: ledger.snapshot("en").spent)
    assert not path.exists()


def test_a_ledger_is_not_created_over_anything(path: Path, ledger: Ledger) -> None:
    whole = path.read_bytes()
    assert "is there already" in refused(lambda: create_ledger(path))
    assert path.read_bytes() == whole


def test_an_attempt_that_was_broken_off_can_be_repeated(path: Path) -> None:
    path.touch()
    assert "is not a ledger" in refused(lambda: open_ledger(path))
    assert create_ledger(path).populations() == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "check its folder" in refused(lambda: create_ledger(tmp_path / "missing" / "ledger.db"))


def test_a_locked_ledger_is_an_error_that_names_it_and_changes_nothing(path: Path, ledger: Ledger) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for call in (lambda: open_ledger(path, patience=0.01), lambda: ledger.plan("en", "c1", USERS)):
        assert f"the ledger {path} is in use by another process: try again" in refused(call)
    holder.close()
    assert ledger.snapshot("en").charges == ()


def test_what_is_no_ledger_is_refused(path: Path) -> None:
    path.write_bytes(b"no ledger at all " * 300)
    said = refused(lambda: open_ledger(path))
    assert "is damaged or not a ledger" in said
    assert "restore it from a copy" in said


def test_another_database_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE photos (name TEXT)")
    db.close()
    before = path.read_bytes()
    assert "is not a ledger: name one" in refused(lambda: open_ledger(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["middle", "cut"])
def test_a_damaged_ledger_is_refused(path: Path, ledger: Ledger, damage: str) -> None:
    for number in range(3):
        ledger.plan("en", f"c{number}", replace(USERS, batches=tuple(Batch(900_000, 9_000 + n) for n in range(200))))
    whole = path.read_bytes()
    assert len(whole) > 5 * 4096
    path.write_bytes(whole[:-4096] if damage == "cut" else whole[:4096] + b"\x55" * 8192 + whole[3 * 4096 :])
    assert "is damaged" in refused(lambda: open_ledger(path))


def change(path: Path, statement: str) -> None:
    """Write into the file past the ledger."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("facts", ["{}", "[]", '{"mechanism": 5}', "null"])
def test_facts_that_can_not_be_read_are_damage(path: Path, ledger: Ledger, facts: str) -> None:
    ledger.plan("en", "c1", USERS)
    change(path, f"UPDATE ledger_charges SET planned = '{facts}'")
    assert "is damaged" in refused(lambda: open_ledger(path).snapshot("en"))


def test_an_unknown_version_is_refused_and_left_as_it_is(path: Path, ledger: Ledger) -> None:
    change(path, "PRAGMA user_version = 7")
    before = path.read_bytes()
    assert "has the schema version 7, and this neologue reads 3: use the neologue that wrote it" in refused(
        lambda: open_ledger(path)
    )
    assert path.read_bytes() == before


OLD = """
CREATE TABLE populations (name TEXT PRIMARY KEY) STRICT;
CREATE TABLE budgets (
    number INTEGER PRIMARY KEY, population TEXT NOT NULL REFERENCES populations (name), unit TEXT NOT NULL,
    epsilon REAL NOT NULL, delta REAL NOT NULL, local_epsilon REAL, day INTEGER NOT NULL
) STRICT;
CREATE TABLE campaigns (
    campaign TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES populations (name), state TEXT NOT NULL,
    planned TEXT NOT NULL, settled TEXT, planned_day INTEGER NOT NULL, ended_day INTEGER
) STRICT;
INSERT INTO populations VALUES ('en');
INSERT INTO budgets VALUES (1, 'en', 'user', 2.1, 1e-9, NULL, 20000);
INSERT INTO campaigns VALUES ('z first', 'en', 'settled', '{0}', '{0}', 20000, 20001);
INSERT INTO campaigns VALUES ('a second', 'en', 'planned', '{0}', NULL, 20002, NULL);
PRAGMA application_id = 1852597607;
PRAGMA user_version = 1;
"""
"""A ledger as the first version wrote it."""


def test_a_ledger_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    facts = '{"mechanism": "unary", "epsilon": 7.0, "words_per_user": 60, "cohorts": [{"reports": 9, "candidates": 5}]}'
    with sqlite3.connect(path) as db:
        db.executescript(OLD.replace("{0}", facts))
    db.close()
    later = open_ledger(path)
    charges = open_ledger(path).snapshot("en").charges
    assert [(charge.campaign, charge.state, charge.told) for charge in charges] == [
        ("z first", "settled", True),
        ("a second", "planned", False),
    ]
    assert charges[0].collection == Collection("unary", 7.0, 60, (Batch(9, 5),))
    assert (charges[0].planned_day, charges[0].ended_day, charges[0].anonymity) == (20_000, 20_001, None)
    assert later.snapshot("en").rare_words == RareWords(0, 1.0, 1.0, 0, campaigns=1), "nobody knows what was promised"
    later.abandon("a second")


def test_all_of_it_is_a_mistake_of_input() -> None:
    assert issubclass(BudgetError, LedgerError)
    assert issubclass(LedgerError, InputError)
