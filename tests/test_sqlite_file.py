"""A versioned file: made, upgraded step by step, or refused with the remedy."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from neologue.errors import DataError
from neologue.sqlite_file import FileKind, VersionedFile

FIRST = FileKind(
    name="list",
    error=DataError,
    version=1,
    schema=("CREATE TABLE items (name TEXT)",),
    damaged="is damaged: delete it",
    foreign="name another file",
    application=77,
)
THIRD = replace(
    FIRST,
    version=3,
    schema=("CREATE TABLE items (name TEXT, size INTEGER, colour TEXT)",),
    migrations={
        1: ("ALTER TABLE items ADD COLUMN size INTEGER",),
        2: ("ALTER TABLE items ADD COLUMN colour TEXT",),
    },
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "list.db"


def prepare(kind: FileKind, path: Path) -> VersionedFile:
    file = VersionedFile(kind, path, patience=0.01)
    with file.transaction() as db:
        file.prepare(db)
    return file


def columns(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        names = [name for _, name, *_ in db.execute("PRAGMA table_info(items)")]
    db.close()
    return names


def test_an_old_file_goes_through_every_version_in_between(path: Path) -> None:
    with prepare(FIRST, path).transaction() as db:
        db.execute("INSERT INTO items VALUES ('kept')")
    with prepare(THIRD, path).transaction() as db:
        assert db.execute("SELECT * FROM items").fetchall() == [("kept", None, None)]
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
    assert columns(path) == ["name", "size", "colour"]


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    prepare(FIRST, path)
    broken = replace(THIRD, migrations={**THIRD.migrations, 2: ("ALTER TABLE nothing ADD COLUMN colour TEXT",)})
    before = path.read_bytes()
    with pytest.raises(DataError, match="is damaged: delete it"):
        prepare(broken, path)
    assert path.read_bytes() == before


def test_a_file_of_another_application_is_refused(path: Path) -> None:
    prepare(replace(FIRST, application=78), path)
    with pytest.raises(DataError, match=r"list\.db is not a list: name another file"):
        prepare(FIRST, path)


def test_a_version_can_be_refused_with_a_sentence_of_its_own(path: Path) -> None:
    prepare(FIRST, path)
    with pytest.raises(DataError, match=r"the list .*list\.db needs a key"):
        prepare(replace(THIRD, refused={1: "needs a key"}), path)
    with pytest.raises(DataError, match=r"has the schema version 1, and this neologue reads 4: .*name another file"):
        prepare(replace(FIRST, version=4), path)


def test_the_file_is_for_its_owner_alone_and_never_made_a_second_time(path: Path) -> None:
    file = prepare(FIRST, path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    with pytest.raises(DataError, match="can't read or write the list"):
        file.connect()
    assert not path.exists()
