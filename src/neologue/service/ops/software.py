"""Which code a service runs: the version and a digest of the installed package, which its log is told.

The digest is SHA-256 over a line for each file of the package, sorted by path: the file's own SHA-256 in hexadecimal,
two spaces, the path and a line break. Builds are reproducible, so whoever builds the same commit gets the same wheel,
and from it the same digest: `neologue log software WHEEL`. That a service runs what it says rests on its word.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import neologue
from neologue.protocol.signed_document import canonical_json
from neologue.service.log import log_store
from neologue.service.storage.database import Database
from neologue.transparency.evidence import Evidence
from neologue.transparency.log_entry import Deed, LogEntry

PACKAGE: Final = "neologue"
_COMPILED: Final = "__pycache__"


def package_digest(files: Mapping[str, bytes]) -> str:
    """The digest of the files of a package, by their paths."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def installed_files() -> dict[str, bytes]:
    """The files of the package that runs; what Python compiles of them is left out."""
    root = Path(neologue.__file__).parent
    found = (path for path in root.rglob("*") if path.is_file() and _COMPILED not in path.parts)
    return {f"{PACKAGE}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in found}


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """The files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")]
        return {name: archive.read(name) for name in names}


def log_software(database: Database, evidence: str | None = None) -> bytes | None:
    """Tell the log which code runs, and the evidence in a file of where it does, unless it knows; that evidence."""
    said = {"version": neologue.__version__, "package": package_digest(installed_files())}
    _tell(database, Deed.SOFTWARE, canonical_json(said))
    if evidence is None:
        return None
    document = Path(evidence).read_bytes()
    Evidence.parse(document)  # refuses what nobody could verify
    _tell(database, Deed.EVIDENCE, document)
    return document


def _tell(database: Database, deed: Deed, document: bytes) -> None:
    """Tell the log of a document, unless that is the last of its kind that it was told of."""
    entry = LogEntry(deed, hashlib.sha256(document).digest())
    with database.transaction() as db:
        db.lock_alone()
        told = [each for each in log_store.all_entries(db) if each.deed is deed]
        if told[-1:] != [entry]:
            log_store.keep_document(db, hashlib.sha256(document).digest(), document)
            log_store.append(db, entry)
