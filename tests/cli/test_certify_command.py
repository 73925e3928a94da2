"""`neologue certify`, `keygen` and `discover --sign`: what they say, and with which exit code."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.populations.streams import SecretSeed

Neologue = Callable[..., Result]


@pytest.fixture(scope="module")
def key(neologue: Neologue, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private key, with its public key beside it."""
    path = tmp_path_factory.mktemp("keys") / "operator"
    assert neologue("keygen", path).exit_code == 0
    return path


@pytest.fixture(scope="module")
def signed_release(
    neologue: Neologue, typed: Path, known: Path, key: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The release.json of a run, signed."""
    folder = tmp_path_factory.mktemp("signed")
    result = neologue("discover", typed, "--known", known, "--depth", 4, "--out", folder, "--sign", key)
    assert result.exit_code == 0, result.stderr
    return folder / "release.json"


@pytest.fixture
def tampered(signed_release: Path, tmp_path: Path) -> Callable[..., Path]:
    """The signed release with some of its fields changed, in a file of its own."""

    def change(*path: str, value: object) -> Path:
        document = holder = json.loads(signed_release.read_text("utf-8"))
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        changed = tmp_path / "changed.json"
        changed.write_text(json.dumps(document), "utf-8")
        shutil.copy(signed_release.with_name("layers.zip"), tmp_path)
        return changed

    return change


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def refused(result: Result) -> str:
    """The one sentence of a command that could not do its work."""
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("neologue: ") == 1
    return result.stderr


class TestCertified:
    def test_a_signed_release_is_certified_and_its_signature_named(
        self, neologue: Neologue, signed_release: Path, key: Path
    ) -> None:
        plain, verified = (
            neologue("certify", signed_release),
            neologue("certify", signed_release, "--verify", public(key)),
        )
        assert (plain.exit_code, verified.exit_code) == (0, 0)
        said = "claims follow from the facts of the release and the documents of its layers"
        assert f"{said} (signed, signature not verified)." in plain.stdout
        assert f"{said} (signature verified)." in verified.stdout
        assert "item central.best" in plain.stdout
        rows = [line for line in plain.stdout.splitlines() if " % │" in line]
        assert "hostile devices  one can plant at most " in plain.stdout
        assert "so trust the words only if there are fewer" in " ".join(plain.stdout.split())
        assert [line.split()[1] for line in rows] == ["0", "10", "50"]
        assert " NO " not in plain.stdout

    @pytest.mark.parametrize(
        "options",
        [
            (),
            ("--profile", "gboard-2024", "--passes", 1, "--frontier", 40),
            ("--randomizer", "subset-selection", "--k-anonymity", 20, "--colluders", 0.1),
        ],
        ids=str,
    )
    def test_what_discover_writes_is_certified_whatever_the_options(
        self, options: tuple[object, ...], neologue: Neologue, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        run = neologue("discover", typed, "--known", known, "--depth", 4, "--out", tmp_path, *options)
        assert run.exit_code == 0, run.stderr
        result = neologue("certify", tmp_path / "release.json")
        assert result.exit_code == 0, result.stdout
        assert "(not signed)" in result.stdout

    def test_json_has_every_claim(self, neologue: Neologue, signed_release: Path) -> None:
        result = neologue("certify", signed_release, "--json")
        assert result.exit_code == 0
        found = json.loads(result.stdout)
        assert set(found) == {"passed", "simulated", "objections", "claims", "warnings", "operator_word"}
        assert (found["passed"], found["simulated"], found["objections"]) == (True, False, [])
        privacy = json.loads(signed_release.read_text("utf-8"))["privacy"]
        claims = {claim["name"]: claim for claim in found["claims"]}
        assert claims["k_anonymity.k"] == {"name": "k_anonymity.k", "stated": 10, "recomputed": 10, "covered": True}
        assert claims["item_central.best"]["stated"] == privacy["item_central"]["best"]
        assert {name.partition(".")[0] for name in claims} == {*privacy, "planting"}

    def test_what_rests_on_the_operators_word_is_listed_by_name(self, neologue: Neologue, signed_release: Path) -> None:
        told = neologue("certify", signed_release).stdout
        listed = json.loads(neologue("certify", signed_release, "--json").stdout)["operator_word"]
        assert {"records", "randomness", "reports", "completeness", "colluders"} <= {word["name"] for word in listed}
        assert told.index("What rests on the operator's word alone:") < told.index("Certified:")
        for word in listed:
            assert set(word) == {"name", "claim", "noticed_by"}
            assert f"- {word['name']}: {word['claim']}" in told

    def test_the_documents_of_layers_may_be_elsewhere(
        self, neologue: Neologue, signed_release: Path, tmp_path: Path
    ) -> None:
        release, layers = shutil.copy(signed_release, tmp_path), signed_release.with_name("layers.zip")
        assert neologue("certify", release, "--layers", layers).exit_code == 0


class TestNotCertified:
    def test_without_the_documents_of_layers_it_is_said_where_they_were_looked_for(
        self, neologue: Neologue, signed_release: Path, tmp_path: Path
    ) -> None:
        result = neologue("certify", shutil.copy(signed_release, tmp_path))
        assert result.exit_code == 1
        layers = len(json.loads(signed_release.read_text("utf-8"))["layers"])
        assert f"0 of {layers} layer documents are in {tmp_path / 'layers.zip'}." in result.stdout
        assert "Objection: the document of pass 1 layer 1 is missing, whose digest is" in result.stdout

    def test_a_release_that_says_otherwise_than_its_layers_is_not_certified(
        self, neologue: Neologue, tampered: Callable[..., Path]
    ) -> None:
        result = neologue("certify", tampered("parameters", "words_per_user", value=1))
        assert result.exit_code == 1
        assert "were told 60 as words per user, and the release states 1." in result.stdout

    def test_a_claim_that_is_not_covered_is_shown_beside_what_it_should_be(
        self, neologue: Neologue, tampered: Callable[..., Path]
    ) -> None:
        result = neologue("certify", tampered("privacy", "item_central", "best", value=0.01))
        assert result.exit_code == 1
        (row,) = [line for line in result.stdout.splitlines() if "item central.best" in line]
        stated, computed, covered = [cell.strip() for cell in row.split("│")[2:-1]]
        assert (stated, covered) == ("0.01", "NO")
        assert float(computed) > 0.01
        assert "Objection: the digest is not that of the release" in result.stdout
        assert "NOT CERTIFIED: 1 claims are not covered, 1 objections." in result.stdout
        assert "Certified" not in result.stdout

    def test_json_says_so_too(self, neologue: Neologue, tampered: Callable[..., Path]) -> None:
        result = neologue("certify", tampered("privacy", "k_anonymity", "k", value=99), "--json")
        assert result.exit_code == 1
        found = json.loads(result.stdout)
        assert found["passed"] is False
        assert [claim["name"] for claim in found["claims"] if not claim["covered"]] == ["k_anonymity.k"]
        assert len(found["objections"]) == 1

    def test_facts_from_which_nothing_follows_are_no_table(
        self, neologue: Neologue, tampered: Callable[..., Path]
    ) -> None:
        result = neologue("certify", tampered("population", "users", value=0))
        assert result.exit_code == 1
        assert "Objection: there are 0 users." in result.stdout
        assert "│" not in result.stdout

    def test_another_key_does_not_verify(self, neologue: Neologue, signed_release: Path, tmp_path: Path) -> None:
        neologue("keygen", tmp_path / "other")
        result = neologue("certify", signed_release, "--verify", tmp_path / "other.pub")
        assert result.exit_code == 1
        assert "Objection: the signature " in result.stdout

    def test_a_change_that_nothing_contradicts_breaks_the_signature(
        self, neologue: Neologue, tampered: Callable[..., Path], key: Path
    ) -> None:
        result = neologue("certify", tampered("population", "description", value="everyone"), "--verify", public(key))
        assert result.exit_code == 1
        assert "over what the release says" in result.stdout

    def test_what_a_file_says_does_not_command_the_terminal(
        self, neologue: Neologue, tampered: Callable[..., Path]
    ) -> None:
        for path in (("privacy", "unit"), ("privacy", "\x1b[2J"), ("privacy", "item_central", "best")):
            result = neologue("certify", tampered(*path, value="\x1b[2J\rCertified: all claims"))
            assert result.exit_code == 1
            assert "\x1b" not in result.stdout + result.stderr
            assert "\r" not in result.stdout


class TestRefused:
    def test_an_unsigned_release_where_a_signature_is_required(
        self, neologue: Neologue, tampered: Callable[..., Path], key: Path
    ) -> None:
        unsigned = tampered("signature", value=None)
        assert "not signed" in refused(neologue("certify", unsigned, "--verify", public(key)))

    @pytest.mark.parametrize("content", [b"", b"\x00\xff", b"[]", b'{"format": 2}', b'{"format": 1}', b"{"])
    def test_what_is_no_release(self, content: bytes, neologue: Neologue, tmp_path: Path) -> None:
        path = tmp_path / "release.json"
        path.write_bytes(content)
        assert str(path) in refused(neologue("certify", path))
        assert str(path) in refused(neologue("certify", path, "--json"))

    def test_an_archive_that_is_none(self, neologue: Neologue, signed_release: Path, tmp_path: Path) -> None:
        (tmp_path / "layers.zip").write_bytes(b"PK not really")
        assert str(tmp_path / "layers.zip") in refused(neologue("certify", shutil.copy(signed_release, tmp_path)))

    def test_a_cut_release(self, neologue: Neologue, signed_release: Path, tmp_path: Path) -> None:
        path = tmp_path / "release.json"
        path.write_bytes(signed_release.read_bytes()[:-100])
        assert "is not a complete JSON file" in refused(neologue("certify", path))

    def test_a_file_that_is_not_there_or_is_a_folder(self, neologue: Neologue, tmp_path: Path) -> None:
        for path, remedy in ((tmp_path / "none.json", "check the name"), (tmp_path, "give another path")):
            told = refused(neologue("certify", path))
            assert str(path) in told
            assert remedy in told

    def test_a_key_to_verify_with_that_is_none(
        self, neologue: Neologue, signed_release: Path, key: Path, tmp_path: Path
    ) -> None:
        assert "not a public key" in refused(neologue("certify", signed_release, "--verify", key))
        told = refused(neologue("certify", signed_release, "--verify", tmp_path / "none.pub"))
        assert str(tmp_path / "none.pub") in told


class TestSigning:
    def test_a_signed_release_is_the_unsigned_one_and_a_signature_the_same_bytes_each_time(
        self, neologue: Neologue, typed: Path, known: Path, key: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(SecretSeed, "draw", lambda: SecretSeed(3))
        run = ("discover", typed, "--known", known, "--depth", 4, "--json")
        once, again, unsigned = neologue(*run, "--sign", key), neologue(*run, "--sign", key), neologue(*run)
        assert again.stdout_bytes == once.stdout_bytes
        document: dict[str, Any] = json.loads(again.stdout)
        signature = document.pop("signature")
        assert document == json.loads(unsigned.stdout)
        assert set(signature) == {"algorithm", "key", "value"}

    @pytest.mark.parametrize("content", [None, b"", b"secret", "public"])
    def test_a_key_that_can_t_sign_is_refused_before_the_work(
        self, content: bytes | str | None, neologue: Neologue, typed: Path, key: Path, tmp_path: Path
    ) -> None:
        path = public(key) if content == "public" else tmp_path / "bad"
        if isinstance(content, bytes):
            path.write_bytes(content)
        told = refused(neologue("discover", typed, "--out", tmp_path / "out", "--sign", path))
        assert str(path) in told
        assert "Reading words" not in told
        assert not (tmp_path / "out").exists()


class TestKeygen:
    def test_it_says_which_file_to_keep_secret(self, neologue: Neologue, tmp_path: Path) -> None:
        result = neologue("keygen", tmp_path / "operator")
        assert result.exit_code == 0
        assert result.stdout == ""
        assert f"wrote {tmp_path / 'operator'}, which signs: keep it secret" in result.stderr
        assert f"wrote {tmp_path / 'operator.pub'}, which verifies" in result.stderr
        assert {path.name for path in tmp_path.iterdir()} == {"operator", "operator.pub"}

    def test_an_older_key_stays(self, neologue: Neologue, tmp_path: Path) -> None:
        neologue("keygen", tmp_path / "operator")
        before = (tmp_path / "operator").read_bytes()
        assert "never overwritten" in refused(neologue("keygen", tmp_path / "operator"))
        assert (tmp_path / "operator").read_bytes() == before

    def test_a_folder_must_be_there(self, neologue: Neologue, tmp_path: Path) -> None:
        assert str(tmp_path / "none") in refused(neologue("keygen", tmp_path / "none" / "operator"))
        assert "give another name" in refused(neologue("keygen", tmp_path))
        assert "give another name" in refused(neologue("keygen", "."))
