"""`docs/privacy/statement.md` describes every field of a statement, and its example is what the code says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.reporting.simulated_release import discovery_document

PAGE = Path(__file__).parents[2] / "docs" / "privacy" / "statement.md"


@pytest.fixture(scope="module")
def statement() -> Any:  # noqa: ANN401
    """The privacy of the Python example in docs/own-data.md."""
    population = Population.from_words({f"user {n}": {"yeet": 3, "rizz": 1} for n in range(2000)})
    known, alphabet = Vocabulary(["hello", "world"]), Alphabet.named("en")
    campaign = Campaign.from_profile(users=2000, known=known, alphabet=alphabet, depth=6, epsilon=8.0)
    return discovery_document(discover(population, campaign, seed=1))["privacy"]


def leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every value of a document that holds no others, by its path."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield name, value
        return
    for step, each in inner:
        yield from leaves(each, f"{name}.{step}")


def test_the_example_is_what_a_run_states(statement: object) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    shown, found = dict(leaves(json.loads(example))), dict(leaves(statement))
    assert shown.keys() == found.keys()
    for name, value in found.items():
        assert shown[name] == (pytest.approx(value, rel=1e-4) if isinstance(value, float) else value), name


def test_every_field_is_described(statement: dict[str, Any]) -> None:
    described = {
        name.rpartition(".")[2]
        for name in re.findall(r"^\| `([a-z0-9_.\[\]]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    }
    parts = ("item_central", "user_central", "k_anonymity", "unique_words", "trust")
    rows = (statement["trust"]["observers"][0], statement["thresholds"][0])
    fields = {
        *statement,
        *(field for part in parts for field in statement[part]),
        *(field for row in rows for field in row),
    }
    told_of_in_sentences = {"observers", "theorems"}
    assert fields - described == told_of_in_sentences
    assert described <= fields
