"""The log of a service: what is done is in it, in order, and it is what witnesses co-sign and devices are shown."""

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import neologue
from neologue.cli.main import main
from neologue.errors import LogError
from neologue.ledger.budget import Budget
from neologue.protocol.credential import issue
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_log import opened_entry
from neologue.service.campaigns.earlier_campaigns import log_earlier_campaigns
from neologue.service.collect.layer_cache import LayerCache, ServedLayer
from neologue.service.collect.replies import Wait
from neologue.service.log import log_store
from neologue.service.log.log_files import file_paths, read_file
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.log.witness_client import Conflict, WitnessClient
from neologue.service.ops import key_rotation
from neologue.service.ops.software import installed_files, log_software, package_digest
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState
from neologue.transparency.checkpoint import campaign_origin, log_verifier, open_checkpoint, operator_origin
from neologue.transparency.inclusion_proof import InclusionProof
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.merkle import tree_root
from neologue.transparency.signed_note import NoteSignature, parse_signatures
from neologue.transparency.tiles import read_entries, subtrees_of_entries, subtrees_of_tiles
from neologue.transparency.trust import Server
from neologue.witness.witness import Witness
from neologue.witness.witness_file import WitnessFile
from service.campaigns import Town, definition


class NearWitness(WitnessClient):
    """A witness that is asked without HTTP."""

    def __init__(self, file: WitnessFile, town: Town) -> None:
        key = log_verifier(town.keys.log.public_key().public_bytes_raw())
        self.file = file
        self.witness = Witness(file, [key], time.time, lambda fork: None)

    @property
    def server(self) -> Server:
        return Server(self.file.key)

    def add_checkpoint(self, request: bytes) -> list[NoteSignature] | Conflict:
        answer = self.witness.add_checkpoint(request)
        if answer.status == 409 and "size" in answer.media:
            return Conflict(int(answer.body))
        if answer.status != 200:
            raise LogError(answer.body)
        return list(parse_signatures(answer.body))


@pytest.fixture
def town(database: Database) -> Town:
    return Town(database)


@pytest.fixture
def publisher(town: Town) -> LogPublisher:
    return LogPublisher(town.database, town.keys.log)


def witnesses(town: Town, folder: Path, count: int) -> list[NearWitness]:
    return [NearWitness(WitnessFile(folder / f"w{n}.db", f"w{n}.example"), town) for n in range(count)]


def deeds(town: Town) -> list[LogEntry]:
    with town.database.reading() as db:
        return log_store.all_entries(db)


def files(town: Town) -> dict[str, bytes]:
    with town.database.reading() as db:
        return {path: content for path in file_paths(db) if (content := read_file(db, path)) is not None}


def test_a_whole_campaign_is_in_the_log(town: Town, publisher: LogPublisher) -> None:
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    town.run(entry.id)
    publisher.publish()
    mine = [each for each in deeds(town) if each.campaign == entry.id]
    with town.database.reading() as db:
        layers = layer_store.layers_of(db, entry.id)
        release = json.loads(campaign_store.release_of(db, entry.id) or "")
    order = [Deed.CREATED, Deed.STARTED, *[Deed.OPENED, Deed.CLOSED] * len(layers), Deed.RELEASED]
    assert [each.deed for each in mine] == order
    opened = [each for each in mine if each.deed is Deed.OPENED]
    assert [(each.layer, each.digest) for each in opened] == [(row.layer_index, row.digest) for row in layers]
    assert mine[-1].digest == bytes.fromhex(release["digest"])
    assert opened[0] == opened_entry(entry.id, 0, layers[0].digest, None)
    kinds = {each.deed for each in deeds(town)}
    assert kinds >= {Deed.KEY, Deed.KNOWN}


def test_the_files_are_a_log_that_its_readers_verify(town: Town, publisher: LogPublisher) -> None:
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    town.coordinator.turn(0.0)
    publisher.publish()
    found = files(town)
    for origin, prefix in (
        (operator_origin(publisher.key), ""),
        (campaign_origin(publisher.key, entry.id), f"campaigns/{entry.id.hex()}/"),
    ):
        checkpoint, _ = open_checkpoint(found[prefix + "checkpoint"], origin, publisher.key)
        fetch = lambda path, prefix=prefix: found[prefix + path]  # noqa: E731
        entries = read_entries(checkpoint.size, fetch)
        assert tree_root(checkpoint.size, subtrees_of_entries(entries)) == checkpoint.root
        assert tree_root(checkpoint.size, subtrees_of_tiles(checkpoint.size, fetch)) == checkpoint.root
        assert all(LogEntry.parse(each) for each in entries)
    assert [LogEntry.parse(each).layer for each in entries] == [0], "the tree of the campaign has its layers alone"
    named = {each.digest for each in deeds(town) if each.deed in (Deed.OPENED, Deed.KNOWN, Deed.CREATED)}
    for digest in named:
        assert digest is not None
        assert hashlib.sha256(found[f"documents/{digest.hex()}"]).digest() == digest
    (defined,) = (each.digest for each in deeds(town) if each.deed is Deed.CREATED and each.digest)
    said = json.loads(found[f"documents/{defined.hex()}"])
    assert said["campaign"] == entry.id.hex()
    assert "name" not in said
    assert "population" not in said


def test_an_entry_and_its_deed_are_written_together_or_not_at_all(town: Town) -> None:
    town.coordinator.create(definition(), 0.0)
    before = deeds(town)
    with suppress(RuntimeError), town.database.transaction() as db:
        entry = campaign_store.campaign_named(db, "small")
        assert campaign_store.move(db, entry.id, (entry.state,), CampaignState.ABORTED, 1.0)
        raise RuntimeError
    assert deeds(town) == before


def test_ends_keys_and_budgets_are_told(town: Town) -> None:
    town.coordinator.create(definition(), 0.0)
    town.coordinator.abort("small", 1.0)
    key_rotation.rotate(town.database, town.keys, "operator", 2.0, "somebody")
    town.coordinator.charging.add_population("en-US", Budget("user", 9.0, 1e-9), 3.0, "somebody")
    assert [each.deed for each in deeds(town)][-4:] == [Deed.ABORTED, Deed.LINKED, Deed.KEY, Deed.BUDGET]


def test_the_code_that_runs_is_told_once(town: Town, publisher: LogPublisher) -> None:
    for _ in range(2):
        log_software(town.database)
    publisher.publish()
    (told,) = (each for each in deeds(town) if each.deed is Deed.SOFTWARE)
    assert told.digest
    said = json.loads(files(town)[f"documents/{told.digest.hex()}"])
    assert said == {"version": neologue.__version__, "package": package_digest(installed_files())}


def test_evidence_is_told_and_nonsense_is_refused(town: Town, tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text('{"kind": "sev-snp"}')
    shown = log_software(town.database, str(tmp_path / "evidence"))
    assert shown == (tmp_path / "evidence").read_bytes()
    assert deeds(town)[-1].deed is Deed.EVIDENCE
    (tmp_path / "evidence").write_text("nonsense")
    with pytest.raises(LogError, match="no evidence"):
        log_software(town.database, str(tmp_path / "evidence"))


def test_a_pause_is_nobodys_business(town: Town) -> None:
    town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    before = deeds(town)
    town.coordinator.pause("small", 1.0)
    town.coordinator.start("small", 2.0)
    assert deeds(town) == before


def test_a_layer_is_shown_only_when_enough_witnesses_have_cosigned_it(
    town: Town, publisher: LogPublisher, tmp_path: Path
) -> None:
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    town.coordinator.turn(0.0)
    cache = LayerCache(town.database, town.keys, quorum=2)
    credential = issue(entry.id, town.keys.issuer)

    def shown() -> ServedLayer | Wait:
        cache.refresh()
        told = cache.layer_for(credential)
        assert isinstance(told, ServedLayer | Wait)
        return told

    with town.database.transaction() as db:
        db.execute("UPDATE layers SET low = 0, high = ?", (1 << 62,))
    near = witnesses(town, tmp_path, 3)
    assert isinstance(shown(), Wait)
    publisher.publish()
    publisher.ask(near[0].server, near[0])
    assert isinstance(shown(), Wait), "one of them is not enough"
    publisher.ask(near[1].server, near[1])
    told = shown()
    assert isinstance(told, ServedLayer)
    assert told.proof is not None
    opened = opened_entry(entry.id, 0, told.digest, None)
    keys = [each.file.key.public for each in near]
    log, checkpoints = InclusionProof.parse(told.proof).check(opened, [publisher.key], keys, 2, time.time())
    assert log == publisher.key
    assert [checkpoint.size for checkpoint in checkpoints] == [len(deeds(town)), 1]
    assert cache.invite(told, bytes(16)).proof == told.proof.hex()
    # What the log is told later changes the proof, once it is co-signed, and not what it proves.
    town.coordinator.create(definition(name="another"), 1.0)
    publisher.publish()
    for each in near:
        publisher.ask(each.server, each)
    later = shown()
    assert isinstance(later, ServedLayer)
    assert later.proof not in (None, told.proof)


def test_a_witness_that_was_shown_another_log_refuses(town: Town, publisher: LogPublisher, tmp_path: Path) -> None:
    (near,) = witnesses(town, tmp_path, 1)
    town.coordinator.create(definition(), 0.0)
    publisher.publish()
    publisher.ask(near.server, near)
    # The operator rewrites what it has done.
    with town.database.transaction() as db:
        for table in ("log_entries", "log_hashes", "log_checkpoints", "log_cosignatures"):
            db.execute(f"DELETE FROM {table}")
        for _ in range(3):
            log_store.append(db, LogEntry(Deed.KNOWN, bytes(32)))
    publisher.publish()
    with pytest.raises(LogError, match="forked"):
        publisher.ask(near.server, near)


def test_a_witness_that_knows_more_than_the_database_is_told_of(
    town: Town, publisher: LogPublisher, tmp_path: Path
) -> None:
    """A database that was restored from an old copy."""
    (near,) = witnesses(town, tmp_path, 1)
    publisher.publish()
    with town.database.reading() as db:
        old = db.execute("SELECT number FROM log_entries")
    town.coordinator.create(definition(), 0.0)
    publisher.publish()
    publisher.ask(near.server, near)
    with town.database.transaction() as db:
        db.execute("DELETE FROM log_cosignatures")
        db.execute("DELETE FROM log_checkpoints WHERE size > ?", (len(old),))
    with pytest.raises(LogError, match="restore the newest copy"):
        publisher.ask(near.server, near)


def test_campaigns_from_before_there_was_a_log_are_told_of_afterwards(town: Town) -> None:
    entry = town.coordinator.create(definition(), 0.0)
    town.coordinator.start("small", 0.0)
    town.coordinator.turn(0.0)
    with town.database.transaction() as db:
        db.execute("DELETE FROM log_entries")
    for _ in range(2):
        log_earlier_campaigns(town.database, town.keys)
    told = [each for each in deeds(town) if each.campaign == entry.id]
    assert [each.deed for each in told] == [Deed.CREATED, Deed.STARTED, Deed.OPENED]
    assert any(each.deed is Deed.KEY for each in deeds(town))


def test_many_entries_have_full_tiles(town: Town, publisher: LogPublisher) -> None:
    with town.database.transaction() as db:
        for number in range(300):
            log_store.append(db, LogEntry(Deed.KNOWN, number.to_bytes(32, "big")))
    publisher.publish()
    found = files(town)
    assert {"tile/0/000", "tile/entries/000", "tile/1/000.p/1"} <= set(found)
    checkpoint, _ = open_checkpoint(found["checkpoint"], operator_origin(publisher.key), publisher.key)
    assert tree_root(checkpoint.size, subtrees_of_tiles(checkpoint.size, found.__getitem__)) == checkpoint.root
    with town.database.reading() as db:
        for path in ("tile/0/001.p/200", "tile/2/000.p/1", "campaigns/zz/checkpoint", "documents/00", "../etc", ""):
            assert read_file(db, path) is None


def test_the_log_is_exported_and_its_key_shown(town: Town, publisher: LogPublisher, url: str, tmp_path: Path) -> None:
    town.coordinator.create(definition(), 0.0)
    publisher.publish()
    done = CliRunner().invoke(main, ["log", "export", "--database", url, str(tmp_path / "log")])
    assert done.exit_code == 0, done.output
    found = files(town)
    written = {
        str(file.relative_to(tmp_path / "log")): file.read_bytes()
        for file in (tmp_path / "log").rglob("*")
        if file.is_file()
    }
    assert written == found
    shown = CliRunner().invoke(main, ["log", "key", "--database", url])
    assert shown.output.strip() == str(log_verifier(publisher.key))
