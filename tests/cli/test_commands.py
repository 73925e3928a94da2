"""The small commands, and neologue as a process of its own."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import pytest
from click.testing import Result

import neologue as package
from neologue.campaign.profiles import NEOLOGUE, PROFILES
from neologue.cli import main
from neologue.cli.help_sections import SECTIONS, CommandWithExamples, SectionedCommand
from neologue.language.alphabet import NAMED, Alphabet
from neologue.language.builtin import languages

Neologue = Callable[..., Result]

COMMANDS = (
    "alphabets",
    "audit",
    "backup",
    "campaign",
    "certify",
    "completion",
    "conformance",
    "device",
    "diff",
    "discover",
    "doctor",
    "explain",
    "fleet",
    "key",
    "keygen",
    "ledger",
    "log",
    "plan",
    "profiles",
    "registry",
    "sandbox",
    "serve",
    "study",
    "token",
    "witness",
)


def commands_of(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands of a group, with those of its groups."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m neologue` with these arguments and environment variables."""
    environment: Mapping[str, str] = {**os.environ, "PYTHONUTF8": "1", **variables}
    return subprocess.run(
        [sys.executable, "-m", "neologue", *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=300,
    )


def completed(line: str) -> list[str]:
    """What bash would offer after a line, asked as its completion script asks."""
    words = line.split(" ")
    done = process(_NEOLOGUE_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert done.returncode == 0, done.stderr
    return [offer.partition(",")[2] for offer in done.stdout.splitlines()]


def test_profiles_shows_every_parameter_of_every_profile_and_its_source(neologue: Neologue) -> None:
    result = neologue("profiles")
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    shown = {name: values for name, *values in rows}
    assert set(shown) == {
        *(name.replace("_", " ") for name in PROFILES["neologue"].parameters.as_dict()),
        "alphabet",
    }
    assert shown["depth"] == [str(profile.parameters.depth) for profile in PROFILES.values()]
    assert shown["epsilon"] == ["by population", "10.0"]
    assert shown["alphabet"] == ["en", "paper"]
    assert all(f"{name}: {profile.source}." in result.stdout for name, profile in PROFILES.items())


def test_alphabets_shows_every_alphabet_and_its_size(neologue: Neologue) -> None:
    result = neologue("alphabets")
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert rows == [[name, str(Alphabet.named(name).size), about] for name, (_, about) in NAMED.items()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_neologue_in_the_way_of_the_shell(neologue: Neologue, shell: str) -> None:
    result = neologue("completion", shell)
    assert result.exit_code == 0
    assert f"_NEOLOGUE_COMPLETE={shell}_complete" in result.stdout
    assert "_neologue_completion" in result.stdout


def test_a_shell_that_is_not_served_is_refused_with_those_that_are(neologue: Neologue) -> None:
    result = neologue("completion", "tcsh")
    assert result.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.stderr


def test_the_version_is_that_of_the_package(neologue: Neologue) -> None:
    result = neologue("--version")
    assert result.exit_code == 0
    assert result.stdout.split()[-1] == package.__version__


@pytest.mark.parametrize(
    "command", ["", *COMMANDS, "campaign create", "ledger show", "study paper", "study compare", "study ablation"]
)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_command_has_help(neologue: Neologue, command: str, option: str) -> None:
    result = neologue(*command.split(), option)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: neologue {command}".rstrip())


@pytest.mark.parametrize("group", ["campaign", "device", "key", "ledger", "study", "witness"])
def test_a_group_lists_its_commands_with_whole_sentences(neologue: Neologue, group: str) -> None:
    listed = neologue(group, "--help").stdout.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def test_help_names_every_command_and_nothing_without_help(neologue: Neologue) -> None:
    listed = neologue("--help").stdout.partition("Find words:")[2].split("\n")
    told = {line.split()[0]: line.split()[1:] for line in listed if re.match("  [a-z]", line)}
    assert sorted(told) == sorted(COMMANDS)
    assert all(told.values())


SECTIONED = [(name, command) for name, command in commands_of(main) if isinstance(command, SectionedCommand)]


@pytest.mark.parametrize(("name", "command"), SECTIONED, ids=[name for name, _ in SECTIONED])
def test_every_option_has_a_section_of_the_help(name: str, command: SectionedCommand) -> None:
    sections = {option for names in SECTIONS.values() for option in names}
    shown = {option.name for option in command.params if isinstance(option, click.Option) and not option.hidden}
    assert shown <= sections


EXEMPLIFIED = [(name, command) for name, command in commands_of(main) if isinstance(command, CommandWithExamples)]


@pytest.mark.parametrize(("name", "command"), EXEMPLIFIED, ids=[name for name, _ in EXEMPLIFIED])
def test_the_examples_of_the_help_are_commands(
    name: str, command: CommandWithExamples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").touch()
    Path("backups").mkdir()
    assert command.examples
    for example, meaning in command.examples:
        assert meaning
        arguments = shlex.split(example.partition(f"neologue {name} ")[2])
        assert arguments, example
        command.make_context(name, arguments)


def test_the_help_names_the_defaults_of_the_profile() -> None:
    told = {
        option.name: match[1]
        for _, command in SECTIONED
        for option in command.params
        if isinstance(option, click.Option) and (match := re.search(r"the profile's, (\S+)\]", option.help or ""))
    }
    assert len(told) > 15
    parameters = NEOLOGUE.parameters.as_dict()
    assert told == {name or "": str(parameters[name or ""]).removesuffix(".0") for name in told}


def test_an_option_has_one_meaning_in_all_commands() -> None:
    names: dict[str, set[str]] = {}
    for _, command in SECTIONED:
        for option in command.params:
            for spelled in option.opts if isinstance(option, click.Option) else ():
                names.setdefault(spelled, set()).add(option.name or "")
    # The one limits what is planned, the other is promised by what is run.
    promised = {"--central-epsilon", "--unit"}
    assert {spelled for spelled, meant in names.items() if len(meant) > 1} <= promised


MISTAKES = (
    "discover --language xx",
    "discover --users 5",
    "discover --epsilon -1",
    "discover --profile none",
    "discover nowhere.csv",
    "discover --known nowhere.txt",
    "discover --resume",
    "plan --users 5",
    "plan --language xx",
    "fleet --epsilon 40",
    "fleet nowhere.csv",
    "fleet --devices 5",
    "campaign status spring",
    "campaign create spring --devices 5",
    "certify nowhere.json",
    "diff nowhere.json nowhere.json",
    "plan --local-epsilon 0",
    "audit --epsilon 0",
)
SLOW_IMPORTS = ("numba", "scipy", "wordfreq", "duckdb", "spylls", "matplotlib", "starlette")


MISTAKES_IN_FILES = (
    ("usr,word\nanna,yeet\n", "has no column 'user', only 'usr', 'word'"),
    ("user,word\nanna,\n", "has 1 row(s) without a word, the first is row 1"),
    ("user,word,count\nanna,yeet,2\nben,yeet,none\n", "the first is row 2: correct the counts"),
    ("user,word,day\nanna,yeet,someday\n", "has 1 row(s) whose day is neither a date"),
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_before_anything_slow_is_imported(mistake: str, tmp_path: Path) -> None:
    assert tried(mistake, SLOW_IMPORTS, tmp_path).stdout.split() == ["2"]


@pytest.mark.parametrize(
    ("command", "content", "told"),
    [
        *(("discover", *mistake) for mistake in MISTAKES_IN_FILES),
        *((command, *MISTAKES_IN_FILES[-1]) for command in ("plan", "fleet")),
    ],
)
def test_a_mistake_in_a_file_is_told_before_anything_slow_but_its_reader_is_imported(
    command: str, content: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "typed.csv").write_text(content, "utf-8")
    done = tried(f"{command} typed.csv", tuple(set(SLOW_IMPORTS) - {"duckdb"}), tmp_path)
    assert done.stdout.split() == ["2"]
    assert told in done.stderr


def tried(mistake: str, slow: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """A command in a process of its own, which prints how it ended and what it has imported of the slow modules."""
    script = f"""
import sys
from neologue.cli import main
try:
    main({mistake.split()!r}, prog_name="neologue")
except SystemExit as end:
    print(end.code, *(name for name in {slow!r} if name in sys.modules))
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEOLOGUE_")}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, env=environment, timeout=300
    )


@pytest.mark.parametrize("language", ["EN", "En"])
def test_a_language_may_be_written_in_any_case(neologue: Neologue, language: str) -> None:
    assert "5 users are too few" in neologue("discover", "--language", language, "--users", 5).stderr


def test_python_runs_the_package_as_the_command() -> None:
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"neologue, version {package.__version__}\n")
    assert process("discover", "--profile", "none").returncode == 2


def test_completion_proposes_profiles() -> None:
    assert completed("neologue discover --profile ") == list(PROFILES)
    assert completed("neologue discover --profile gb") == ["gboard-2024"]


def test_completion_proposes_languages_alphabets_choices_and_commands() -> None:
    assert completed("neologue discover --language ") == list(languages())
    assert completed("neologue discover --alphabet p") == ["paper", "pt"]
    assert completed("neologue discover --sampler ") == ["greedy", "random"]
    assert completed("neologue disc") == ["discover"]


@pytest.mark.parametrize("arguments", [["discover", "--help"], ["alphabets"]])
def test_an_old_terminal_gets_an_answer_too(arguments: list[str]) -> None:
    done = process(*arguments, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
