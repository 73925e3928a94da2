"""A SQLite file of one owner: private, of a known version, with errors that name the file and the remedy."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from neologue.errors import NeologueError

IN_MEMORY = ":memory:"


@dataclass(frozen=True)
class FileKind:
    """What tells one kind of file from another, and what to say when a file can't be used."""

    name: str
    error: type[NeologueError]
    version: int
    schema: tuple[str, ...]
    """The statements that make an empty file one of this version."""
    damaged: str
    """What to say, behind the path, of a file that can't be read."""
    foreign: str
    """What to do with a file of another kind or version, besides using the neologue that wrote it."""
    migrations: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """From each earlier version that can still be read, the statements that lead to the next."""
    refused: Mapping[int, str] = field(default_factory=dict)
    """Versions that are of the same kind and can't be used now, and what to say of each."""
    pragmas: tuple[str, ...] = ()
    """Run on every connection."""
    application: int = 0
    """The application_id in the header, by which a file is known to be of this kind; 0 if it has none."""


class VersionedFile:
    """One file of a kind, made for its owner alone if there is none; several processes may share it."""

    def __init__(self, kind: FileKind, path: Path | str, patience: float) -> None:
        """Wait `patience` seconds for other processes before an error says that the file is in use."""
        self.kind = kind
        self.path = str(path)
        self._patience = patience
        # Never lets SQLite create the file: one that vanished has taken its record with it.
        self._address = IN_MEMORY
        if self.path != IN_MEMORY:
            self._address = f"{make_private(kind.error, kind.name, self.path).as_uri()}?mode=rw"

    def connect(self) -> sqlite3.Connection:
        """A new connection, outside any transaction."""
        with self.explain_errors():
            db = sqlite3.connect(self._address, timeout=self._patience, isolation_level=None, uri=True)
            try:
                for pragma in self.kind.pragmas:
                    db.execute(pragma)
            except BaseException:
                db.close()
                raise
        return db

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One exclusive transaction, on a connection of its own: no thread and no forked child can inherit one."""
        with closing(self.connect()) as db, self.transaction_on(db):
            yield db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One transaction that only reads, on a connection of its own: it waits for nobody who is about to write."""
        with closing(self.connect()) as db, self.explain_errors(), db:
            db.execute("BEGIN")
            yield db

    @contextmanager
    def transaction_on(self, db: sqlite3.Connection) -> Iterator[None]:
        """One exclusive transaction; what fails in it leaves everything as it was."""
        with self.explain_errors(), db:
            db.execute("BEGIN IMMEDIATE")
            yield

    @staticmethod
    def is_empty(db: sqlite3.Connection) -> bool:
        """Whether nothing was ever written to the file."""
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        return bool(version == 0 and tables == 0)

    def write_schema(self, db: sqlite3.Connection) -> None:
        """Make an empty file one of this kind, inside a transaction."""
        for statement in self.kind.schema:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {self.kind.application}")
        db.execute(f"PRAGMA user_version = {self.kind.version}")

    def upgrade(self, db: sqlite3.Connection) -> None:
        """Bring a file of an earlier version up to date, inside a transaction; refuse what is damaged or foreign."""
        kind = self.kind
        (application,) = db.execute("PRAGMA application_id").fetchone()
        if application != kind.application:
            raise kind.error(f"{self.path} is not a {kind.name}: {kind.foreign}")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version in kind.refused:
            raise kind.error(f"the {kind.name} {self.path} {kind.refused[version]}")
        if version != kind.version and version not in kind.migrations:
            readable = " and ".join(map(str, sorted({kind.version, *kind.refused})))
            raise kind.error(
                f"the {kind.name} {self.path} has the schema version {version}, and this neologue reads {readable}:"
                f" use the neologue that wrote it, or {kind.foreign}"
            )
        for step in range(version, kind.version):
            for statement in kind.migrations[step]:
                db.execute(statement)
        if version != kind.version:
            db.execute(f"PRAGMA user_version = {kind.version}")
        if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise self.damaged()

    def prepare(self, db: sqlite3.Connection) -> None:
        """Make a file that is empty or of an earlier version ready for use, inside a transaction."""
        if self.is_empty(db):
            self.write_schema(db)
        else:
            self.upgrade(db)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the errors of SQLite into one that names this file and the remedy."""
        with explain_errors(self.kind.error, self.kind.name, self.path, self.kind.damaged):
            yield

    def damaged(self) -> NeologueError:
        """What to raise of a file that can't be read."""
        return self.kind.error(f"{self.path} {self.kind.damaged}")


def make_private(kind: type[NeologueError], what: str, path: str) -> Path:
    """The absolute path of a file, which is created for its owner alone if it does not exist."""
    try:
        # Resolved, so that SQLite neither takes "file:..." for a URI nor follows a link to a file yet to be made.
        target = Path(path).resolve()
        # Only ever a new file: to close a second handle on an open database would drop SQLite's locks.
        with suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600))
    except OSError as error:
        raise kind(f"can't open the {what} {path}: {error.strerror}; check its folder") from error
    return target


@contextmanager
def explain_errors(kind: type[NeologueError], what: str, path: str, damaged: str) -> Iterator[None]:
    """Turn the errors of SQLite into one of a kind that names the file and the remedy."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise kind(
            f"can't use the {what} {path}: it is closed, or belongs to another thread; open it where it is used"
        ) from error
    except sqlite3.Error as error:
        # The low byte is the kind of error; the rest says where it arose.
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                message = f"the {what} {path} is in use by another process: try again"
            case (
                sqlite3.SQLITE_PERM
                | sqlite3.SQLITE_READONLY
                | sqlite3.SQLITE_IOERR
                | sqlite3.SQLITE_FULL
                | sqlite3.SQLITE_CANTOPEN
            ):
                message = (
                    f"can't read or write the {what} {path} ({error.sqlite_errorname}):"
                    " check the permissions of the file and its folder, and the room on the disk"
                )
            case _:
                message = f"{path} {damaged}"
        raise kind(message) from error
