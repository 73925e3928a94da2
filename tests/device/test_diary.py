"""The diary remembers T days of words, is bounded, and leaves nothing of what it forgets."""

import random
import sqlite3
import string
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from neologue.device.storage import diary as diary_module
from neologue.device.storage.diary import Diary
from neologue.errors import DiaryError, ParameterError

SECRET = "xylomancytest"


class Calendar:
    """A clock that stands still until it is told the day."""

    def __init__(self, day: int = 20_000) -> None:
        self.day = day

    def __call__(self) -> int:
        return self.day


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "diary.db"


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def explanation(caught: pytest.ExceptionInfo[DiaryError]) -> str:
    """All that an error and those it came from say."""
    said = []
    error: BaseException | None = caught.value
    while error is not None:
        said.append(repr(error))
        error = error.__context__
    return " ".join(said)


# What is remembered


def test_a_word_counts_as_often_as_it_was_typed(calendar: Calendar) -> None:
    with Diary(clock=calendar) as diary:
        diary.typed("yeet")
        diary.typed("yeet", times=3)
        calendar.day += 1
        diary.typed("yeet")
        diary.typed("rizz")
        assert diary.words() == {"yeet": 5, "rizz": 1}
        assert len(diary) == 2


def test_a_word_is_kept_as_nfc_without_surrounding_space_and_with_its_case() -> None:
    with Diary() as diary:
        diary.typed("  cafe\u0301\n")
        diary.typed("caf\u00e9")
        diary.typed("Café")
        assert diary.words() == {"caf\u00e9": 2, "Caf\u00e9": 1}


@pytest.mark.parametrize("word", ["", " \t\u3000", "x" * 65, "half a pair \ud83d", "\udc00"])
def test_what_is_not_a_word_is_silently_not_kept(word: str) -> None:
    with Diary() as diary:
        diary.typed(word)
        diary.forget(word)
        assert diary.words() == {}


def test_length_is_counted_in_composed_characters() -> None:
    with Diary(longest=3) as diary:
        diary.typed("e\u0301" * 3)
        diary.typed("é" * 4)
        assert diary.words() == {"ééé": 1}


def test_any_character_survives_the_file(path: Path) -> None:
    words = {"a\0b", "𝔫𝔢𝔬", "नमस्ते", "'; DROP TABLE words; --", "👩‍👩‍👧"}
    with Diary(path) as diary:
        for word in words:
            diary.typed(word)
    with Diary(path) as diary:
        assert diary.words() == dict.fromkeys(words, 1)


def test_counts_saturate(calendar: Calendar) -> None:
    with Diary(clock=calendar) as diary:
        diary.typed("lol", times=10**30)
        diary.typed("lol", times=10**30)
        calendar.day += 1
        diary.typed("lol", times=2**31 - 1)
        assert diary.words() == {"lol": 2**31 - 1}


# Expiry


def test_a_word_of_day_d_is_remembered_through_day_d_plus_days_minus_1(calendar: Calendar) -> None:
    with Diary(days=60, clock=calendar) as diary:
        diary.typed("yeet")
        calendar.day += 59
        assert diary.words() == {"yeet": 1}
        calendar.day += 1
        assert len(diary) == 0
        assert diary.words() == {}


def test_only_the_days_that_are_over_stop_counting(calendar: Calendar) -> None:
    with Diary(days=2, clock=calendar) as diary:
        diary.typed("yeet", times=10)
        calendar.day += 1
        diary.typed("yeet")
        calendar.day += 1
        assert diary.words() == {"yeet": 1}


def test_expired_words_do_not_come_back_when_the_clock_is_set_back(calendar: Calendar) -> None:
    with Diary(days=5, clock=calendar) as diary:
        diary.typed("yeet")
        calendar.day += 5
        diary.typed("rizz")
        calendar.day -= 5
        assert diary.words() == {"rizz": 1}


def test_a_clock_set_back_to_1970_costs_no_words(calendar: Calendar) -> None:
    with Diary(days=5, clock=calendar) as diary:
        diary.typed("yeet")
        today, calendar.day = calendar.day, 0
        diary.typed("yeet")
        diary.typed("rizz")
        assert diary.words() == {"yeet": 2, "rizz": 1}
        calendar.day = today
        assert diary.words()["yeet"] == 1


def test_a_longer_memory_than_time_itself_is_fine(calendar: Calendar) -> None:
    with Diary(days=10**30, clock=calendar) as diary:
        diary.typed("yeet")
        assert diary.words() == {"yeet": 1}


# Capacity


def test_when_full_the_oldest_last_use_goes_then_the_fewest_times(calendar: Calendar) -> None:
    with Diary(capacity=3, clock=calendar) as diary:
        diary.typed("old", times=100)
        diary.typed("renewed")
        calendar.day += 1
        diary.typed("renewed")
        diary.typed("rare")
        diary.typed("new")
        assert diary.words() == {"renewed": 2, "rare": 1, "new": 1}
        diary.typed("new", times=4)
        diary.typed("newer")
        assert diary.words() == {"renewed": 2, "new": 5, "newer": 1}


def test_a_known_word_evicts_nobody() -> None:
    with Diary(capacity=2) as diary:
        diary.typed("yeet")
        diary.typed("rizz")
        diary.typed("yeet")
        assert diary.words() == {"yeet": 2, "rizz": 1}


def test_a_diary_opened_with_less_capacity_shrinks(path: Path, calendar: Calendar) -> None:
    with Diary(path, clock=calendar) as diary:
        for word in ("a", "b", "c"):
            diary.typed(word)
            calendar.day += 1
    with Diary(path, capacity=1, clock=calendar) as diary:
        assert diary.words() == {"c": 1}


def test_the_file_stays_bounded(path: Path) -> None:
    with Diary(path, capacity=5) as diary:
        for number in range(30):
            diary.typed(f"word{number}")
        size = path.stat().st_size
        for number in range(30, 100):
            diary.typed(f"word{number}")
    assert path.stat().st_size == size


# Against a model


class Remembering(RuleBasedStateMachine):
    """The diary and a plain table of (word, day) agree, whatever is typed and forgotten, and when."""

    days, capacity = 4, 5
    spelling = st.sampled_from(["a", "A", " a ", "é", "e\u0301", "É", "ﬁ", "fi", "\u212b", "Å", "b", "c"]) | st.text(
        max_size=4
    )

    def __init__(self) -> None:
        super().__init__()
        self.calendar = Calendar(100)
        self.diary = Diary(days=self.days, capacity=self.capacity, longest=3, clock=self.calendar)
        self.uses: Counter[tuple[str, int]] = Counter()
        self.noted: list[str] = []

    def teardown(self) -> None:
        self.diary.close()

    def totals(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for (word, _), times in self.uses.items():
            totals[word] += times
        return totals

    def drop(self, unwanted: Callable[[str, int], bool]) -> None:
        self.uses = Counter({use: times for use, times in self.uses.items() if not unwanted(*use)})
        self.noted = [word for word in self.noted if any(word == other for other, _ in self.uses)]

    def evict(self) -> None:
        totals = self.totals()
        last = {word: max(day for other, day in self.uses if other == word) for word in totals}
        victim = min(self.noted, key=lambda word: (last[word], totals[word], self.noted.index(word)))
        self.drop(lambda word, _: word == victim)

    @rule(word=spelling, times=st.integers(1, 3))
    def typed(self, word: str, times: int) -> None:
        self.diary.typed(word, times)
        word = unicodedata.normalize("NFC", word).strip()
        if 0 < len(word) <= 3:
            if word not in self.noted:
                if len(self.noted) == self.capacity:
                    self.evict()
                self.noted.append(word)
            self.uses[word, self.calendar.day] += times

    @rule(step=st.integers(-6, 6))
    def another_day(self, step: int) -> None:
        self.calendar.day += step
        self.drop(lambda _, day: day + self.days <= self.calendar.day)

    @rule(word=spelling)
    def forget(self, word: str) -> None:
        self.diary.forget(word)
        self.drop(lambda other, _: other == unicodedata.normalize("NFC", word).strip())

    @rule()
    def forget_all(self) -> None:
        self.diary.forget_all()
        self.drop(lambda _word, _day: True)

    @invariant()
    def they_agree(self) -> None:
        assert self.diary.words() == self.totals()
        assert len(self.diary) == len(self.noted)


TestRemembering = Remembering.TestCase
TestRemembering.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


# What is left behind


def forget(diary: Diary, calendar: Calendar) -> None:
    diary.forget(f" {SECRET}")


def forget_all(diary: Diary, calendar: Calendar) -> None:
    diary.forget_all()


def expire(diary: Diary, calendar: Calendar) -> None:
    calendar.day += 60
    diary.words()


def expire_by_typing(diary: Diary, calendar: Calendar) -> None:
    calendar.day += 60
    diary.typed("x" * 65)


def evict(diary: Diary, calendar: Calendar) -> None:
    calendar.day += 1
    for number in range(50):
        diary.typed(f"newer{number}")


@pytest.mark.parametrize("end", [forget, forget_all, expire, expire_by_typing, evict])
def test_no_byte_of_a_word_outlives_it(end: Callable[[Diary, Calendar], None], path: Path, calendar: Calendar) -> None:
    with Diary(path, capacity=50, clock=calendar) as diary:
        diary.typed(SECRET)
        for number in range(40):
            diary.typed(f"other{number}", times=2)
        assert SECRET.encode() in bytes_on_disk(path), "else the next lines show nothing"
        end(diary, calendar)
        assert SECRET[:6].encode() not in bytes_on_disk(path)
        assert SECRET[-6:].encode() not in bytes_on_disk(path)
    assert SECRET[-6:].encode() not in bytes_on_disk(path)
    assert [file.name for file in path.parent.iterdir()] == ["diary.db"]


def test_to_open_a_diary_that_was_left_long_ago_is_to_expire_it(path: Path, calendar: Calendar) -> None:
    with Diary(path, clock=calendar) as diary:
        diary.typed(SECRET)
    calendar.day += 60
    Diary(path, clock=calendar).close()
    assert SECRET.encode() not in bytes_on_disk(path)


def test_no_stale_copy_of_a_word_outlives_it(path: Path, calendar: Calendar) -> None:
    """With these words, SQLite 3.40's secure_delete by itself leaves a piece of a deleted one."""
    rng = random.Random(49)
    every_word = set()
    with Diary(path, days=2, clock=calendar) as diary:
        for _ in range(5):
            calendar.day += 1
            for _ in range(60):
                word = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(40, 64)))
                every_word.add(word)
                diary.typed(word)
        kept = set(diary.words())
    left = bytes_on_disk(path)
    assert len(kept) == 120
    assert all(word.encode() in left for word in kept)
    pieces = {word[start : start + 8] for word in every_word - kept for start in range(len(word) - 7)}
    assert [piece for piece in pieces if piece.encode() in left] == []


def test_the_diary_is_the_only_file_even_while_it_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Diary(path) as diary:
        seen: list[list[str]] = []
        strike = diary._strike

        def watched() -> None:
            strike()
            seen.append([file.name for file in path.parent.iterdir()])

        monkeypatch.setattr(diary, "_strike", watched)
        diary.typed(SECRET)
        diary.forget(SECRET)
    assert seen == [["diary.db"]]


def test_forgetting_spares_other_cases_and_unknown_words_are_fine() -> None:
    with Diary() as diary:
        diary.typed("Yeet")
        diary.typed("yeet")
        diary.forget("yeet")
        diary.forget("never typed")
        assert diary.words() == {"Yeet": 1}


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    Diary(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_to_a_file_yet_to_be_made_makes_it_for_its_owner_alone(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "target.db")
    Diary(path).close()
    assert (tmp_path / "target.db").stat().st_mode & 0o777 == 0o600


def test_repr_shows_no_words() -> None:
    with Diary() as diary:
        diary.typed(SECRET)
        assert repr(diary) == "Diary(':memory:', days=60, capacity=10000, longest=64)"


# Files that can't be used


def test_a_damaged_file_is_named_with_the_remedy(path: Path) -> None:
    path.write_bytes(b"not a diary at all " * 100)
    with pytest.raises(DiaryError, match=r"diary\.db .*delete this one to start a new diary"):
        Diary(path)


def test_a_half_written_file_is_refused_on_opening(path: Path) -> None:
    with Diary(path) as diary:
        for number in range(100):
            diary.typed(f"{SECRET}{number}")
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    with pytest.raises(DiaryError, match="delete this one") as caught:
        Diary(path)
    assert SECRET not in explanation(caught)


def test_damaged_text_is_an_error_that_does_not_quote_it(path: Path) -> None:
    with Diary(path) as diary:
        diary.typed(SECRET)
    path.write_bytes(path.read_bytes().replace(SECRET.encode(), b"\xff" + SECRET[1:].encode()))
    with Diary(path) as diary, pytest.raises(DiaryError, match="delete this one") as caught:
        diary.words()
    assert SECRET[1:] not in explanation(caught)


def test_what_a_torn_write_left_is_tidied_on_opening(path: Path) -> None:
    with Diary(path) as diary:
        diary.typed(SECRET)
        diary.typed("yeet")
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM uses WHERE word = (SELECT id FROM words WHERE word = ?)", (SECRET,))
        db.execute("INSERT INTO uses VALUES (99, 10000000, 1)")
    db.close()
    with Diary(path) as diary:
        assert diary.words() == {"yeet": 1}
        assert len(diary) == 1
        diary.typed("rizz")
        assert diary.words() == {"yeet": 1, "rizz": 1}
    assert SECRET.encode() not in bytes_on_disk(path)


@pytest.mark.parametrize(("version", "table"), [(3, "words"), (0, "photos"), (-1, "words")])
def test_an_unknown_version_is_refused_and_left_as_it_is(path: Path, version: int, table: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA user_version = {version}")
        db.execute(f"CREATE TABLE {table} (name TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(DiaryError, match=rf"diary\.db has the schema version {version}, .*delete"):
        Diary(path)
    assert path.read_bytes() == before


def test_our_version_without_our_tables_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 1")
    db.close()
    with pytest.raises(DiaryError, match=r"diary\.db is damaged or not a diary"):
        Diary(path)


@pytest.mark.parametrize("name", ["", "missing/diary.db"])
def test_a_path_that_cannot_be_a_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiaryError, match="check"):
        Diary(name)


def test_a_name_that_looks_like_a_uri_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Diary("file:diary?mode=memory").close()
    assert (tmp_path / "file:diary?mode=memory").is_file()


def test_a_closed_diary_says_so() -> None:
    diary = Diary()
    diary.close()
    diary.close()
    with pytest.raises(DiaryError, match="closed"):
        diary.words()


# Two at once


def test_two_connections_share_one_diary(path: Path, calendar: Calendar) -> None:
    with Diary(path, clock=calendar) as one, Diary(path, clock=calendar) as other:
        one.typed("yeet")
        other.typed("yeet")
        other.typed(SECRET)
        assert one.words() == {"yeet": 2, SECRET: 1}
        one.forget(SECRET)
        assert other.words() == {"yeet": 2}
        assert SECRET.encode() not in bytes_on_disk(path)


def test_two_processes_type_at_once(path: Path) -> None:
    script = (
        "import sys; from neologue.device.storage.diary import Diary; input()\n"
        "with Diary(sys.argv[1]) as diary:\n"
        "    for number in range(100): diary.typed('both'); diary.typed(sys.argv[2] + str(number))"
    )
    typists = [
        subprocess.Popen([sys.executable, "-c", script, path, name], stdin=subprocess.PIPE) for name in ("one", "two")
    ]
    for typist in typists:
        assert typist.stdin
        with typist.stdin as ready:
            ready.write(b"\n")
    assert [typist.wait(timeout=300) for typist in typists] == [0, 0]
    with Diary(path) as diary:
        words = diary.words()
    assert words.pop("both") == 200
    assert words == {f"{name}{number}": 1 for name in ("one", "two") for number in range(100)}


def test_a_diary_that_stays_locked_is_an_error_and_nothing_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diary_module, "_PATIENCE", 0.01)
    with Diary(path) as diary:
        diary.typed("yeet")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DiaryError, match="in use by another process: try again") as caught:
            diary.typed(SECRET)
        assert SECRET not in explanation(caught)
        holder.close()
        diary.typed("rizz")
        assert diary.words() == {"yeet": 1, "rizz": 1}


# Parameters


@pytest.mark.parametrize("name", ["days", "capacity", "longest"])
def test_a_parameter_out_of_range_is_named_with_its_value_before_any_file_is_made(name: str, path: Path) -> None:
    with pytest.raises(ParameterError, match=rf"{name} is -3; .* at least 1"):
        Diary(path, **{name: -3})  # type: ignore[arg-type]
    assert not path.exists()


def test_times_out_of_range_is_named_and_the_word_is_not() -> None:
    with Diary() as diary:
        with pytest.raises(ParameterError, match=r"times is 0; .* at least 1") as caught:
            diary.typed(SECRET, times=0)
        assert SECRET not in str(caught.value)
        assert diary.words() == {}


def test_words_typed_at_once_are_as_if_typed_one_after_the_other() -> None:
    words = {"yeet": 3, " yeet ": 2, "x" * 65: 1, "": 1, "zonk": 1}
    with Diary(capacity=2) as together, Diary(capacity=2) as apart:
        together.typed_all({"blorp": 9} | words)
        apart.typed("blorp", 9)
        for word, times in words.items():
            apart.typed(word, times)
        assert together.words() == apart.words()
        assert sum(apart.words().values()) > 5


def test_of_words_typed_at_once_all_are_kept_or_none() -> None:
    with Diary() as diary:
        diary.typed("kept")
        with pytest.raises(ParameterError, match="times is 0"):
            diary.typed_all({"yeet": 1, "zonk": 0})
        assert diary.words() == {"kept": 1}
