"""What releases of older formats promised, so that each is certified as just that, and as no more."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from neologue.errors import ReleaseError
from neologue.privacy.anonymity.thresholds import AnonymityPromise

FORMAT_WITH_SCORE = 1
"""Still read: live campaigns were released in it, without a score."""
PER_PASS_FORMATS = (1, 2)
"""They promise k in each layer, so that several passes add up, and nothing of unique words."""
LACKING_PARAMETERS: Mapping[str, object] = {
    "unique_chance": 0.0,
    "hostile_devices": 0,
    "promised_epsilon": None,
    "promised_unit": "item",
    "case": "keep",
    "punctuation": "keep",
    "allocation": "filled",
    "layers": None,
    "later_words": [],
}
"""The parameters that they lack, with values that promise nothing."""
DROPPED_PARAMETERS = {"adaptive": False, "doubtful": 0}
"""The parameters of tries that they have and nothing else has any more, with values that can still be certified."""
NOT_STATED = ("unique_words", "thresholds")
K_COVERS = "released words, and prefixes and words in doubt that devices are told, by holders in their cohort"
K_STATED = ("k", "alpha", "covers", "printed_lemma", "reasons")


def check_trie(whole: Mapping[str, Any], source: Path | str) -> None:
    """Refuse a release whose trie grew by several symbols a layer, or that asked again about words in doubt."""
    stated = {name: value for name, value in whole["parameters"].items() if name in DROPPED_PARAMETERS}
    if whole["format"] in PER_PASS_FORMATS and stated == DROPPED_PARAMETERS:
        return
    if stated or any("doubtful" in layer for layer in whole["layers"]):
        raise ReleaseError(
            f"{source} was made by an older version: its layers may extend prefixes by several symbols and ask again "
            "about words in doubt, which nothing here can compute again; certify it with neologue 0.2"
        )


def promise_of_format(number: int, promise: AnonymityPromise) -> AnonymityPromise:
    """What a release of that format promises with its parameters."""
    return replace(promise, passes=1) if number in PER_PASS_FORMATS else promise


def statement_of_format(number: int, statement: Mapping[str, Any]) -> dict[str, Any]:
    """A privacy statement as a release of that format has it."""
    if number not in PER_PASS_FORMATS:
        return dict(statement)
    stated = {name: part for name, part in statement.items() if name not in NOT_STATED}
    anonymity = {name: stated["k_anonymity"][name] for name in K_STATED} | {"covers": K_COVERS}
    anonymity["reasons"] = {name: why for name, why in anonymity["reasons"].items() if name in K_STATED}
    central = {name: _without_allocation(stated[name]) for name in ("item_central", "user_central")}
    return stated | central | {"k_anonymity": anonymity}


def said_in_format(number: int, said: Mapping[str, Any]) -> dict[str, Any]:
    """What a release says, with the names that one of that format has."""
    if number not in PER_PASS_FORMATS:
        return dict(said)
    measurement = said["measurement"]
    lacking = ("simulated",) if number == FORMAT_WITH_SCORE else ()
    return {
        **_without(said, "campaign", "prefixes", "warnings", "planting", *lacking),
        "parameters": _without(said["parameters"], *LACKING_PARAMETERS) | DROPPED_PARAMETERS,
        "layers": [_without(layer, "digest") | {"doubtful": 0} for layer in said["layers"]],
        "words": [_without(word, "since") for word in said["words"]],
        "measurement": measurement and _without(measurement, "digest"),
    }


def _without_allocation(central: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without(part, "allocation") if isinstance(part, Mapping) else part
        for name, part in _without(central, "allocation").items()
    }


def _without(said: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in names}
