"""A mistake is answered by one sentence with the value and the remedy, by exit code 2, and by nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import Result

Neologue = Callable[..., Result]

UNASSIGNED = range(0xD800, 0xE000)


@dataclass(frozen=True)
class Mistake:
    """Arguments that can't work; {folder} is where the files are."""

    arguments: Sequence[str]
    names: str
    """What the message must name: the value, or the path."""
    remedy: str
    """Words of the advice that the message must give."""
    files: dict[str, str | bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(self.arguments)


TRY_HELP = "Try 'neologue discover --help'"
NOTHING_READ = ("--known", "{folder}/known.txt")
"""Spares a test the reading of the built-in dictionary."""

MISTAKES = [
    # The file of users and words.
    Mistake(["{folder}/none.csv", *NOTHING_READ], "{folder}/none.csv", "check the name"),
    Mistake(["{folder}/d.csv", *NOTHING_READ], "{folder}/d.csv", "give a file with users and words", {"d.csv": ""}),
    Mistake(["{folder}/d.csv", *NOTHING_READ], "{folder}/d.csv has no rows", "give a file", {"d.csv": "user,word\n"}),
    Mistake(["{folder}/d.csv", *NOTHING_READ], "'word'", "--word-column", {"d.csv": "user,text\nu,w\n"}),
    Mistake(["{folder}/d.csv", *NOTHING_READ], "'user'", "--user-column", {"d.csv": "who,word\nu,w\n"}),
    Mistake(
        ["{folder}/d.csv", "--count-column", "times", *NOTHING_READ],
        "'times'",
        "--count-column",
        {"d.csv": "user,word\nu,w\n"},
    ),
    Mistake(["{folder}/d.csv", *NOTHING_READ], "row 2", "leave out", {"d.csv": "user,word\nu,w\nu,\n"}),
    Mistake(["{folder}/d.xls", *NOTHING_READ], "{folder}/d.xls", "convert it", {"d.xls": "user,word\nu,w\n"}),
    Mistake(
        ["{folder}/d.csv", "--users", "2001", *NOTHING_READ],
        "2001",
        "from 1 to all of them",
        {"d.csv": "user,word\n" + "".join(f"u{user},w\n" for user in range(2000))},
    ),
    # Names.
    Mistake(["--profile", "gboard"], "'gboard'", "gboard-2024"),
    Mistake(["--profile", ""], "''", "gboard-2024"),
    Mistake(["--language", "tlh"], "'tlh'", "choose one of ar, bg"),
    Mistake(["--sampler", "lazy"], "'lazy'", "'greedy', 'random'"),
    Mistake(["--randomizer", "coin"], "'coin'", "unary, subset-selection"),
    Mistake(["--rule", "all"], "'all'", "top, significant"),
    Mistake(["--fidelity", "high"], "'high'", "'devices'"),
    # Numbers.
    Mistake(["--epsilon", "0"], "not 0", "from 0.001 to 20"),
    Mistake(["--epsilon", "-1"], "not -1", "from 0.001 to 20"),
    Mistake(["--epsilon", "nan"], "not nan", "from 0.001 to 20"),
    Mistake(["--epsilon", "inf"], "not inf", "from 0.001 to 20"),
    Mistake(["--epsilon", "1000"], "not 1000", "from 0.001 to 20"),
    Mistake(["--epsilon", "abc"], "'abc'", TRY_HELP),
    Mistake(["--words-per-user", "0"], "not 0", "from 1 to 10,000"),
    Mistake(["--words-per-user", "10001"], "not 10001", "from 1 to 10,000"),
    Mistake(["--depth", "0"], "not 0", "from 2 to 64"),
    Mistake(["--depth", "1"], "not 1", "from 2 to 64"),
    Mistake(["--depth", "1000"], "not 1000", "from 2 to 64"),
    Mistake(["--passes", "0"], "not 0", "from 1 to 100"),
    Mistake(["--frontier", "0"], "not 0", "from 1 to"),
    Mistake(["--days", "0"], "not 0", "from 1 to 3,650"),
    Mistake(["--users", "0"], "not 0", "whole number from 1"),
    Mistake(["--users", "-5"], "not -5", "whole number from 1"),
    Mistake(["--users", "many"], "'many'", TRY_HELP),
    Mistake(["--users", "40"], "40 users are too few", "take more users"),
    Mistake(["--users", "2999", "--profile", "gboard-2024"], "2999 users are too few", "need 3,000"),
    Mistake(["--users", "400", "--passes", "5"], "400 users are too few", "fewer passes"),
    Mistake(["--seed", "-1"], "-1", "0<=x<=9007199254740991"),
    Mistake(["--seed", str(2**53)], "9007199254740992", "0<=x<=9007199254740991"),
    Mistake(["--k-anonymity", "-1"], "not -1", "from 0 to 1,000,000"),
    Mistake(["--unique-chance", "1e-16"], "not 1e-16", "from 1e-15 to below 1"),
    Mistake(["--unique-chance", "nan"], "not nan", "0, for no promise"),
    Mistake(["--hostile-devices", "-1"], "not -1", "from 0 to 1,000,000"),
    Mistake(["--alpha", "1"], "not 1", "between 0 and 1"),
    Mistake(["--alpha", "nan"], "not nan", "between 0 and 1"),
    Mistake(["--delta", "0"], "not 0", "between 0 and 1"),
    Mistake(["--delta", "inf"], "not inf", "between 0 and 1"),
    Mistake(["--colluders", "1"], "not 1", "from 0 to below 1"),
    Mistake(["--colluders", "nan"], "not nan", "from 0 to below 1"),
    # Keys.
    Mistake(["--sign", "{folder}/none.key", *NOTHING_READ], "{folder}/none.key", "check the name"),
    Mistake(["--sign", "{folder}/k.key", *NOTHING_READ], "{folder}/k.key", "neologue keygen", {"k.key": "secret"}),
    # Alphabets.
    Mistake(["--alphabet", "{folder}/none.txt"], "'{folder}/none.txt'", "or give a file"),
    Mistake(["--alphabet", "{folder}/a.txt"], "not 1: 'x'", "at least 2 characters", {"a.txt": "x xxx x"}),
    Mistake(["--alphabet", "{folder}/a.txt"], "not 0", "at least 2 characters", {"a.txt": ""}),
    Mistake(
        ["--alphabet", "{folder}/a.txt"],
        "symbols",
        "give a smaller alphabet",
        {"a.txt": "".join(chr(point) for point in range(0x3400, 0x3400 + 62_048) if point not in UNASSIGNED)},
    ),
    Mistake(["--alphabet", "{folder}/a.txt"], "{folder}/a.txt", "UTF-8", {"a.txt": "käse".encode("latin-1")}),
    # Known words and targets.
    Mistake(["--known", "{folder}/none.txt"], "{folder}/none.txt", "one word per line"),
    Mistake(["--known", "{folder}"], "{folder} is a directory", "one word per line"),
    Mistake(["--known", "{folder}/k.txt"], "{folder}/k.txt", "one word per line", {"k.txt": ""}),
    Mistake(["--known", "{folder}/k.txt"], "{folder}/k.txt", "UTF-8", {"k.txt": "käse\n".encode("latin-1")}),
    Mistake(["--known", "{folder}/k.gz"], "{folder}/k.gz", "compress", {"k.gz": "käse\n"}),
    Mistake(["--known", "{folder}/k.dic"], "{folder}/k.aff is missing", "side by side", {"k.dic": "1\nword\n"}),
    Mistake(["--targets", "{folder}/none.txt", *NOTHING_READ], "{folder}/none.txt", "one word per line"),
    Mistake(["--targets", "{folder}/t.txt", *NOTHING_READ], "{folder}/t.txt", "one word per line", {"t.txt": " \n\n"}),
    # Options that there are not.
    Mistake(["--colour"], "'--colour'", TRY_HELP),
    Mistake(["--verbose", "--colour"], "'--verbose'", TRY_HELP),
    Mistake(["a.csv", "b.csv"], "a.csv", "check the name"),
]


def refused(result: Result) -> str:
    """The complaint of a command that refused: a single one, the last line of all, without a traceback."""
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    complaints = [line for line in result.stderr.splitlines() if line.startswith(("neologue: ", "Error: "))]
    assert complaints == result.stderr.splitlines()[-1:]
    return result.stderr


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_named_with_its_remedy_and_leaves_nothing_behind(
    mistake: Mistake, neologue: Neologue, tmp_path: Path
) -> None:
    folder, out = tmp_path / "given", tmp_path / "out"
    folder.mkdir()
    for name, content in {"known.txt": "the\n", **mistake.files}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    arguments = [argument.format(folder=folder) for argument in mistake.arguments]
    told = refused(neologue("discover", *arguments, "--out", out))

    assert mistake.names.format(folder=folder) in told
    assert mistake.remedy in told
    assert not out.exists()


def test_targets_that_nobody_could_type_are_refused(neologue: Neologue, tmp_path: Path) -> None:
    (tmp_path / "targets.txt").write_text("qqqqqqqqzz\n", "utf-8")
    told = refused(neologue("discover", "--users", 5000, "--targets", tmp_path / "targets.txt"))
    assert "other targets" in told


def test_a_file_can_t_be_the_output_folder(neologue: Neologue, tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.write_text("mine", "utf-8")
    for out in (path, path / "below" / "it"):
        told = refused(neologue("discover", "--users", 2000, "--depth", 6, "--out", out))
        assert f"{path} is a file" in told
        assert "give --out a folder" in told
    assert path.read_text("utf-8") == "mine"


def test_an_output_folder_that_can_t_be_made_is_refused_before_the_run(
    neologue: Neologue, typed: Path, known: Path
) -> None:
    told = refused(neologue("discover", typed, "--known", known, "--depth", 4, "--out", "/proc/neologue"))
    assert "/proc" in told
    assert "--out" in told
    assert "pass 1" not in told


def test_a_word_of_somebody_s_data_is_never_quoted_back(neologue: Neologue, tmp_path: Path) -> None:
    data, known = tmp_path / "data.csv", tmp_path / "known.txt"
    known.write_text("the\n", "utf-8")
    data.write_text("user,word,count\nalice,secretword,none\n", "utf-8")
    told = refused(neologue("discover", data, "--known", known))
    assert "row 1" in told
    assert "secretword" not in told
    assert "alice" not in told


def test_a_command_that_there_is_not_is_refused(neologue: Neologue) -> None:
    told = refused(neologue("discovery"))
    assert "'discovery'" in told
    assert "Try 'neologue --help'" in told
