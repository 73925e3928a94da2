"""The account: once per campaign, the same bytes again, and nothing is sent that is not recorded."""

import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import neologue
from invitations import OPERATOR, STRANGER, campaign_id, invitation, policy
from layers import small_layer
from neologue.device.contribution import contribute
from neologue.device.storage import spending_record as account_module
from neologue.device.storage.spending_record import AnsweredCampaign, SpendingRecord
from neologue.entropy import Entropy, SeededEntropy
from neologue.errors import AnsweredError, PolicyError, SpendingRecordError
from neologue.language.alphabet import Alphabet
from neologue.protocol.invitation import Invitation, invite
from neologue.protocol.report import read_report

WORDS = {"abc": 3, "caa": 1}
TESTS = Path(__file__).parents[1]
SOURCES = Path(neologue.__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "account.db"


@pytest.fixture
def account(path: Path) -> SpendingRecord:
    return SpendingRecord(path, clock=lambda: 20_000)


class Silent(Entropy):
    """Randomness that must not be asked for."""

    def words(self, count: int) -> NoReturn:
        raise AssertionError("a second report was drawn")


class Failing(Entropy):
    """Randomness that fails in the middle of a report."""

    def words(self, count: int) -> NDArray[np.uint64]:
        raise OSError(5, "no entropy")


# Once per campaign


def test_a_report_is_the_contribution_and_its_cost_is_recorded(account: SpendingRecord) -> None:
    asked = invitation(epsilon=3.0)
    report = account.answer(asked, WORDS, policy(), SeededEntropy(1))
    assert report == contribute(WORDS, asked.layer, SeededEntropy(1))
    assert account.spent == 3.0
    told = (OPERATOR.public_key().public_bytes_raw(), 3.0, asked.layer.bound)
    assert account.answers() == [AnsweredCampaign(campaign_id(1), asked.layer.digest, 3.0, 20_000, False, *told)]


def test_without_a_source_of_randomness_a_secure_one_is_used(account: SpendingRecord) -> None:
    asked = invitation()
    assert read_report(asked.layer, account.answer(asked, WORDS, policy())) is not None


def test_asked_again_it_gives_the_same_bytes_and_spends_nothing(account: SpendingRecord) -> None:
    report = account.answer(invitation(), WORDS, policy(), SeededEntropy(1))
    assert account.answer(invitation(), {"other": 1}, policy(), Silent()) == report
    assert account.spent == 3.0


def test_after_a_restart_it_gives_the_same_bytes(path: Path) -> None:
    report = SpendingRecord(path).answer(invitation(), WORDS, policy())
    again = SpendingRecord(path)
    assert again.answer(invitation(), WORDS, policy(), Silent()) == report
    assert again.spent == 3.0


@pytest.mark.parametrize("change", [{"number": 2}, {"epsilon": 2.0}, {"pass_number": 2}, {"layer_size": 5000}])
def test_another_layer_of_the_same_campaign_is_refused(account: SpendingRecord, change: dict[str, Any]) -> None:
    account.answer(invitation(), WORDS, policy())
    with pytest.raises(AnsweredError, match=rf"another layer of the campaign {campaign_id(1).hex()}"):
        account.answer(invitation(**change), WORDS, policy(), Silent())
    assert account.spent == 3.0


def test_another_campaign_costs_anew(account: SpendingRecord) -> None:
    first = account.answer(invitation(1), WORDS, policy(), SeededEntropy(1))
    second = account.answer(invitation(2), WORDS, policy(), SeededEntropy(2))
    assert first != second
    assert account.spent == 6.0


# Confirmation


def test_a_confirmed_report_is_gone_and_its_cost_is_not(path: Path, account: SpendingRecord) -> None:
    report = account.answer(invitation(extension=5), WORDS, policy(), SeededEntropy(1))
    assert report[9:29] in path.read_bytes(), "else the next lines show nothing"
    account.confirm(campaign_id(1))
    assert report[9:29] not in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == ["account.db"]
    assert account.spent == 3.0
    (answer,) = account.answers()
    assert (answer.campaign_id, answer.epsilon, answer.day, answer.confirmed) == (campaign_id(1), 3.0, 20_000, True)


def test_a_confirmed_campaign_is_refused_for_good(path: Path, account: SpendingRecord) -> None:
    account.answer(invitation(), WORDS, policy())
    account.confirm(campaign_id(1))
    account.confirm(campaign_id(1))
    with pytest.raises(AnsweredError, match="was confirmed and erased, and it makes no second"):
        SpendingRecord(path).answer(invitation(), WORDS, policy(), Silent())
    assert account.spent == 3.0


def test_no_stale_copy_of_a_confirmed_report_is_left_and_the_others_are_spared(
    path: Path, account: SpendingRecord
) -> None:
    """With these reports, SQLite 3.40's secure_delete by itself leaves pieces of a deleted one."""
    rng = random.Random(3)
    roomy = policy(lifetime_epsilon=1000.0)
    waiting: dict[int, tuple[Invitation, bytes]] = {}
    confirmed = []
    number = 0
    for _ in range(150):
        if len(waiting) < 40 and (not waiting or rng.random() < 0.6):
            number += 1
            asked = invitation(number, extension=rng.choice([5, 6, 7]))
            waiting[number] = asked, account.answer(asked, {}, roomy, SeededEntropy(3, number))
        else:
            chosen = rng.choice(sorted(waiting))
            account.confirm(campaign_id(chosen))
            confirmed.append(waiting.pop(chosen)[1])
    left = path.read_bytes()
    pieces = {report[start : start + 8] for report in confirmed for start in range(9, len(report) - 8)}
    # Runs with zeros in them are everywhere in a database.
    assert [piece for piece in pieces if 0 not in piece and piece in left] == []
    for asked, report in waiting.values():
        assert account.answer(asked, {}, roomy, Silent()) == report


def test_an_unknown_campaign_cant_be_confirmed(account: SpendingRecord) -> None:
    with pytest.raises(SpendingRecordError, match=f"no answer to the campaign {campaign_id(9).hex()}"):
        account.confirm(campaign_id(9))


# The policy


def test_what_the_policy_refuses_costs_nothing_and_draws_nothing(account: SpendingRecord) -> None:
    with pytest.raises(PolicyError, match="switched that off"):
        account.answer(invitation(), WORDS, policy(enabled=False), Silent())
    stranger = invite(campaign_id(1), small_layer(["ab"]), STRANGER)
    with pytest.raises(PolicyError, match="not one of the 1"):
        account.answer(stranger, WORDS, policy(), Silent())
    assert account.spent == 0.0
    assert account.answers() == []


def test_a_report_is_not_sent_again_under_a_policy_that_would_not_have_made_it(account: SpendingRecord) -> None:
    report = account.answer(invitation(), WORDS, policy())
    for stricter in (policy(enabled=False), policy(largest_epsilon=2.0), policy(lifetime_epsilon=2.0)):
        with pytest.raises(PolicyError):
            account.answer(invitation(), WORDS, stricter, Silent())
    assert account.answer(invitation(), WORDS, policy(), Silent()) == report


def test_the_lifetime_is_spent_to_its_edge_and_no_further(path: Path) -> None:
    limited = policy(lifetime_epsilon=9.0)
    account = SpendingRecord(path)
    spent = [0.0]
    for number in range(1, 4):
        account.answer(invitation(number), WORDS, limited)
        spent.append(account.spent)
    assert spent == [0.0, 3.0, 6.0, 9.0]
    account.confirm(campaign_id(1))
    with pytest.raises(PolicyError, match=r"9\.0 of ε spent before and 0\.001 now make .*lifetime_epsilon"):
        SpendingRecord(path).answer(invitation(4, epsilon=0.001), WORDS, limited, Silent())
    assert account.spent == 9.0
    # What was answered within the limit is still sent again.
    account.answer(invitation(3), WORDS, limited, Silent())


def test_ten_times_a_tenth_is_more_than_one_because_the_tenth_of_a_float_is(account: SpendingRecord) -> None:
    limited = policy(lifetime_epsilon=1.0)
    for number in range(1, 10):
        account.answer(invitation(number, epsilon=0.1), WORDS, limited)
    assert Fraction(account.spent) >= 9 * Fraction(0.1)
    # Added up as floats it would pass: 0.1 + … + 0.1 is 0.9999999999999999.
    assert sum([0.1] * 10) < 1.0
    with pytest.raises(PolicyError, match=r"now make 1\.0000000000000002, above the 1\.0"):
        account.answer(invitation(10, epsilon=0.1), WORDS, limited, Silent())
    account.answer(invitation(10, epsilon=0.1), WORDS, policy(lifetime_epsilon=1.0000000000000002))
    assert account.spent == math.nextafter(1.0, 2)


# Nothing depends on the words


@given(st.dictionaries(st.text() | st.text("abc\ud800 \u0301"), st.integers(), max_size=20))
def test_no_words_make_a_device_silent_or_its_report_longer(words: dict[str, int]) -> None:
    for mechanism in ("unary", "subset-selection"):
        layer = small_layer(["a\ud800", "ab"], mechanism=mechanism, alphabet=Alphabet("abc\ud800 \u0301"))
        assert len(contribute(words, layer, SeededEntropy(1))) == len(contribute({}, layer, SeededEntropy(1)))


@pytest.mark.parametrize("words", [{}, WORDS, {"\ud800": -1, "": 0}, {f"ab{n}": n for n in range(1000)}])
def test_refusals_are_the_same_whatever_the_words(account: SpendingRecord, words: dict[str, int]) -> None:
    account.answer(invitation(1), words, policy())
    said = []
    for asked in (invitation(2, layer_size=1), invitation(1, number=2)):
        with pytest.raises(PolicyError) as caught:
            account.answer(asked, words, policy())
        said.append(str(caught.value))
    assert said == [
        "the layer asks 1 users, below the 100 that this device accepts; its owner can change smallest_layer_size",
        f"this device has answered another layer of the campaign {campaign_id(1).hex()}, and takes part once: "
        "invite it to the next campaign",
    ]


# Two at once

ANSWER = """
import sys
from invitations import invitation, policy
from neologue.device.storage.spending_record import SpendingRecord

print("ready", flush=True)
input()
print(SpendingRecord(sys.argv[1]).answer(invitation(extension=5), {"abc": 1}, policy()).hex())
"""


def run(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python of its own with the tests' modules at hand."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, SOURCES)))},
    )


def test_processes_that_answer_at_once_give_one_report_and_spend_once(path: Path) -> None:
    devices = [run(ANSWER, path) for _ in range(4)]
    for device in devices:
        assert device.stdout
        assert device.stdout.readline() == "ready\n"
    for device in devices:
        assert device.stdin
        device.stdin.write("\n")
        device.stdin.flush()
    reports = {device.communicate(timeout=300)[0] for device in devices}
    assert [device.returncode for device in devices] == [0] * 4
    assert len(reports) == 1
    account = SpendingRecord(path)
    assert account.spent == 3.0
    assert account.answer(invitation(extension=5), {}, policy(), Silent()).hex() + "\n" in reports


def test_threads_that_answer_at_once_give_one_report_and_spend_once(account: SpendingRecord) -> None:
    start = Barrier(8)

    def answer(_: int) -> bytes:
        start.wait()
        return account.answer(invitation(extension=5), WORDS, policy())

    with ThreadPoolExecutor(8) as threads:
        reports = set(threads.map(answer, range(8)))
    assert len(reports) == 1
    assert account.spent == 3.0


def test_threads_in_different_campaigns_never_overdraw_the_lifetime(account: SpendingRecord) -> None:
    start = Barrier(8)
    limited = policy(lifetime_epsilon=9.0)

    def answer(number: int) -> bool:
        start.wait()
        try:
            account.answer(invitation(number), WORDS, limited)
        except PolicyError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        answered = list(threads.map(answer, range(8)))
    assert sum(answered) == 3
    assert account.spent == 9.0


# Killed at any moment

KILLED = """
import os, signal, sqlite3, sys
from contextlib import contextmanager
from pathlib import Path
from invitations import invitation, policy
from neologue.device.storage.spending_record import SpendingRecord
from neologue.entropy import SeededEntropy

path, moment, number = sys.argv[1], sys.argv[2], int(sys.argv[3])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Entropy(SeededEntropy):
    def words(self, count):
        if moment == "drawing":
            die()
        return super().words(count)

class Connection(sqlite3.Connection):
    def execute(self, statement, *values):
        done = super().execute(statement, *values)
        if statement.startswith("BEGIN"):
            # So little memory that changed pages are written into the file long before the commit.
            super().execute("PRAGMA cache_size = 1")
        if statement.startswith("INSERT INTO answers") and moment == "between the rows":
            die()
        if statement.startswith("INSERT INTO reports") and moment == "before the commit":
            assert Path(path + "-journal").stat().st_size > 512
            die()
        return done
    def __exit__(self, *error):
        done = super().__exit__(*error)
        if self.execute("SELECT COUNT(*) FROM answers").fetchone()[0] >= number and moment == "after the commit":
            die()
        return done

connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, factory=Connection, **named)
account = SpendingRecord(path)
report = account.answer(invitation(number, extension=9), {"abc": 1}, policy(), Entropy(7))
print(report.hex(), flush=True)
if moment == "after sending":
    die()
"""


@pytest.mark.parametrize("earlier", [0, 2])
@pytest.mark.parametrize(
    ("moment", "recorded", "sent"),
    [
        ("drawing", False, False),
        ("between the rows", False, False),
        ("before the commit", False, False),
        ("after the commit", True, False),
        ("after sending", True, True),
    ],
)
def test_killed_at_any_moment_it_has_recorded_what_it_sent(
    path: Path, moment: str, recorded: bool, sent: bool, earlier: int
) -> None:
    for number in range(1, earlier + 1):
        SpendingRecord(path).answer(invitation(number), WORDS, policy())
    number = earlier + 1
    device = run(KILLED, path, moment, str(number))
    printed, _ = device.communicate(timeout=300)
    assert device.returncode == -signal.SIGKILL

    asked = invitation(number, extension=9)
    first = contribute({"abc": 1}, asked.layer, SeededEntropy(7)).hex()
    assert printed == (first + "\n" if sent else "")
    account = SpendingRecord(path)
    assert account.spent == 3.0 * (number if recorded else earlier)
    if recorded:
        assert account.answer(asked, WORDS, policy(), Silent()).hex() == first
    else:
        account.answer(asked, WORDS, policy())
    assert account.spent == 3.0 * number


def test_the_kill_before_the_commit_leaves_a_file_that_has_to_be_mended(path: Path) -> None:
    SpendingRecord(path)
    whole = path.read_bytes()
    device = run(KILLED, path, "before the commit", "1")
    device.communicate(timeout=300)
    assert path.read_bytes() != whole, "pages of the report are in the file"
    assert (path.parent / "account.db-journal").exists()
    assert SpendingRecord(path).spent == 0.0
    assert not (path.parent / "account.db-journal").exists()


def test_a_report_that_fails_on_the_way_costs_nothing(account: SpendingRecord) -> None:
    with pytest.raises(OSError, match="no entropy"):
        account.answer(invitation(), WORDS, policy(), Failing())
    assert account.spent == 0.0
    assert account.answer(invitation(), WORDS, policy())


# The file


def test_the_commit_waits_for_the_folder_too(account: SpendingRecord) -> None:
    with account._file.transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_the_file_is_for_its_owner_alone_and_holds_no_words(path: Path, account: SpendingRecord) -> None:
    account.answer(invitation(), {"abcabc": 1}, policy())
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"abcabc" not in path.read_bytes()
    assert repr(account) == f"SpendingRecord({str(path)!r})"


@pytest.mark.parametrize("name", ["a?mode=memory", "file:account", "50%25 #1"])
def test_a_name_that_looks_like_a_uri_is_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SpendingRecord(name).answer(invitation(), WORDS, policy())
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert SpendingRecord(name).spent == 3.0


def damaged(path: Path) -> str:
    with pytest.raises(SpendingRecordError) as caught:
        SpendingRecord(path)
    return str(caught.value)


def test_a_file_that_is_no_account_is_refused_without_advice_to_forget(path: Path) -> None:
    path.write_bytes(b"not an account at all " * 100)
    said = damaged(path)
    assert "is damaged or not a spending record" in said
    assert "answer no more campaigns" in said
    assert "delete" not in said


def test_a_file_damaged_in_the_middle_is_refused(path: Path, account: SpendingRecord) -> None:
    account.answer(invitation(extension=9), WORDS, policy())
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x55" * 4096 + whole[8192:])
    assert "is damaged" in damaged(path)


def test_a_file_cut_short_is_refused(path: Path, account: SpendingRecord) -> None:
    account.answer(invitation(extension=9), WORDS, policy())
    path.write_bytes(path.read_bytes()[:-4096])
    assert "is damaged" in damaged(path)


@pytest.mark.parametrize("epsilon", ["-5", "0", "1e999", "'abc'"])
def test_a_cost_that_no_report_has_is_damage(path: Path, account: SpendingRecord, epsilon: str) -> None:
    account.answer(invitation(), WORDS, policy())
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(f"UPDATE answers SET epsilon = {epsilon}")
    db.close()
    assert "is damaged" in damaged(path)


@pytest.mark.parametrize(("version", "table"), [(4, "answers"), (0, "photos")])
def test_an_unknown_version_is_refused_and_left_as_it_is(path: Path, version: int, table: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute(f"CREATE TABLE {table} (name TEXT)")
    db.close()
    before = path.read_bytes()
    assert f"has the schema version {version}" in damaged(path)
    assert path.read_bytes() == before


def test_an_account_that_vanishes_is_not_begun_anew(path: Path, account: SpendingRecord) -> None:
    account.answer(invitation(), WORDS, policy())
    path.unlink()
    with pytest.raises(SpendingRecordError, match="can't read or write the spending record"):
        account.answer(invitation(), WORDS, policy(), Silent())
    assert not path.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpendingRecordError, match=r"can't open the spending record .*missing.*check its folder"):
        SpendingRecord(tmp_path / "missing" / "account.db")


def test_an_account_that_stays_locked_is_an_error_and_nothing_is_spent(
    path: Path, account: SpendingRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_module, "_PATIENCE", 0.01)
    hasty = SpendingRecord(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SpendingRecordError, match="in use by another process: try again"):
        hasty.answer(invitation(), WORDS, policy(), Silent())
    holder.close()
    assert account.spent == 0.0
