"""What users may rely on: the public names, and every example in docstrings and documents."""

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import neologue
from neologue.cli import main

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)


class TestNames:
    def test_there_are_some_and_they_are_in_order(self) -> None:
        assert {"Campaign", "Population", "Vocabulary", "discover", "contribute"} <= set(neologue.__all__)
        assert list(neologue.__all__) == sorted(set(neologue.__all__))

    @pytest.mark.parametrize("name", neologue.__all__)
    def test_each_resolves_and_is_documented(self, name: str) -> None:
        thing = getattr(neologue, name)
        assert inspect.getdoc(thing)
        assert thing.__name__ == name
        assert thing.__module__.startswith("neologue.")

    def test_dir_shows_them_all_once(self) -> None:
        shown = dir(neologue)
        assert set(neologue.__all__) <= set(shown)
        assert len(shown) == len(set(shown))

    def test_a_star_import_brings_them_all(self) -> None:
        namespace: dict[str, object] = {}
        exec("from neologue import *", namespace)
        assert set(neologue.__all__) <= set(namespace)

    def test_other_names_are_refused_as_of_any_module(self) -> None:
        with pytest.raises(AttributeError, match="module 'neologue' has no attribute 'dicsover'"):
            neologue.dicsover  # noqa: B018
        assert not hasattr(neologue, "numba")


@dataclass(frozen=True)
class Block:
    """A fenced piece of a document: its language, what else stands after the fence, and its text."""

    language: str
    title: str
    text: str


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, in order."""
    for fence in FENCE.finditer(document):
        language, _, title = fence["info"].strip().partition(" ")
        yield Block(language, title.strip(), textwrap.dedent(fence["body"]))


def commands(console: str) -> Iterator[list[str]]:
    """The arguments of every `$ neologue …` of a console block; what its output is piped into is left out."""
    for line in re.sub(r"\\\n\s*", " ", console).splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["$", "neologue"]:
            plumbing = (place for place, word in enumerate(words) if word in ("|", ">", "2>", "&&", ";"))
            yield words[2 : next(plumbing, len(words))]


def run_document(document: str, name: str) -> int:
    """Run every example of a document in the current folder; say how many there were.

    Python blocks run each in a namespace of its own, commands in this process. A block with a file's name
    after its language, such as ```csv typed.csv, is that file.
    """
    examples = 0
    for number, block in enumerate(blocks(document), 1):
        place = f"{name}, block {number}"
        if re.fullmatch(r"[\w-]+\.\w+", block.title):
            Path(block.title).write_text(block.text, "utf-8")
        elif block.language == "python":
            examples += 1
            run_python(block.text, place)
        elif block.language == "console":
            for arguments in commands(block.text):
                examples += 1
                result = CliRunner().invoke(main, arguments, prog_name="neologue")
                assert result.exit_code == 0, f"{place}: neologue {shlex.join(arguments)}\n{result.stderr}"
    return examples


def run_python(text: str, place: str) -> None:
    """Run a block in a fresh namespace: as a session if it has prompts, and otherwise as a script."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    if ">>> " not in text:
        exec(compile(text, place, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(text, namespace, place, None, None)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_of_a_document_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert path.exists()
    monkeypatch.chdir(tmp_path)
    run_document(path.read_text("utf-8"), path.name)


def test_the_docstrings_examples_are_true() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names = [module.name for module in pkgutil.walk_packages(neologue.__path__, "neologue.")]
    told: list[str] = []
    tried = 0
    for name in ["neologue", *(name for name in names if not name.endswith("__main__"))]:
        for test in finder.find(importlib.import_module(name), name):
            tried += runner.run(test, out=told.append).attempted
    assert not told, "".join(told)
    assert tried > 0


MADE_UP = """
Text with `code`.

```csv typed.csv
user,word
```

```python
from pathlib import Path
assert Path("typed.csv").read_text() == "user,word\\n"
Path("mark").touch()
```

1. In a list:

   ~~~console
   $ neologue alphabets | head -1   # a comment
   Alphabets
   $ pip install something
   $ neologue \\
       --version > version.txt
   ~~~

```python
>>> "Path" in globals()
False
>>> 1 + 1
2
```

```
$ neologue bogus, but in no console
```
"""


class TestHarness:
    def test_it_finds_blocks_of_every_kind_in_order(self) -> None:
        assert [block.language for block in blocks(MADE_UP)] == ["csv", "python", "console", "python", ""]
        assert next(blocks(MADE_UP)) == Block("csv", "typed.csv", "user,word\n")

    def test_it_runs_neologue_and_nothing_else_of_a_console(self) -> None:
        console = next(block for block in blocks(MADE_UP) if block.language == "console")
        assert list(commands(console.text)) == [["alphabets"], ["--version"]]

    def test_it_runs_them_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert run_document(MADE_UP, "made up") == 4
        assert (tmp_path / "mark").exists()

    @pytest.mark.parametrize(
        "wrong",
        [
            "```python\nassert 1 == 2\n```",
            "```python\n>>> 1 + 1\n3\n```",
            "```console\n$ neologue discover --users 7\n```",
        ],
    )
    def test_it_notices_what_has_gone_stale(self, wrong: str) -> None:
        with pytest.raises(AssertionError):
            run_document(wrong, "made up")
