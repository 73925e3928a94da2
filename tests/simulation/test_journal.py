"""The journal: a discovery that was broken off goes on where it was, and only that very one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layers import small_layer
from neologue.campaign.campaign import Campaign
from neologue.discovery.tally import Tally
from neologue.errors import JournalError
from neologue.populations.population import Population
from neologue.simulation.discovery_run import discover, identity
from neologue.simulation.journal import Journal
from neologue.simulation.progress import Progress

IDENTITY: dict[str, object] = {"seed": 1, "users": 10}


class Interrupted(Progress):
    """Somebody who breaks off when a certain layer begins."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun: list[int] = []

    def on_layer_start(self, layer: object) -> None:
        number = layer.number  # type: ignore[attr-defined]
        if number == self.number:
            raise KeyboardInterrupt
        self.begun.append(number)


def recorded(folder: Path) -> tuple[Journal, Tally]:
    """A journal with one layer, opened again."""
    layer = small_layer(["a", "b"])
    tally = Tally(np.array([0, 1, 300, 2, 5, 0, 70_000, 9]), 1000)
    Journal(folder, IDENTITY, resume=False).record(layer, tally)
    return Journal(folder, IDENTITY, resume=True), tally


def test_a_recorded_tally_is_recalled_as_it_was(tmp_path: Path) -> None:
    journal, tally = recorded(tmp_path / "j")
    recalled = journal.recall(small_layer(["a", "b"]))
    assert recalled is not None
    assert recalled.votes.tolist() == tally.votes.tolist()
    assert recalled.votes.dtype == np.int64
    assert recalled.reports == 1000
    assert journal.recall(small_layer(["a", "b"], number=2)) is None
    journal.close()
    assert not (tmp_path / "j").exists()


def test_nothing_is_written_before_a_layer_is_finished(tmp_path: Path) -> None:
    Journal(tmp_path / "j", IDENTITY, resume=False)
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize(
    ("resume", "changed", "complaint"),
    [
        (False, {}, "has an unfinished discovery; continue it with --resume"),
        (True, {"seed": 2}, "another run: seed is not the same"),
        (True, {"fidelity": "fast"}, "another run: fidelity is not the same"),
    ],
)
def test_only_the_very_same_run_goes_on(
    tmp_path: Path, resume: bool, changed: dict[str, object], complaint: str
) -> None:
    recorded(tmp_path / "j")
    before = {path.name: path.read_bytes() for path in (tmp_path / "j").iterdir()}
    with pytest.raises(JournalError, match=complaint):
        Journal(tmp_path / "j", IDENTITY | changed, resume=resume)
    assert {path.name: path.read_bytes() for path in (tmp_path / "j").iterdir()} == before


def test_there_must_be_something_to_resume(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no unfinished discovery"):
        Journal(tmp_path / "j", IDENTITY, resume=True)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no archive"])
def test_a_damaged_layer_is_named_with_its_remedy(tmp_path: Path, content: bytes) -> None:
    journal, _ = recorded(tmp_path / "j")
    (tmp_path / "j" / "pass-1-layer-1.npz").write_bytes(content)
    with pytest.raises(JournalError, match=r"pass-1-layer-1\.npz is damaged; delete it"):
        journal.recall(small_layer(["a", "b"]))


def test_a_layer_of_another_frontier_is_refused(tmp_path: Path) -> None:
    journal, _ = recorded(tmp_path / "j")
    with pytest.raises(JournalError, match="belongs to another layer"):
        journal.recall(small_layer(["a", "c"]))


@pytest.mark.parametrize("content", ["", "[1]", '{"format": 2}'])
def test_a_damaged_identity_is_refused(tmp_path: Path, content: str) -> None:
    recorded(tmp_path / "j")
    (tmp_path / "j" / "campaign.json").write_text(content, "utf-8")
    with pytest.raises(JournalError, match="j"):
        Journal(tmp_path / "j", IDENTITY, resume=True)


def test_a_discovery_broken_off_at_any_layer_ends_like_one_that_was_not(tmp_path: Path) -> None:
    population = Population.from_words({f"user {n}": {"yeet": 3, f"rizz{n % 7}": 1} for n in range(3000)}, seed=3)
    campaign = Campaign.from_profile(users=3000, depth=6, epsilon=8.0)
    whole = discover(population, campaign, seed=4)
    run = identity(population, campaign, "fast", 4)
    for number in range(2, len(whole.release.layers) + 1):
        folder = tmp_path / str(number)
        first = Interrupted(number)
        with pytest.raises(KeyboardInterrupt):
            discover(population, campaign, seed=4, progress=first, journal=Journal(folder, run, resume=False))
        later = Interrupted(0)
        resumed = discover(population, campaign, seed=4, progress=later, journal=Journal(folder, run, resume=True))
        assert resumed == whole
        assert later.begun == [layer.layer for layer in whole.release.layers][number - 1 :]


def test_other_users_or_words_are_another_run() -> None:
    campaign = Campaign.from_profile(users=2000, depth=6, epsilon=8.0)

    def of(word: str, seed: int) -> str:
        population = Population.from_words({f"user {n}": {word: 1} for n in range(2000)}, seed=seed)
        return json.dumps(identity(population, campaign, "fast", 0))

    assert of("yeet", 1) == of("yeet", 1)
    assert len({of("yeet", 1), of("yeet", 2), of("yelt", 1)}) == 3
    embedded = {Population.embedded("en", users, seed=seed).digest for users, seed in ((5, 1), (6, 1), (5, 2))}
    assert len(embedded) == 3


@pytest.mark.parametrize(
    "change", [{"votes": np.full(12, 0.5)}, {"votes": np.full(12, -1)}, {"reports": np.int64(10**9)}]
)
def test_sums_that_cannot_be_are_not_taken_over(tmp_path: Path, change: dict[str, Any]) -> None:
    layer = small_layer(["ab", "bc", "ca"])
    journal = Journal(tmp_path / "j", IDENTITY, resume=False)
    journal.record(layer, Tally(np.arange(12), 5))
    path = tmp_path / "j" / "pass-1-layer-1.npz"
    stored = dict(np.load(path))
    np.savez_compressed(path, **(stored | change))
    with pytest.raises(JournalError, match="is damaged; delete it"):
        Journal(tmp_path / "j", IDENTITY, resume=True).recall(layer)
