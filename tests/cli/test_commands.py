"""The small commands, and neologue as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest
from click.testing import Result

import neologue as package
from neologue.campaign.profiles import PROFILES
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
    "device",
    "discover",
    "doctor",
    "fleet",
    "key",
    "keygen",
    "ledger",
    "plan",
    "profiles",
    "sandbox",
    "serve",
    "study",
    "token",
)


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


def test_help_names_every_command_and_nothing_without_help(neologue: Neologue) -> None:
    listed = neologue("--help").stdout.partition("Commands:")[2].split("\n")
    told = {line.split()[0]: line.split()[1:] for line in listed if line.strip()}
    assert sorted(told) == sorted(COMMANDS)
    assert all(told.values())


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
