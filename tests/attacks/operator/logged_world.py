"""A campaign that ran, its release and its log, as the operator who has the log's key can publish them."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.conformance.scripted_log import WITNESSES
from neologue.errors import LogError
from neologue.release.certification.certificate import Certification, certify
from neologue.release.certification.logged_campaign import certify_with_log, logged_documents
from neologue.release.codec import ReleaseDocument, decode_release, release_text
from neologue.release.signature import sign_document
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_log import definition_document
from neologue.service.campaigns.definition import Definition
from neologue.service.log.log_files import file_paths, read_file
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.ops.software import log_software
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.transparency.checkpoint import (
    Checkpoint,
    log_verifier,
)
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.read_log import ReadLog
from neologue.transparency.signed_note import COSIGNATURE, NoteKey
from neologue.transparency.tiles import Fetch, read_entries
from neologue.transparency.trust import Server, Trust
from service.campaigns import Town, definition
from transparency.logs import NAMES, published_files

NOW = 1_000.0
KEYS = [
    NoteKey(name, COSIGNATURE, witness.public_key().public_bytes_raw())
    for name, witness in zip(NAMES, WITNESSES, strict=True)
]


@dataclass
class World:
    """What an operator has: a release, the entries of its trees, and documents."""

    operator: Ed25519PrivateKey
    private: Ed25519PrivateKey
    """The log's."""
    campaign: bytes
    release: dict[str, Any]
    entries: list[LogEntry]
    layers: list[LogEntry]
    documents: dict[str, bytes]
    witnesses: list[Ed25519PrivateKey] = field(default_factory=lambda: list(WITNESSES))

    @property
    def key(self) -> bytes:
        """The public key of the log."""
        return self.private.public_key().public_bytes_raw()

    @property
    def trust(self) -> Trust:
        """What an auditor trusts: the log, and two of three witnesses."""
        return Trust((Server(log_verifier(self.key)),), tuple(map(Server, KEYS)), 2)

    def files(self) -> dict[str, bytes]:
        """The log as it is published, co-signed by the witnesses."""
        operator, campaign = ([bytes(entry) for entry in tree] for tree in (self.entries, self.layers))
        return self.documents | published_files(self.private, self.campaign, operator, campaign, self.witnesses, 900)

    def document(self) -> ReleaseDocument:
        """The release, signed by the operator as it stands."""
        return decode_release(release_text(sign_document(self.release, self.operator)).encode(), "release.json")

    def define(self, definition: Definition) -> None:
        """Put another definition in the place of the one with which the campaign was created."""
        document = definition_document(self.campaign, definition)
        digest = hashlib.sha256(document).digest()
        self.documents[f"documents/{digest.hex()}"] = document
        self.entries = [
            replace(entry, digest=digest) if entry.deed is Deed.CREATED else entry for entry in self.entries
        ]

    def audit(self, files: dict[str, bytes] | None = None) -> Certification:
        """What certify says with the log."""
        log = ReadLog.read(_fetching(self.files() if files is None else files), self.trust, NOW)
        document = self.document()
        return certify_with_log(certify(document, logged_documents(document, log)), document, log)

    def objections(self) -> str:
        """All objections in one text."""
        return "\n".join(self.audit().objections)


def make_world(folder: Path) -> World:
    """Run a campaign and read what it leaves."""
    database = open_database(str(folder / "service.db"))
    migrate(database)
    log_software(database)
    town = Town(database)
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    town.run(entry.id)
    LogPublisher(database, town.keys.log).publish()
    with database.reading() as db:
        files = {path: content for path in file_paths(db) if (content := read_file(db, path)) is not None}
        release = json.loads(campaign_store.release_of(db, entry.id) or "")
    database.close()

    def entries(prefix: str) -> list[LogEntry]:
        size = Checkpoint.parse(files[prefix + "checkpoint"].decode().partition("\n\n")[0] + "\n").size
        return [LogEntry.parse(each) for each in read_entries(size, lambda path: files[prefix + path])]

    return World(
        town.keys.operator,
        town.keys.log,
        entry.id,
        release,
        entries(""),
        entries(f"campaigns/{entry.id.hex()}/"),
        {path: content for path, content in files.items() if path.startswith("documents/")},
    )


def _fetching(files: dict[str, bytes]) -> Fetch:
    """Reads the files, as a folder would give them."""

    def fetch(path: str) -> bytes:
        if path not in files:
            raise LogError(f"the log has no file {path}")
        return files[path]

    return fetch
