"""`neologue certify --log`: a release beside the log of its operator, as a person runs it."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from attacks.operator.logged_world import KEYS, World, make_world
from neologue.cli.main import main
from neologue.release.codec import release_text
from neologue.release.signature import sign_document
from neologue.transparency.checkpoint import log_verifier
from neologue.transparency.log_entry import Deed, LogEntry


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("logged"))


def publish(world: World, folder: Path) -> list[str]:
    """Write release, log and trust; the arguments of certify."""
    for path, content in world.files().items():
        (folder / "log" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "log" / path).write_bytes(content)
    release, trust = folder / "release.json", folder / "trust"
    release.write_text(release_text(sign_document(world.release, world.operator)))
    lines = [f"witness {key.name} {key}" for key in KEYS]
    names = " ".join(key.name for key in KEYS)
    trust.write_text("\n".join((f"log {log_verifier(world.key)}", *lines, f"group all 2 {names}", "quorum all", "")))
    return ["certify", str(release), "--log", str(folder / "log"), "--trust", str(trust)]


def run(arguments: list[str]) -> Result:
    return CliRunner().invoke(main, arguments)


def test_a_release_is_certified_by_the_log_alone(world: World, tmp_path: Path) -> None:
    """There is no layers.zip: the documents are in the log."""
    done = run(publish(world, tmp_path))
    assert done.exit_code == 0, done.output
    assert "co-signed by w1.example, w2.example, w3.example" in done.output
    assert "this release, the only one" in done.output
    assert "- completeness" not in done.output
    assert "- votes" in done.output
    assert '"package":"' in done.output


def test_what_is_wrong_is_named_with_its_entry(world: World, tmp_path: Path) -> None:
    world.entries.append(LogEntry(Deed.RELEASED, bytes(32), world.campaign))
    done = run(publish(world, tmp_path))
    place = len(world.entries) - 1
    world.entries.pop()
    assert done.exit_code == 1
    assert f"Objection: the log: entry {place} (campaign released) releases the campaign once more." in done.output


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/log", "nowhere"])
def test_a_log_that_can_not_be_read_certifies_nothing(world: World, tmp_path: Path, place: str) -> None:
    arguments = publish(world, tmp_path)
    arguments[3] = place
    done = run([*arguments, "--json"])
    assert done.exit_code == 1
    (objection,) = (each for each in json.loads(done.stdout)["objections"] if "log" in each)
    assert "can't be relied on" in objection


def test_evidence_that_is_required_and_missing_is_objected_to(world: World, tmp_path: Path) -> None:
    done = run([*publish(world, tmp_path), "--measurement", "ab" * 48, "cd" * 32])
    assert done.exit_code == 1
    assert "it has no evidence of where the service ran" in done.output
    content = b'{"kind":"a promise"}'
    digest = hashlib.sha256(content).digest()
    shown = replace(
        world,
        entries=[LogEntry(Deed.EVIDENCE, digest), *world.entries],
        documents={**world.documents, f"documents/{digest.hex()}": content},
    )
    refused = run([*publish(shown, tmp_path / "shown"), "--measurement", "ab" * 48, "cd" * 32])
    assert refused.exit_code == 1
    assert "no verifier of evidence 'a promise'" in refused.output


def test_trust_without_a_log_is_a_mistake(world: World, tmp_path: Path) -> None:
    arguments = publish(world, tmp_path)
    done = run([*arguments[:2], *arguments[4:]])
    assert done.exit_code == 2
    assert "give the log itself with --log" in done.output
