"""`neologue discover` on real people's data: secret randomness, or a simulation that nobody can take for more."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.populations.streams import SecretSeed
from neologue.privacy.statement import NAMED_IN_RECORDS
from neologue.simulation.layer_tallies import SimulatedUsers

Neologue = Callable[..., Result]

PUBLISHED = ("words.csv", "prefixes.csv", "words.dic", "words.aff", "release.json", "layers.zip")
"""The files that may be published."""


@pytest.fixture
def few(known: Path) -> tuple[object, ...]:
    """Options that make a run short."""
    return ("--known", known, "--depth", 4)


@pytest.fixture
def key(neologue: Neologue, tmp_path: Path) -> Path:
    """A private key."""
    assert neologue("keygen", tmp_path / "operator").exit_code == 0
    return tmp_path / "operator"


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def test_a_release_has_no_seed_and_no_exact_figure_and_the_truth_is_beside_it(
    neologue: Neologue, typed: Path, few: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = SecretSeed.draw()
    monkeypatch.setattr(SecretSeed, "draw", lambda: secret)
    result = neologue("discover", typed, *few, "--out", tmp_path)
    assert result.exit_code == 0, result.stderr
    release, truth = read(tmp_path / "release.json"), read(tmp_path / "truth.json")
    assert (release["seed"], release["simulated"]) == (None, False)
    assert release["population"]["description"] == "1,500 users of typed.csv"
    assert "score" not in release
    assert "rows" in truth["population"]
    assert truth["score"]["words_true"] > 0
    assert truth["notice"].startswith("As confidential as the data")
    told = (
        "truth.json and report.html have exact figures that no privacy statement covers: keep them as confidential as"
    )
    assert told in " ".join(result.stderr.split())
    assert "randomness the system's entropy" in " ".join(result.stdout.split())
    assert "only against readers of the release" in " ".join(result.stdout.split())
    assert "keep this summary as confidential as the data" in " ".join(result.stdout.split())
    assert NAMED_IN_RECORDS in release["privacy"]["trust"]["assumptions"]
    assert release["population"]["users"] == 1500, "which is why it can't be protected who is in the file"
    with zipfile.ZipFile(tmp_path / "layers.zip") as archive:
        layers = [archive.read(name).decode() for name in archive.namelist()]
    texts = [path.read_text("utf-8") for path in tmp_path.iterdir() if path.name != "layers.zip"]
    everything = [*texts, *layers, result.stdout, result.stderr]
    assert not any(str(int(secret)) in text for text in everything), "the secret is nowhere"


def test_two_files_that_differ_in_a_pair_that_decides_nothing_give_the_same_bytes(
    neologue: Neologue,
    typed: Path,
    few: tuple[object, ...],
    key: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SecretSeed, "draw", lambda: SecretSeed(11))
    data, more = tmp_path / "one" / typed.name, tmp_path / "other" / typed.name
    for path, pair in ((data, ""), (more, "u17,hivtest,1\n")):
        path.parent.mkdir()
        long = "".join(f"u{user},zonkzonkquxqux,1\n" for user in range(1500))
        path.write_text(typed.read_text("utf-8") + long + pair, "utf-8")
    published = []
    for number, path in enumerate((data, more)):
        out = tmp_path / f"found {number}"
        signed = ("--alphabet", _letters(tmp_path), "--sign", key, "--out", out)
        assert neologue("discover", path, *few, "--depth", 15, "--candidates", 500, *signed).exit_code == 0
        published.append({name: (out / name).read_bytes() for name in PUBLISHED})
    assert b"signature" in published[0]["release.json"]
    assert published[0]["prefixes.csv"].count(b"\n") > 1, "prefixes are listed"
    assert published[0] == published[1]
    exact = [read(tmp_path / f"found {number}" / "truth.json")["population"] for number in (0, 1)]
    assert exact[0] != exact[1]


def _letters(folder: Path) -> Path:
    """An alphabet without an i, in which no layer asks for the word that differs."""
    path = folder / "letters.txt"
    path.write_text("zonkyetqux", "utf-8")
    return path


@pytest.mark.parametrize("option", ["--sign", "--ledger"])
def test_a_simulation_of_real_people_is_neither_signed_nor_charged(
    option: str, neologue: Neologue, typed: Path, few: tuple[object, ...], key: Path, tmp_path: Path
) -> None:
    more = ("--population", "all", "--campaign", "first") if option == "--ledger" else ()
    result = neologue("discover", typed, *few, "--seed", 0, option, key, *more, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert f"leave out --seed, or {option}" in " ".join(result.stderr.split())
    assert "--seed 0 makes a run on typed.csv a simulation without a privacy claim" in " ".join(result.stderr.split())
    assert "Reading words" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_certify_says_that_a_simulation_makes_no_claim(
    neologue: Neologue, typed: Path, few: tuple[object, ...], tmp_path: Path
) -> None:
    found = neologue("discover", typed, *few, "--seed", 0, "--out", tmp_path)
    assert "applies to nobody: a simulation with a known seed" in " ".join(found.stdout.split())
    assert read(tmp_path / "release.json")["seed"] == 0
    result = neologue("certify", tmp_path / "release.json")
    assert result.exit_code == 0
    assert "A simulation with a known seed: no privacy claim." in result.stdout
    assert "Certified" not in result.stdout
    assert json.loads(neologue("certify", tmp_path / "release.json", "--json").stdout)["simulated"] is True


def test_an_embedded_simulation_may_be_signed_as_what_it_is(neologue: Neologue, key: Path, tmp_path: Path) -> None:
    small = ("--language", "id", "--users", 3000, "--depth", 3, "--candidates", 50_000)
    assert neologue("discover", *small, "--sign", key, "--out", tmp_path).exit_code == 0
    assert read(tmp_path / "release.json")["seed"] == 0
    result = neologue("certify", tmp_path / "release.json", "--verify", key.with_name("operator.pub"))
    assert result.exit_code == 0
    assert "A simulation with a known seed: no privacy claim." in result.stdout
    assert "(signature verified)" in result.stdout


def test_a_run_with_a_secret_seed_is_resumed_with_it(
    neologue: Neologue, typed: Path, few: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = SimulatedUsers.ask

    def interrupted(users: SimulatedUsers, layer: Any) -> Any:  # noqa: ANN401 - as the method it stands for
        if layer.number == 2:
            raise KeyboardInterrupt
        return ask(users, layer)

    secret, out = SecretSeed.draw(), tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(SecretSeed, "draw", lambda: secret)
        assert neologue("discover", typed, *few, "--out", tmp_path / "whole").exit_code == 0
        patched.setattr(SimulatedUsers, "ask", interrupted)
        assert neologue("discover", typed, *few, "--out", out).exit_code == 130
    assert (out / "unfinished").stat().st_mode & 0o077 == 0, "only its owner may read the seed"
    other = neologue("discover", typed, *few, "--seed", 3, "--out", out, "--resume")
    assert other.exit_code == 2
    assert "seed is not the same" in " ".join(other.stderr.split())
    resumed = neologue("discover", typed, *few, "--out", out, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    assert (out / "release.json").read_bytes() == (tmp_path / "whole" / "release.json").read_bytes()
    assert not (out / "unfinished").exists()
