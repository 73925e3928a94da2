"""`release.json`: a release as one document, the same bytes for the same release.

The fields are part of the interface; `docs/release.md` describes each.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict

from neologue.campaign.campaign import Campaign
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import LayerFacts, Release, ReleasedWord
from neologue.privacy.statement import privacy_statement
from neologue.release.facts import release_facts
from neologue.release.signature import digest

FORMAT = 1


def release_document(
    release: Release, *, population: str, fidelity: str, seed: int | None, score: Mapping[str, object] | None
) -> dict[str, object]:
    """The release as plain values; `seed` and `score` are None where people were asked, and not a simulation."""
    campaign = release.campaign
    said = {
        "format": FORMAT,
        "profile": campaign.profile,
        "parameters": parameters_document(campaign),
        "fidelity": fidelity,
        "seed": seed,
        "population": {"users": campaign.users, "description": population},
        "layers": [_layer(facts) for facts in release.layers],
        "words": [_word(word) for word in release.words],
        "measurement": release.measurement and _measurement(release.measurement),
        "score": score,
        "exposure": asdict(release.exposure),
        "privacy": privacy_statement(release_facts(release)),
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
