"""The commands of the README, without installing anything: what they run, and with which options."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from neologue.cli import main

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"^    (make [^#\n]*)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


def test_the_first_commands_are_those_of_the_two_ways_to_try_it() -> None:
    assert [command.split()[1] for command in COMMANDS[:2]] == ["discover", "sandbox"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_runs_neologue_with_options_that_it_has(command: str) -> None:
    shown = subprocess.run(
        [*shlex.split(command), "--dry-run", "--no-print-directory"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    program, name, *arguments = shlex.split(shown.stdout.splitlines()[-1])
    assert Path(program).name == "neologue"
    main.commands[name].make_context(name, arguments)
