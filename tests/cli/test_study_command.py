"""`neologue study`: its files, its going on after an interruption, and refusals that leave everything as it was."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.studies.baselines.partition_selection import PartitionSelection

Neologue = Callable[..., Result]
PAPER = ("study", "paper", "--users", 6000, "--depth", 2, "--epsilon", 10, "--seeds", 2, "--quick", "--seed", 3)
ABLATION = ("study", "ablation", "--users", 2000, "--depth", 3, "--factor", "sampler", "--seeds", 2)
FAST = ("--method", "triehh", "--method", "partition-selection")


def compare(typed: Path, known: Path, *more: object) -> tuple[object, ...]:
    """A comparison on the file of users that takes a moment."""
    return ("study", "compare", typed, "--known", known, "--depth", 4, "--top", 5, *FAST, "--seeds", 2, *more)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def paper(neologue: Neologue, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The paper on a few users and words of up to two characters."""
    out = tmp_path_factory.mktemp("paper")
    result = neologue(*PAPER, "--out", out)
    assert result.exit_code == 0, result.output
    return result, out


@pytest.fixture(scope="module")
def compared(
    neologue: Neologue, typed: Path, known: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Result, Path]:
    """Two baselines on the file of users."""
    out = tmp_path_factory.mktemp("compared")
    result = neologue(*compare(typed, known, "--epsilon", 8, "--epsilon", 10), "--out", out)
    assert result.exit_code == 0, result.output
    return result, out


@pytest.fixture(scope="module")
def ablated(neologue: Neologue, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The sampler taken apart."""
    out = tmp_path_factory.mktemp("ablated")
    result = neologue(*ABLATION, "--out", out)
    assert result.exit_code == 0, result.output
    return result, out


def document(made: tuple[Result, Path]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made[1] / "study.json").read_text("utf-8"))
    return found


def test_the_paper_has_the_fields_that_are_promised(paper: tuple[Result, Path]) -> None:
    found = document(paper)
    assert found["study"] == "paper"
    assert found["quick"] == "Quick: 6,000 users, figures are not the paper's."
    assert [row["setting"] for row in found["table"]] == ["greedy-1", "random-1", "random-2"]
    assert [row["published"] for row in found["table"]] == [0.771, 0.831, 0.921]
    assert all(0 <= row["low"] <= row["coverage"] <= row["high"] <= 1 for row in found["table"])
    assert [row["epsilon"] for row in found["figure"]] == [10.0]
    assert found["without_privacy"]["coverage"] > found["figure"][0]["coverage"]
    production = found["production"]
    assert production["published"]["k"] == 45
    assert {"item_central", "user_central", "k_anonymity"} <= set(production["privacy"])
    assert 0 < production["held_out"]["of_pairs"]["mean"] < 1
    assert len(found["orderings"]) == 4


def test_a_quick_study_says_so_wherever_it_is_read(paper: tuple[Result, Path]) -> None:
    said = "figures are not the paper's."
    assert said in paper[0].stdout
    assert said in paper[0].stderr
    assert "figures are not the paper&#39;s." in (paper[1] / "report.html").read_text("utf-8")


def test_runs_are_counted_before_they_begin(paper: tuple[Result, Path]) -> None:
    assert "8 runs\n" in paper[0].stderr
    assert "run 8 of 8: " in paper[0].stderr


def test_a_comparison_has_all_figures_of_all_methods(compared: tuple[Result, Path]) -> None:
    found = document(compared)
    assert found["study"] == "compare"
    assert len(found["table"]) == 4
    for row in found["table"]:
        shown = {"coverage", "missing_mass", "precision", "f1", "bytes_per_device", "rounds", "users_asked", "low"}
        assert shown <= set(row)
    assert {row["method"] for row in found["users_needed"]} == {"triehh", "partition-selection"}
    assert [method["name"] for method in found["methods"]] == ["triehh", "partition-selection"]
    assert len(found["results"]) == 8


def test_an_ablation_has_a_gain_for_every_variation(ablated: tuple[Result, Path]) -> None:
    (factor,) = document(ablated)["factors"]
    assert [row["variation"] for row in factor["variations"]] == ["as it is", "greedy"]
    greedy = factor["variations"][1]
    assert greedy["gain_low"] <= greedy["gain"] <= greedy["gain_high"]


@pytest.mark.parametrize("study", ["paper", "compared", "ablated"])
def test_reports_are_one_file_that_asks_nobody(study: str, request: pytest.FixtureRequest) -> None:
    _, out = request.getfixturevalue(study)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "study.json"]
    page = (out / "report.html").read_text("utf-8")
    assert "://" not in page
    links = set(re.findall(r'(?:href|src)="([^"]*)"', page))
    assert all(link.startswith("#") or link == "study.json" for link in links)
    assert "<script" not in page
    assert "prefers-color-scheme: dark" in page
    assert f"neologue study {document((None, out))['study']} " in page  # type: ignore[arg-type]


def test_no_word_of_a_user_is_in_the_files(compared: tuple[Result, Path], new_words: tuple[str, ...]) -> None:
    for content in contents(compared[1]).values():
        assert not [word for word in new_words if word in content.decode()]


def test_the_same_study_may_be_made_again_and_is_the_same(
    neologue: Neologue, compared: tuple[Result, Path], typed: Path, known: Path
) -> None:
    before = contents(compared[1])
    assert neologue(*compare(typed, known, "--epsilon", 8, "--epsilon", 10), "--out", compared[1]).exit_code == 0
    assert contents(compared[1]) == before


def test_json_is_printed_instead_of_tables(
    neologue: Neologue, compared: tuple[Result, Path], typed: Path, known: Path
) -> None:
    result = neologue(*compare(typed, known, "--epsilon", 8, "--epsilon", 10), "--json")
    assert json.loads(result.stdout) == document(compared)


@pytest.fixture
def broken_off(neologue: Neologue, typed: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a comparison that was interrupted in its fourth run."""
    runs = iter(range(10))
    discover = PartitionSelection.discover

    def interrupted(self: PartitionSelection, *arguments: Any) -> Any:  # noqa: ANN401 - as the method it stands for
        if next(runs) == 1:
            raise KeyboardInterrupt
        return discover(self, *arguments)

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(PartitionSelection, "discover", interrupted)
        result = neologue(*compare(typed, known, "--epsilon", 8, "--epsilon", 10), "--out", out)
    assert result.exit_code == 130, result.output
    assert [path.name for path in out.iterdir()] == ["unfinished"]
    return out


def test_an_interrupted_study_goes_on_and_ends_in_the_same_files(
    neologue: Neologue, compared: tuple[Result, Path], typed: Path, known: Path, broken_off: Path
) -> None:
    result = neologue(*compare(typed, known, "--epsilon", 8, "--epsilon", 10), "--out", broken_off, "--resume")
    assert result.exit_code == 0, result.output
    assert "8 runs, 3 of them done before" in result.stderr
    assert "run 3 of 8" not in result.stderr
    assert contents(broken_off) == contents(compared[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", 8, "--epsilon", 10), "has an unfinished study; continue it with --resume"),
        (("--epsilon", 8, "--resume"), "is the journal of another run: epsilons is not the same"),
        (("--epsilon", 8, "--epsilon", 10, "--top", 6, "--resume"), "another run: top is not the same"),
    ],
)
def test_an_unfinished_study_is_not_mixed_with_another(
    neologue: Neologue, typed: Path, known: Path, broken_off: Path, options: tuple[object, ...], message: str
) -> None:
    before = contents(broken_off)
    result = neologue(*compare(typed, known, *options), "--out", broken_off)
    assert result.exit_code == 2
    assert message in result.stderr
    assert contents(broken_off) == before


def test_a_folder_with_an_unfinished_discovery_is_left_alone(neologue: Neologue, tmp_path: Path) -> None:
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "campaign.json").write_text("{}", "utf-8")
    result = neologue(*ABLATION, "--out", tmp_path)
    assert result.exit_code == 2
    assert "has an unfinished discovery" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PAPER, "holds another study: study is not the same"),
        ((*ABLATION, "--seed", 9), "holds another study: seeds is not the same"),
    ],
)
def test_another_studys_folder_is_left_as_it_was(
    neologue: Neologue, ablated: tuple[Result, Path], arguments: tuple[object, ...], message: str
) -> None:
    before = contents(ablated[1])
    result = neologue(*arguments, "--out", ablated[1])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert contents(ablated[1]) == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("release.json", "{}", "is of something else than a study"),
        ("report.html", "mine", "is of something else than a study"),
        ("study.json", "[]", "is not the record of a study"),
        ("study.json", "{", "is not the record of a study"),
    ],
)
def test_files_of_others_are_not_overwritten(
    neologue: Neologue, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    result = neologue(*ABLATION, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert contents(tmp_path) == {name: content.encode()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("study", "compare", "--method", "rappor"), "no method is called 'rappor'; choose one of neologue"),
        (("study", "compare", "--language", "tlh"), "no language is called 'tlh'; choose one of ar"),
        (("study", "compare", "--epsilon", "nan"), "epsilon must be a number above 0"),
        (("study", "compare", "--depth", 1, "--quick"), "depth must be a whole number from 2"),
        (("study", "compare", "--user-column", "who"), "--user-column who names a column of DATA"),
        (("study", "compare", "nowhere.csv"), "nowhere.csv"),
        (("study", "ablation", "--language", "tlh"), "no language is called 'tlh'; choose one of ar"),
        (("study", "ablation", "--factor", "colour"), "no factor is called 'colour'; choose one of sampler"),
        (("study", "ablation", "--users", 300), "300 users are too few"),
        (("study", "paper", "--users", 1000), "1000 users are too few"),
        (("study", "paper", "--epsilon", 8), "the table is at ε = 10"),
        (("study", "paper", "--seeds", 0), "0 is not in the range"),
        (("study", "paper", "--resume"), "has no unfinished study"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence_and_nothing_is_written(
    neologue: Neologue, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    out = tmp_path / "out"
    result = neologue(*arguments, "--out", out)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert not out.exists()


def test_a_file_of_too_few_users_is_refused(neologue: Neologue, typed: Path, known: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = neologue("study", "compare", typed, "--known", known, "--out", out)
    assert result.exit_code == 2
    assert "1500 users are too few: gboard-2024 needs at least 3,000" in result.stderr
    assert not out.exists()
    result = neologue(*compare(typed, known, "--users", 5000), "--out", out)
    assert result.exit_code == 2
    assert "1,500 users" in result.stderr


def test_resuming_needs_a_folder(neologue: Neologue) -> None:
    result = neologue(*ABLATION, "--resume")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--resume needs --out" in result.stderr


def test_a_discovery_does_not_go_into_the_folder_of_a_study(neologue: Neologue, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("{}")
    result = neologue("discover", "--users", "20000", "--out", tmp_path)
    assert result.exit_code == 2
    assert "holds a study; give --out another folder" in result.stderr
