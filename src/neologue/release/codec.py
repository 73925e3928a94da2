"""`release.json`: a release as one document, the same bytes for the same release, written and read here alone.

The fields are part of the interface; `docs/release.md` describes each. A document is made of a release, which knows its
parameters, the numbers of reports and what was decided from sums, and of a provenance: neither has access to what users
hold, so that everything in it is covered by its privacy statement. What is read is less than the release that was
written: a document names the known words and the targets by their number and digest, and holds none of them. What the
devices of each layer were asked is in the layer's own document, which travels beside (`neologue.release.layer_archive`)
and whose digest is here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from neologue.campaign.campaign import Campaign
from neologue.campaign.parameters import Parameters
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import LayerFacts, Release, ReleasedPrefix, ReleasedWord
from neologue.errors import ParameterError, ReleaseError, SignatureError
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.statement import APPLIES_TO, Exposure, Source, privacy_statement
from neologue.protocol.signed_document import digest, unambiguous
from neologue.release.facts import release_facts
from neologue.release.older_formats import (
    FORMAT_WITH_SCORE,
    LACKING_PARAMETERS,
    PER_PASS_FORMATS,
    check_trie,
    promise_of_format,
    said_in_format,
)
from neologue.release.planting import planting_in

FORMAT = 3
FORMATS = (*PER_PASS_FORMATS, FORMAT)
"""The older ones name neither their campaign nor the documents of their layers, and promise less."""
LIVE = "live"
"""The fidelity of reports from people's own devices."""
REHEARSAL = "rehearsal"
"""The fidelity of reports from real clients that the operator runs, with simulated or recorded words."""
SIMULATED = ("fast", "exact", "devices")
FIDELITIES = (LIVE, REHEARSAL, *SIMULATED)
SOURCES = {LIVE: Source.DEVICES, REHEARSAL: Source.REHEARSAL}
"""Where votes come from that are not simulated; those of all other fidelities are drawn from records."""
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
    campaign: str | None = None
    """The identity that devices were invited with, in hexadecimal; None if no device was invited."""

    @property
    def simulated(self) -> bool:
        """Whether anyone can compute the randomness again, so that nothing is promised to real people."""
        return self.seed is not None

    @property
    def source(self) -> Source:
        """Where the votes come from."""
        if self.simulated:
            return Source.SIMULATION
        return SOURCES.get(self.fidelity, Source.RECORDS)


@dataclass(frozen=True)
class AlphabetSaid:
    """What a release says of the alphabet."""

    name: str
    symbols: int


@dataclass(frozen=True)
class KnownSaid:
    """What a release says of the known words."""

    source: str
    words: int
    digest: str


def release_document(release: Release, provenance: Provenance) -> dict[str, object]:
    """The release as plain values."""
    said = _said(
        provenance,
        provenance.simulated,
        release.campaign.profile,
        parameters_document(release.campaign),
        release.campaign.users,
        release.layers,
        release.words,
        release.prefixes,
        release.measurement,
        release.exposure,
        release.warnings,
        privacy_statement(release_facts(release), provenance.source),
        planting_in(
            release.campaign.parameters, release.campaign.users, release.layers, release.words, release.exposure
        ).document(),
    )
    return {**said, "digest": digest(said)}


def written_again(
    document: "ReleaseDocument", privacy: Mapping[str, object], planting: Mapping[str, object]
) -> dict[str, object]:
    """What was read of a release, as it is written in the release's format, with these claims: there is no more."""
    said = _said(
        document.provenance,
        document.simulated,
        document.profile,
        _parameters(document.parameters, document.alphabet, document.known, document.targets),
        document.users,
        document.layers,
        document.words,
        document.prefixes,
        document.measurement,
        document.exposure,
        document.warnings,
        privacy,
        planting,
    )
    return said_in_format(document.format, said)


def _said(
    provenance: Provenance,
    simulated: bool,
    profile: str,
    parameters: Mapping[str, object],
    users: int,
    layers: Iterable[LayerFacts],
    words: Iterable[ReleasedWord],
    prefixes: Iterable[ReleasedPrefix],
    measurement: Measurement | None,
    exposure: Exposure,
    warnings: Iterable[str],
    privacy: Mapping[str, object],
    planting: Mapping[str, object],
) -> dict[str, object]:
    """All that a release says; its digest and signature come to it."""
    return {
        "format": FORMAT,
        "campaign": provenance.campaign,
        "profile": profile,
        "parameters": parameters,
        "fidelity": provenance.fidelity,
        "simulated": simulated,
        "seed": provenance.seed,
        "population": {"users": users, "description": provenance.population},
        "layers": [_layer(facts) for facts in layers],
        "words": [_word(word) for word in words],
        "prefixes": [_prefix(kept) for kept in prefixes],
        "measurement": measurement and _measurement(measurement),
        "exposure": asdict(exposure),
        "warnings": list(warnings),
        "privacy": privacy,
        "planting": planting,
    }


def release_text(document: Mapping[str, object]) -> str:
    """The document as text."""
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def parameters_document(campaign: Campaign) -> dict[str, object]:
    """The parameters of a campaign as plain values."""
    alphabet, known, targets = campaign.alphabet, campaign.known, campaign.targets
    return _parameters(
        campaign.parameters,
        AlphabetSaid(alphabet.name, alphabet.size),
        KnownSaid(known.source, len(known), known.digest),
        None if targets is None else len(targets),
    )


def _parameters(
    parameters: Parameters, alphabet: AlphabetSaid, known: KnownSaid, targets: int | None
) -> dict[str, object]:
    return {**parameters.as_dict(), "alphabet": asdict(alphabet), "known": asdict(known), "targets": targets}


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
        "digest": measurement.digest,
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
        "since": word.since,
    }


def _prefix(kept: ReleasedPrefix) -> dict[str, object]:
    return {
        "prefix": kept.prefix,
        "votes": kept.votes,
        "estimate": round(kept.estimate, 1),
        "low": round(kept.low, 1),
        "high": round(kept.high, 1),
        "layer": kept.layer,
        "pass": kept.pass_number,
    }


@dataclass(frozen=True)
class ReleaseDocument:
    """A release as it was read: the facts that claims follow from, typed, and the whole text as it stands."""

    format: int
    provenance: Provenance
    simulated: bool
    """What the document says; its provenance may contradict it."""
    parameters: Parameters
    anonymity: AnonymityPromise
    """What was promised of strings that few report; releases of older formats promised less."""
    profile: str
    alphabet: AlphabetSaid
    known: KnownSaid
    targets: int | None
    """How many words devices were limited to, if they were."""
    users: int
    layers: tuple[LayerFacts, ...]
    words: tuple[ReleasedWord, ...]
    prefixes: tuple[ReleasedPrefix, ...]
    """Where words lie that were not asked about; releases of older formats do not say it."""
    measurement: Measurement | None
    exposure: Exposure
    warnings: tuple[str, ...]
    """What the operator says of votes that honest devices could hardly have sent."""
    privacy: Mapping[str, object]
    planting: Mapping[str, object]
    """How many words hostile devices can have planted; releases of older formats do not say it."""
    whole: Mapping[str, object]
    digest: str
    """What the digest should be."""


def read_release_file(path: Path) -> ReleaseDocument:
    """The release in a file, or a ReleaseError that says why it is none."""
    with path.open("rb") as file:
        return decode_release(file.read(LARGEST_FILE + 1), path)


def decode_release(text: bytes, source: Path | str) -> ReleaseDocument:
    """The release in a text, or a ReleaseError that says why it is none; `source` says in errors where it came from."""
    if len(text) > LARGEST_FILE:
        raise ReleaseError(f"{source} has more than {LARGEST_FILE >> 20:,} MiB; give the release.json of a discovery")
    try:
        whole = json.loads(text, object_pairs_hook=unambiguous)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{source} is not a complete JSON file; give the release.json of a discovery") from error
    if _deeper_than(whole, DEEPEST_NESTING):
        raise ReleaseError(f"{source} is nested too deeply; give the release.json of a discovery")
    if not isinstance(whole, dict) or "format" not in whole:
        raise ReleaseError(f"{source} does not say which format it has; give the release.json of a discovery")
    if whole["format"] not in FORMATS or isinstance(whole["format"], bool | float):
        raise ReleaseError(
            f"{source} has format {whole['format']!r}, and this neologue reads {FORMAT}; use a newer one"
        )
    try:
        said = digest(whole)
        check_trie(whole, source)
        stated = (LACKING_PARAMETERS if whole["format"] in PER_PASS_FORMATS else {}) | whole["parameters"]
        parameters = msgspec.convert({field.name: stated[field.name] for field in fields(Parameters)}, Parameters)
        provenance = Provenance(
            msgspec.convert(whole["population"]["description"], str),
            msgspec.convert(whole["fidelity"], str),
            msgspec.convert(whole["seed"], int | None),
            msgspec.convert(whole["campaign"], str | None) if whole["format"] == FORMAT else None,
        )
        older = whole["format"] == FORMAT_WITH_SCORE
        exposure = msgspec.convert(whole["exposure"], Exposure)
        return ReleaseDocument(
            format=whole["format"],
            provenance=provenance,
            simulated=provenance.simulated if older else msgspec.convert(whole["simulated"], bool),
            parameters=parameters,
            anonymity=replace(promise_of_format(whole["format"], parameters.anonymity), groups=exposure.masked),
            profile=msgspec.convert(whole["profile"], str),
            alphabet=msgspec.convert(stated["alphabet"], AlphabetSaid),
            known=msgspec.convert(stated["known"], KnownSaid),
            targets=msgspec.convert(stated["targets"], int | None),
            users=msgspec.convert(whole["population"]["users"], int),
            layers=msgspec.convert([_pass_number(row) for row in whole["layers"]], tuple[LayerFacts, ...]),
            words=msgspec.convert(_word_rows(whole["words"], whole["format"]), tuple[ReleasedWord, ...]),
            prefixes=msgspec.convert(_prefix_rows(whole), tuple[ReleasedPrefix, ...]),
            measurement=msgspec.convert(whole.get("measurement"), Measurement | None),
            exposure=exposure,
            privacy=({"applies_to": APPLIES_TO[provenance.source]} if older else {})
            | msgspec.convert(whole["privacy"], dict[str, Any]),
            warnings=msgspec.convert(whole["warnings"], tuple[str, ...]) if whole["format"] == FORMAT else (),
            planting=msgspec.convert(whole["planting"], dict[str, Any]) if whole["format"] == FORMAT else {},
            whole=whole,
            digest=said,
        )
    except KeyError as error:
        raise ReleaseError(f"{source} lacks {error}; give the release.json of a discovery") from error
    except (msgspec.ValidationError, TypeError, AttributeError, ParameterError, SignatureError) as error:
        raise ReleaseError(f"{source} is not what a discovery writes: {error}") from error


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


def _word_rows(rows: Any, number: int) -> list[dict[str, Any]]:  # noqa: ANN401 - whatever a file has in its place
    """The words as they stand in a release of some format; the older ones judged each by the votes of one layer."""
    named = [_pass_number(row) for row in rows]
    return named if number == FORMAT else [{**row, "since": row["layer"]} for row in named]


def _prefix_rows(whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The prefixes as they stand in a release; the older formats have none."""
    return [_pass_number(row) for row in whole["prefixes"]] if whole["format"] == FORMAT else []
