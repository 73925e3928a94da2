"""The diary: which words were typed on this device lately, and on which days.

What is forgotten is gone: once a word has expired, was evicted or was forgotten, none of its bytes are left in the
diary's file, and there is no other file. The text of the words is in one small table of its own, because SQLite alone
can't guarantee that (see `Diary._strike`).

With a key that the app holds, the words are sealed on the disk (see `neologue.device.storage.seal`). How many there
are, and on which days each was typed how often, can still be read there.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from neologue.clock import Clock, system_days
from neologue.device.storage.seal import Seal
from neologue.errors import DiaryError, ParameterError
from neologue.language.alphabet import normalise
from neologue.sqlite_file import FileKind, VersionedFile

_PATIENCE: Final = 10.0  # seconds to wait for another process with the same diary
_MOST_TIMES: Final = 2**31 - 1

_SCHEMA: Final = (
    """
    CREATE TABLE words (
        word TEXT PRIMARY KEY,          -- NFC, sealed if there is a key; the only column that holds what was typed
        id   INTEGER NOT NULL           -- ascends in the order of first being noted
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE uses (
        word  INTEGER NOT NULL,         -- words.id
        day   INTEGER NOT NULL,         -- days since 1970-01-01, as the clock had it
        times INTEGER NOT NULL,         -- at least 1, saturating at 2^31 - 1
        PRIMARY KEY (word, day)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX uses_by_day ON uses (day)",
)

_START_ANEW: Final = "name another file, or delete this one to start a new diary"

_PLAIN: Final = FileKind(
    name="diary",
    error=DiaryError,
    version=1,
    schema=_SCHEMA,
    pragmas=(
        # Deleted rows and freed pages are overwritten with zeros, not merely unlinked.
        "PRAGMA secure_delete = ON",
        # What SQLite sorts or sets aside for a moment mustn't land in temporary files.
        "PRAGMA temp_store = MEMORY",
    ),
    damaged=f"is damaged or not a diary: {_START_ANEW}",
    foreign=_START_ANEW,
    refused={2: f"is sealed: give its key, {_START_ANEW}"},
)

# A journal on the disk holds the pages as they were, deleted words included: DELETE and TRUNCATE hand those blocks back
# to the file system unerased, PERSIST and WAL keep them in a file. In memory they vanish. The price: a crash in the
# middle of a write may damage the diary. It is checked on opening, the remedy is to start a new one, and that costs at
# most T days of words.
_JOURNAL_IN_MEMORY: Final = "PRAGMA journal_mode = MEMORY"


def _kind(seal: Seal | None) -> FileKind:
    """A diary, or one whose words are sealed: that has a version of its own and knows its key."""
    if seal is None:
        return _PLAIN
    return replace(
        _PLAIN,
        version=2,
        schema=(*_SCHEMA, "CREATE TABLE seal (mark BLOB NOT NULL)", f"INSERT INTO seal VALUES (x'{seal.mark.hex()}')"),
        refused={1: f"is not sealed by a key: open it without one, {_START_ANEW}"},
    )


class Diary:
    """What was typed on this device in the last T days, and no longer.

    A word typed on day d is remembered through day d + days - 1, as the clock has it. A day later than
    the clock's today is kept: a clock that was set back can't be told from one that had run ahead, and
    the first must not cost any words.
    """

    def __init__(
        self,
        path: Path | str = ":memory:",
        key: bytes | None = None,
        *,
        days: int = 60,
        capacity: int = 10_000,
        longest: int = 64,
        clock: Clock = system_days,
    ) -> None:
        for name, value in (("days", days), ("capacity", capacity), ("longest", longest)):
            if value < 1:
                raise ParameterError(f"{name} is {value}; a diary needs {name} of at least 1")
        self._days = days
        self._capacity = capacity
        self._longest = longest
        self._clock = clock
        self._seal = None if key is None else Seal(key)
        self._file = VersionedFile(_kind(self._seal), path, _PATIENCE)
        self._db = self._file.connect()
        self._db.text_factory = _decode
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def typed(self, word: str, times: int = 1) -> None:
        """Note that `word` was typed today; an empty or overlong one is silently not kept."""
        self.typed_all({word: times})

    def typed_all(self, words: Mapping[str, int]) -> None:
        """Note that some words were typed today, each so many times: all of them, or none if it fails."""
        for times in words.values():
            if times < 1:
                raise ParameterError(f"times is {times}; a typed word counts at least 1")
        with self._transaction() as today:
            self._note_all(words, today)

    def words(self) -> dict[str, int]:
        """The words still remembered, each with how often it was typed, at most 2^31 - 1."""
        with self._transaction():
            rows = self._db.execute(
                "SELECT words.word, MIN(SUM(times), ?) FROM words JOIN uses ON uses.word = words.id"
                " GROUP BY words.word",
                (_MOST_TIMES,),
            )
            return {self._word(kept): times for kept, times in rows}

    def forget(self, word: str) -> None:
        """Forget this very word, equal in case and after NFC; forgetting an unknown word is fine."""
        with self._transaction():
            self._db.execute(
                "DELETE FROM uses WHERE word = (SELECT id FROM words WHERE word = ?)",
                (self._stored_form(_normalise(word)),),
            )
            self._strike()

    def forget_all(self) -> None:
        """Forget every word."""
        with self._transaction():
            self._db.execute("DELETE FROM uses")
            self._strike()

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with self._transaction():
            return self._count()

    def __repr__(self) -> str:
        return f"Diary({self._file.path!r}, days={self._days}, capacity={self._capacity}, longest={self._longest})"

    def _prepare(self) -> None:
        """Write the schema into an empty file, and clean up what a crash or a long pause has left."""
        with self._file.transaction_on(self._db):
            # With SQLite's own journal, which is safe in a crash: the schema holds no words.
            self._file.prepare(self._db)
            self._require_key()
        with self._file.explain_errors():
            self._db.execute(_JOURNAL_IN_MEMORY)
        with self._transaction():
            self._db.execute("DELETE FROM uses WHERE word NOT IN (SELECT id FROM words)")
            self._make_room()
            self._strike()

    def _require_key(self) -> None:
        if self._seal is not None and self._db.execute("SELECT mark FROM seal").fetchone() != (self._seal.mark,):
            raise DiaryError(f"the diary {self._file.path} is sealed by another key: give that one, {_START_ANEW}")

    def _stored_form(self, word: str) -> str | bytes:
        """A word as it is stored."""
        return word if self._seal is None else self._seal.close(word)

    def _word(self, kept: str | bytes) -> str:
        """The word of a stored form."""
        if self._seal is None:
            return str(kept)
        try:
            return self._seal.open(kept)
        except ValueError:
            raise self._file.damaged() from None

    @contextmanager
    def _transaction(self) -> Iterator[int]:
        """One exclusive transaction that begins by expiring what is due, and yields today."""
        today = self._clock()
        with self._file.transaction_on(self._db):
            self._expire(today)
            yield today

    def _expire(self, today: int) -> None:
        (oldest,) = self._db.execute("SELECT MIN(day) FROM uses").fetchone()
        last_expired = today - self._days
        if oldest is not None and oldest <= last_expired:
            self._db.execute("DELETE FROM uses WHERE day <= ?", (last_expired,))
            self._strike()

    def _note_all(self, words: Mapping[str, int], today: int) -> None:
        left = self._capacity - self._count()
        (last,) = self._db.execute("SELECT IFNULL(MAX(word), 0) FROM uses").fetchone()
        for typed, times in words.items():
            word = _normalise(typed)
            # A long string is more likely a secret than a word.
            if not word or len(word) > self._longest:
                continue
            kept = self._stored_form(word)
            row = self._db.execute("SELECT id FROM words WHERE word = ?", (kept,)).fetchone()
            if row is None:
                if left <= 0:
                    self._make_room(for_words=1)
                    left = 1
                left -= 1
                last += 1
                row = (last,)
                self._db.execute("INSERT INTO words VALUES (?, ?)", (kept, last))
            self._db.execute(
                "INSERT INTO uses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET times = MIN(times + excluded.times, ?)",
                (*row, today, min(times, _MOST_TIMES), _MOST_TIMES),
            )

    def _make_room(self, for_words: int = 0) -> None:
        """Evict the words with the oldest last use, of these the least typed, of these the first noted."""
        surplus = self._count() + for_words - self._capacity
        if surplus > 0:
            self._db.execute(
                "DELETE FROM uses WHERE word IN"
                " (SELECT word FROM uses GROUP BY word ORDER BY MAX(day), SUM(times), word LIMIT ?)",
                (surplus,),
            )
            self._strike()

    def _strike(self) -> None:
        """Remove the words without a use, and every stale copy of them.

        When SQLite balances a tree it moves rows between pages and leaves copies in the unused part of a
        page. Deleting a row later zeros the row and not such a copy, secure_delete or not. But emptying a
        whole table zeros all of its pages, so we do that, and write the words that are left once more.
        """
        struck = self._db.execute(
            "DELETE FROM words WHERE NOT EXISTS (SELECT 1 FROM uses WHERE uses.word = words.id)"
        ).rowcount
        if struck:
            self._db.execute("CREATE TEMP TABLE kept AS SELECT word, id FROM words")
            self._db.execute("DELETE FROM words")
            self._db.execute("INSERT INTO words SELECT word, id FROM kept")
            self._db.execute("DROP TABLE kept")

    def _count(self) -> int:
        count: int = self._db.execute("SELECT COUNT(*) FROM words").fetchone()[0]
        return count


def _normalise(word: str) -> str:
    """The word in NFC; empty if it is not text, such as half of a surrogate pair."""
    word = normalise(word)
    # Checked here, because the error of a failed encoding carries the word.
    return "" if any("\ud800" <= letter <= "\udfff" for letter in word) else word


def _decode(text: bytes) -> str:
    """The text of a column; where it is damaged, an error that doesn't quote it, as SQLite's would."""
    with suppress(UnicodeDecodeError):
        return text.decode()
    raise sqlite3.DatabaseError("text that is not UTF-8")
