"""The ledger: nothing is spent over budget, and nothing that was spent is forgotten."""

import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from neologue.errors import BudgetError, InputError, LedgerError, ParameterError
from neologue.ledger.budget import Budget
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import ChargeState, Ledger, LedgerEntry
from neologue.privacy.collection import Batch, Collection

USERS = Collection("unary", 7.0, 60, (Batch(900_000, 1_000_000), Batch(820_000, 9_000)))
FEWER = replace(USERS, batches=(Batch(300_000, 1_000_000),))
BUDGET = Budget("user", 2.1, 1e-9)
"""Three times USERS fit into it, and four times do not."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger.create(path, clock=lambda: 20_000, patience=0.01)
    ledger.add_population("en", BUDGET)
    return ledger


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(LedgerError) as caught:
        call()
    return str(caught.value)


# Budgets


def test_a_new_population_has_spent_nothing(ledger: Ledger) -> None:
    spent = ledger.spent("en")
    assert (spent.epsilon, spent.local_epsilon, spent.planned, spent.settled) == (0.0, Decimal(0), 0, 0)
    assert (spent.left, spent.within_budget) == (2.1, True)


def test_campaigns_are_composed_until_the_budget_is_spent(ledger: Ledger) -> None:
    for number in range(1, 4):
        spent = ledger.plan("en", f"c{number}", USERS)
        assert spent.epsilon == composed_epsilon([USERS] * number, 1e-9, "user")
        assert spent.local_epsilon == 7 * number
    assert spent.left == pytest.approx(2.1 - spent.epsilon)
    with pytest.raises(BudgetError):
        ledger.plan("en", "c4", USERS)


def test_a_budget_may_be_spent_to_the_last_digit(ledger: Ledger) -> None:
    exactly = composed_epsilon([USERS], 1e-9, "user")
    ledger.add_population("exact", Budget("user", exactly, 1e-9))
    ledger.add_population("short", Budget("user", exactly - 1e-5, 1e-9))
    assert ledger.plan("exact", "c1", USERS).left == 0.0
    with pytest.raises(BudgetError):
        ledger.plan("short", "c2", USERS)


def test_a_refusal_says_why_and_what_would_fit_and_changes_nothing(path: Path, ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    before, entries = ledger.spent("en"), ledger.entries("en")
    planned = replace(USERS, epsilon=9.0)
    with pytest.raises(BudgetError) as caught:
        ledger.plan("en", "c3", planned)
    said, fitting = str(caught.value), caught.value.fits
    after = composed_epsilon([USERS, USERS, planned], 1e-9, "user")
    assert "the campaign 'c3' with local ε = 9 does not fit: the population 'en' would have spent" in said
    assert f"ε = {after:g} for every user at δ = 1e-09, of a budget of 2.1" in said
    assert f"ε = {before.epsilon:g} and local ε = 14.0 are spent by 2 campaigns before" in said
    assert f"with these batches, a local ε of {fitting:g} would fit" in said
    assert (ledger.spent("en"), ledger.entries("en")) == (before, entries)

    assert fitting is not None
    assert 7.0 < fitting < 9.0
    with pytest.raises(BudgetError):
        ledger.plan("en", "c3", replace(USERS, epsilon=fitting + 0.01))
    assert ledger.plan("en", "c3", replace(USERS, epsilon=fitting)).within_budget


def test_where_nothing_fits_a_refusal_says_so(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.set_budget("en", Budget("user", 0.5, 1e-9))
    with pytest.raises(BudgetError, match="no local ε would fit with these batches: ask another population") as caught:
        ledger.plan("en", "c2", USERS)
    assert caught.value.fits is None


def test_the_local_epsilon_has_a_budget_of_its_own(ledger: Ledger) -> None:
    ledger.add_population("de", Budget("item", 5.0, 1e-9, local_epsilon=10.0))
    ledger.plan("de", "c1", USERS)
    with pytest.raises(BudgetError, match=r"local ε = 14\.0 for every word, of a budget of 10; .* of 3 would fit"):
        ledger.plan("de", "c2", USERS)
    assert ledger.plan("de", "c2", replace(USERS, epsilon=3.0)).local_epsilon == Decimal(10)


def test_populations_do_not_spend_each_others_budget(ledger: Ledger) -> None:
    ledger.add_population("de", BUDGET)
    for number in range(3):
        ledger.plan("en", f"en{number}", USERS)
    assert ledger.spent("de").epsilon == 0.0
    assert ledger.plan("de", "de0", USERS).epsilon == composed_epsilon([USERS], 1e-9, "user")
    assert ledger.populations() == ["de", "en"]


def test_a_budget_is_never_changed_silently(ledger: Ledger) -> None:
    larger = replace(BUDGET, epsilon=9.0)
    assert "has a budget already: change it with set_budget" in refused(lambda: ledger.add_population("en", larger))
    assert ledger.spent("en").budget == BUDGET
    ledger.set_budget("en", larger)
    assert ledger.spent("en").budget == larger
    assert ledger.budgets("en") == [(20_000, BUDGET), (20_000, larger)]


# From plan to release


def test_what_happened_takes_the_place_of_what_was_planned(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    spent = ledger.settle("c1", FEWER)
    assert spent.epsilon == composed_epsilon([FEWER], 1e-9, "user") > composed_epsilon([USERS], 1e-9, "user")
    assert (spent.planned, spent.settled) == (0, 1)
    assert ledger.entries("en") == [LedgerEntry("c1", "en", ChargeState.SETTLED, FEWER, 20_000, 20_000)]
    assert ledger.check_release("c1") == spent


def test_too_few_reports_are_recorded_and_their_release_refused(path: Path, ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    ledger.settle("c1", USERS)
    with pytest.raises(BudgetError, match="'c2' must not be released: the population 'en' has spent ε = ") as error:
        ledger.settle("c2", FEWER)
    assert "of a budget of 2.1. What was collected stays on record" in str(error.value)
    again = Ledger(path)
    assert [entry.state for entry in again.entries("en")] == ["settled", "settled"]
    assert again.spent("en").epsilon == composed_epsilon([USERS, FEWER], 1e-9, "user") > 2.1
    assert (again.spent("en").within_budget, again.spent("en").left) == (False, 0.0)
    with pytest.raises(BudgetError):
        again.check_release("c2")
    with pytest.raises(BudgetError):
        again.plan("en", "c3", replace(USERS, epsilon=0.01))


def test_to_settle_again_with_the_same_facts_changes_nothing_and_with_others_is_refused(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert ledger.settle("c1", USERS) == ledger.settle("c1", USERS)
    assert "settled already, with other batches" in refused(lambda: ledger.settle("c1", FEWER))
    assert ledger.entries("en")[0].collection == USERS


def test_an_abandoned_campaign_costs_nothing(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.abandon("c1")
    ledger.abandon("c1")
    assert (ledger.spent("en").epsilon, ledger.spent("en").local_epsilon) == (0.0, Decimal(0))
    assert ledger.entries("en")[0].state == "abandoned"
    assert "is abandoned, not settled" in refused(lambda: ledger.check_release("c1"))
    assert "is abandoned already" in refused(lambda: ledger.plan("en", "c1", USERS))


def test_what_was_thought_abandoned_and_happened_is_charged(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.abandon("c1")
    assert ledger.settle("c1", FEWER).epsilon == composed_epsilon([FEWER], 1e-9, "user")


def test_what_was_collected_can_not_be_abandoned(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.settle("c1", USERS)
    assert "was collected and stays charged" in refused(lambda: ledger.abandon("c1"))
    assert ledger.spent("en").settled == 1


def test_a_campaign_is_planned_once(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert "'c1' is planned already, for the population 'en': give this one a name of its own, or abandon" in refused(
        lambda: ledger.plan("en", "c1", USERS)
    )
    assert "is planned, not settled" in refused(lambda: ledger.check_release("c1"))


def test_whoever_has_its_reference_may_plan_a_campaign_again_and_nobody_else(ledger: Ledger) -> None:
    planned = ledger.plan("en", "c1", USERS, "mine")
    assert ledger.plan("en", "c1", USERS, "mine") == planned
    for others in (("en", "c1", USERS, "yours"), ("en", "c1", USERS), ("en", "c1", FEWER, "mine")):
        assert "is planned already" in refused(lambda: ledger.plan(*others))  # noqa: B023 - called at once
    ledger.plan("en", "c2", USERS)
    assert "is planned already" in refused(lambda: ledger.plan("en", "c2", USERS, "mine"))
    ledger.settle("c1", USERS)
    assert "is settled already" in refused(lambda: ledger.plan("en", "c1", USERS, "mine"))
    assert len(ledger.entries("en")) == 2


def test_what_is_not_there_is_named(ledger: Ledger) -> None:
    assert re.search(r"has no population 'fr'; it has en$", refused(lambda: ledger.plan("fr", "c1", USERS)))
    for call in (lambda: ledger.settle("c9", USERS), lambda: ledger.abandon("c9"), lambda: ledger.check_release("c9")):
        assert re.search(r"has no campaign 'c9': plan it first", refused(call))


@pytest.mark.parametrize(
    "facts",
    [
        replace(USERS, mechanism="none"),
        replace(USERS, epsilon=0.0),
        replace(USERS, epsilon=float("nan")),
        replace(USERS, words_per_user=0),
        replace(USERS, batches=(Batch(-1, 5),)),
        replace(USERS, batches=(Batch(5, 0),)),
        replace(USERS, batches=()),
        replace(USERS, batches=(Batch(0, 5),)),
    ],
)
def test_facts_that_no_collection_has_are_refused(ledger: Ledger, facts: Collection) -> None:
    with pytest.raises(ParameterError):
        ledger.plan("en", "c1", facts)
    assert ledger.entries("en") == []


def test_a_campaign_in_which_nobody_took_part_costs_nothing(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert ledger.settle("c1", replace(USERS, batches=())).epsilon == 0.0


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_names_can_be_read(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="needs a name"):
        ledger.add_population(name, BUDGET)
    with pytest.raises(ParameterError, match="needs a name"):
        ledger.plan("en", name, USERS)


# Killed, and two at once

PLAN = """
import os, signal, sys
from neologue.errors import BudgetError
from neologue.privacy.collection import Batch, Collection
from neologue.ledger.ledger import ChargeState, Ledger

path, campaign, end = sys.argv[1:]
print("ready", flush=True)
input()
users = Collection("unary", 7.0, 60, (Batch(900_000, 1_000_000), Batch(820_000, 9_000)))
if end == "in the middle":
    Ledger._charged = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
try:
    Ledger(path).plan("en", campaign, users)
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
    assert process.communicate("\n", timeout=300)[0] == "planned\n"
    assert process.returncode == -signal.SIGKILL
    assert ledger.spent("en").epsilon == composed_epsilon([USERS], 1e-9, "user")
    assert [entry.state for entry in ledger.entries("en")] == ["planned"]
    assert ledger.settle("c1", USERS).settled == 1


def test_killed_while_planning_it_leaves_nothing_behind(path: Path, ledger: Ledger) -> None:
    process = begin(path, "c1", "in the middle")
    assert process.communicate("\n", timeout=300)[0] == ""
    assert process.returncode == -signal.SIGKILL
    assert ledger.entries("en") == []
    assert ledger.plan("en", "c1", USERS).planned == 1


def test_two_at_once_never_both_slip_under_the_budget(path: Path, ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    processes = [begin(path, name) for name in ("c3", "c4")]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = sorted(process.communicate(timeout=300)[0] for process in processes)
    assert said == ["planned\n", "refused\n"]
    assert ledger.spent("en").planned == 3
    assert ledger.spent("en").within_budget


# The file


def test_the_file_is_durable_and_for_its_owner_alone(path: Path, ledger: Ledger) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert repr(ledger) == f"Ledger({str(path)!r})"
    with ledger._file.transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_missing_ledger_is_an_error_that_says_how_to_create_one(path: Path) -> None:
    said = refused(lambda: Ledger(path))
    assert f"there is no ledger {path}: create one with `neologue ledger create {path}`" in said
    assert not path.exists()


def test_a_ledger_that_vanishes_is_not_begun_anew(path: Path, ledger: Ledger) -> None:
    path.unlink()
    assert "can't read or write the ledger" in refused(lambda: ledger.spent("en"))
    assert not path.exists()


def test_a_ledger_is_not_created_over_anything(path: Path, ledger: Ledger) -> None:
    whole = path.read_bytes()
    assert "is there already" in refused(lambda: Ledger.create(path))
    assert path.read_bytes() == whole


def test_an_attempt_that_was_broken_off_can_be_repeated(path: Path) -> None:
    path.touch()
    assert "is not a ledger" in refused(lambda: Ledger(path))
    assert Ledger.create(path).populations() == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "check its folder" in refused(lambda: Ledger.create(tmp_path / "missing" / "ledger.db"))


def test_a_locked_ledger_is_an_error_that_names_it_and_changes_nothing(path: Path, ledger: Ledger) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for call in (lambda: Ledger(path, patience=0.01), lambda: ledger.plan("en", "c1", USERS)):
        assert f"the ledger {path} is in use by another process: try again" in refused(call)
    holder.close()
    assert ledger.entries("en") == []


def test_what_is_no_ledger_is_refused(path: Path) -> None:
    path.write_bytes(b"no ledger at all " * 300)
    said = refused(lambda: Ledger(path))
    assert "is damaged or not a ledger" in said
    assert "restore it from a copy" in said


def test_another_database_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE photos (name TEXT)")
    db.close()
    before = path.read_bytes()
    assert "is not a ledger: name one" in refused(lambda: Ledger(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["middle", "cut"])
def test_a_damaged_ledger_is_refused(path: Path, ledger: Ledger, damage: str) -> None:
    for number in range(3):
        ledger.plan("en", f"c{number}", replace(USERS, batches=tuple(Batch(900_000, 9_000 + n) for n in range(200))))
    whole = path.read_bytes()
    assert len(whole) > 5 * 4096
    path.write_bytes(whole[:-4096] if damage == "cut" else whole[:4096] + b"\x55" * 8192 + whole[3 * 4096 :])
    assert "is damaged" in refused(lambda: Ledger(path))


def change(path: Path, statement: str) -> None:
    """Write into the file past the ledger."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(statement)
    db.close()


@pytest.mark.parametrize("facts", ["{}", "[]", '{"mechanism": 5}', "null"])
def test_facts_that_can_not_be_read_are_damage(path: Path, ledger: Ledger, facts: str) -> None:
    ledger.plan("en", "c1", USERS)
    change(path, f"UPDATE campaigns SET planned = '{facts}'")
    assert "is damaged" in refused(lambda: Ledger(path).spent("en"))


def test_an_unknown_version_is_refused_and_left_as_it_is(path: Path, ledger: Ledger) -> None:
    change(path, "PRAGMA user_version = 7")
    before = path.read_bytes()
    assert "has the schema version 7, and this neologue reads 2: use the neologue that wrote it" in refused(
        lambda: Ledger(path)
    )
    assert path.read_bytes() == before


def test_a_ledger_of_the_first_version_is_brought_up_to_date(path: Path, ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    change(path, "ALTER TABLE campaigns DROP COLUMN reference")
    change(path, "PRAGMA user_version = 1")
    later = Ledger(path)
    later.plan("en", "c2", USERS, "somebody's")
    assert later.settle("c1", USERS).settled == 1
    assert [entry.reference for entry in Ledger(path).entries("en")] == [None, "somebody's"]


def test_all_of_it_is_a_mistake_of_input() -> None:
    assert issubclass(BudgetError, LedgerError)
    assert issubclass(LedgerError, InputError)
