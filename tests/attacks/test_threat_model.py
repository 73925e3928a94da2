"""The threat model names a test for each sentence about an attacker or a deployment, and each of them is there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "privacy" / "threat-model.md").read_text("utf-8")
TABLES = {"what a stranger tries": 15, "what": 9, "attack": 8, "what hostile reports do": 7}
"""The first cells of the tables in which each row is an attack or a sentence, and the fewest rows of each."""


def rows(page: str) -> dict[str, list[list[str]]]:
    """The rows of each table whose last column is a test, by its first cell."""
    found: dict[str, list[list[str]]] = {}
    current: list[list[str]] | None = None
    for line in page.splitlines():
        if not line.startswith("|"):
            current = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if current is None:
            current = found.setdefault(cells[0], []) if cells[-1] in ("test", "the test") else []
        elif not set(line) <= set("|-"):
            current.append(cells)
    return found


def named(text: str) -> list[str]:
    return re.findall(r"`(test_\w+(?:\.py)?)`", text)


def existing() -> set[str]:
    files = list(TESTS.rglob("test_*.py"))
    functions = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))}
    return functions | {file.name for file in files}


def test_every_test_that_the_threat_model_names_is_there() -> None:
    names = named(PAGE)
    assert len(names) > 30
    assert not set(names) - existing()
    links = re.findall(r"\]\(\.\./\.\./(tests/[^)]+)\)", PAGE)
    assert links
    assert all((TESTS.parent / link).exists() for link in links)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_about_an_attacker_or_a_deployment_names_its_test(table: str) -> None:
    found = rows(PAGE)[table]
    assert len(found) >= TABLES[table]
    assert [row[0] for row in found if not named(row[-1])] == []


def untested(page: str) -> list[str]:
    """How those paragraphs about an attacker or a claim begin that name no test, themselves or in a table below."""
    parts = page.split("\n\n")
    return [
        part[:60]
        for part, following in zip(parts, [*parts[1:], ""], strict=True)
        if part.startswith("**") and not named(part) and not (following.startswith("|") and named(following))
    ]


def test_every_paragraph_about_an_attacker_or_a_claim_names_a_test() -> None:
    assert untested(PAGE) == []
    assert sum(part.startswith("**") for part in PAGE.split("\n\n")) > 15


def test_a_paragraph_without_a_test_is_noticed() -> None:
    page = "**Reader.** Sees.\n\n**Server.** `test_x`\n\n**Thief.** Steals:\n\n| a |\n|---|\n| `test_x` |"
    assert untested(page) == ["**Reader.** Sees."]


def test_every_attack_that_is_kept_is_in_the_threat_model() -> None:
    """Of each file of attacks something is named, itself or one of its tests."""
    names = set(named(PAGE)) | {Path(link).name for link in re.findall(r"\((\S+\.py)\)", PAGE)}
    for file in sorted((TESTS / "attacks").rglob("test_*.py")):
        if file != Path(__file__):
            assert names & {file.name, *re.findall(r"def (test_\w+)", file.read_text("utf-8"))}, file.name


def test_a_row_without_a_test_is_noticed() -> None:
    page = "| what | holds | the test |\n|---|---|---|\n| a | b | `test_x` |\n| c | d | |\n"
    assert [row[0] for row in rows(page)["what"] if not named(row[-1])] == ["c"]
