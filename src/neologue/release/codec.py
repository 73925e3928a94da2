"""`release.json`: a release as one document, the same bytes for the same release, written and read here alone.

The fields are part of the interface; `docs/release.md` describes each. A document is made of a release, which knows its
parameters, the numbers of reports and what was decided from sums, and of a provenance: neither has access to what users
hold, so that everything in it is covered by its privacy statement. What is read is less than the release that was
written: a document names the known words and the targets by their number and digest, and holds none of them.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from neologue.campaign.campaign import Campaign
from neologue.campaign.parameters import Parameters
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import LayerFacts, Release, ReleasedWord
from neologue.errors import ParameterError, ReleaseError, SignatureError
from neologue.privacy.statement import APPLIES_TO, Exposure, Source, privacy_statement
from neologue.release.facts import release_facts
from neologue.release.signature import digest

FORMAT = 2
FORMAT_WITH_SCORE = 1
"""Still read: live campaigns were released in it, without a score."""
LIVE = "live"
"""The fidelity of reports from people's own devices."""
FIDELITIES = (LIVE, "fast", "exact", "devices")
LARGEST_FILE = 1 << 30
DEEPEST_NESTING = 20


@dataclass(frozen=True)
class Provenance:
    """How the votes of a release came about; nothing in it depends on the words of a user."""

    population: str
    """One line for people."""
    fidelity: str
    seed: int | None = None
    """The seed of a simulation; None if the randomness was secret."""

    @property
    def simulated(self) -> bool:
        """Whether anyone can compute the randomness again, so that nothing is promised to real people."""
        return self.seed is not None

    @property
    def source(self) -> Source:
        """Where the votes come from."""
        if self.simulated:
            return Source.SIMULATION
        return Source.DEVICES if self.fidelity == LIVE else Source.RECORDS


def release_document(release: Release, provenance: Provenance) -> dict[str, object]:
    """The release as plain values."""
    campaign = release.campaign
    said = {
        "format": FORMAT,
        "profile": campaign.profile,
        "parameters": parameters_document(campaign),
        "fidelity": provenance.fidelity,
        "simulated": provenance.simulated,
        "seed": provenance.seed,
        "population": {"users": campaign.users, "description": provenance.population},
        "layers": [_layer(facts) for facts in release.layers],
        "words": [_word(word) for word in release.words],
        "measurement": release.measurement and _measurement(release.measurement),
        "exposure": asdict(release.exposure),
        "privacy": privacy_statement(release_facts(release), provenance.source),
    }
    return {**said, "digest": digest(said)}


def release_text(document: Mapping[str, object]) -> str:
    """The document as text."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def parameters_document(campaign: Campaign) -> dict[str, object]:
    """The parameters of a campaign as plain values."""
    return {
        **campaign.parameters.as_dict(),
        "alphabet": {"name": campaign.alphabet.name, "symbols": campaign.alphabet.size},
        "known": {
            "source": campaign.known.source,
            "words": len(campaign.known),
            "digest": campaign.known.digest,
        },
        "targets": None if campaign.targets is None else len(campaign.targets),
    }


def _layer(facts: LayerFacts) -> dict[str, object]:
    return {"pass" if name == "pass_number" else name: value for name, value in asdict(facts).items()}


def _measurement(measurement: Measurement) -> dict[str, object]:
    share = measurement.coverage
    return {
        "asked": measurement.asked,
        "reports": measurement.reports,
        "candidates": measurement.candidates,
        "rate": measurement.rate,
        "decided": measurement.decided,
        "coverage": share and {name: round(value, 6) for name, value in asdict(share).items()},
        "other_votes": list(measurement.other_votes),
        "words": [
            {
                "word": word.word,
                "votes": word.votes,
                "estimate": round(word.estimate, 1),
                "low": round(word.low, 1),
                "high": round(word.high, 1),
            }
            for word in measurement.words
        ],
    }


def _word(word: ReleasedWord) -> dict[str, object]:
    return {
        "word": word.word,
        "votes": word.votes,
        "estimate": round(word.estimate, 1),
        "low": round(word.low, 1),
        "high": round(word.high, 1),
        "layer": word.layer,
        "pass": word.pass_number,
    }


@dataclass(frozen=True)
class ReleaseDocument:
    """A release as it was read: the facts that claims follow from, typed, and the whole text as it stands."""

    provenance: Provenance
    simulated: bool
    """What the document says; its provenance may contradict it."""
    parameters: Parameters
    symbols: int
    users: int
    layers: tuple[LayerFacts, ...]
    words: tuple[ReleasedWord, ...]
    measurement: Measurement | None
    exposure: Exposure
    privacy: Mapping[str, object]
    whole: Mapping[str, object]
    digest: str
    """What the digest should be."""


def read_release_file(path: Path) -> ReleaseDocument:
    """The release in a file, or a ReleaseError that says why it is none."""
    with path.open("rb") as file:
        return decode_release(file.read(LARGEST_FILE + 1), path)


def _parameters(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a release; one from before there was a promise makes none."""
    return {
        each.name: stated[each.name] for each in fields(Parameters) if each.default is MISSING or each.name in stated
    }


def decode_release(text: bytes, source: Path | str) -> ReleaseDocument:
    """The release in a text, or a ReleaseError that says why it is none; `source` says in errors where it came from."""
    if len(text) > LARGEST_FILE:
        raise ReleaseError(f"{source} has more than {LARGEST_FILE >> 20:,} MiB; give the release.json of a discovery")
    try:
        whole = json.loads(text, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{source} is cut or no JSON; give the release.json of a discovery") from error
    if _deeper_than(whole, DEEPEST_NESTING):
        raise ReleaseError(f"{source} is nested too deeply; give the release.json of a discovery")
    if not isinstance(whole, dict) or "format" not in whole:
        raise ReleaseError(f"{source} does not say which format it has; give the release.json of a discovery")
    if whole["format"] not in (FORMAT_WITH_SCORE, FORMAT):
        raise ReleaseError(
            f"{source} has format {whole['format']!r}, and this neologue reads {FORMAT}; use a newer one"
        )
    try:
        said = digest(whole)
        stated = whole["parameters"]
        provenance = Provenance(
            msgspec.convert(whole["population"]["description"], str),
            msgspec.convert(whole["fidelity"], str),
            msgspec.convert(whole["seed"], int | None),
        )
        older = whole["format"] == FORMAT_WITH_SCORE
        return ReleaseDocument(
            provenance=provenance,
            simulated=provenance.simulated if older else msgspec.convert(whole["simulated"], bool),
            parameters=msgspec.convert(_parameters(stated), Parameters),
            symbols=msgspec.convert(stated["alphabet"]["symbols"], int),
            users=msgspec.convert(whole["population"]["users"], int),
            layers=msgspec.convert([_pass_number(row) for row in whole["layers"]], tuple[LayerFacts, ...]),
            words=msgspec.convert([_pass_number(row) for row in whole["words"]], tuple[ReleasedWord, ...]),
            measurement=msgspec.convert(whole.get("measurement"), Measurement | None),
            exposure=msgspec.convert(whole["exposure"], Exposure),
            privacy=({"applies_to": APPLIES_TO[provenance.source]} if older else {})
            | msgspec.convert(whole["privacy"], dict[str, Any]),
            whole=whole,
            digest=said,
        )
    except KeyError as error:
        raise ReleaseError(f"{source} lacks {error}; give the release.json of a discovery") from error
    except (msgspec.ValidationError, TypeError, AttributeError, ParameterError, SignatureError) as error:
        raise ReleaseError(f"{source} is not what a discovery writes: {error}") from error


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of equal ones, another reader may take another."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _deeper_than(value: object, levels: int) -> bool:
    inside = [value]
    for _ in range(levels):
        inside = [
            each
            for outer in inside
            if isinstance(outer, dict | list)
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(inside)


def _pass_number(row: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a file has in its place
    return {"pass_number" if name == "pass" else name: value for name, value in row.items()}
