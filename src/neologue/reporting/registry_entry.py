"""A release as an entry of the public registry of differential privacy deployments.

The fields are those of `schemas/deployments-schema.yaml` of OpenDP's registry, as of July 2026.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neologue.privacy.statement import Source
from neologue.release.codec import LIVE, ReleaseDocument
from neologue.reporting.legal_page import require_claim

SOURCE = "https://arxiv.org/abs/2404.11607"
"""The paper whose method this is."""
UNPROTECTED = (
    "The number of users and of reports in each round, the parameters, the alphabet and the list of known words are "
    "public and not protected."
)
OF_RECORDS = " Nor is it protected who is among the users, or on which days they typed."
INTEGERS = (
    "with integer thresholds on secure random bits, and therefore without floating-point arithmetic in the sampling"
)
SAMPLING = {
    LIVE: INTEGERS,
    "devices": INTEGERS,
    "exact": "with integer thresholds, on bits of a generator with a secret seed that is not made for cryptography",
    "fast": "whose sums are drawn from laws computed in floating point, by a generator with a secret seed that is not "
    "made for cryptography",
}
"""How the randomness of reports is drawn, by fidelity."""


ON_DEVICES = (
    "Reports are randomized on devices; the stated parameters are those of the sums of reports that readers see."
)
FROM_RECORDS = "The curator has the words of all users, and draws a randomized report for each."
MASKED = " Votes are masked in groups, and the server sees sums of groups."


@dataclass(frozen=True)
class Publication:
    """What a release does not say of itself."""

    name: str
    curator: str
    region: str
    published: str
    """As 2026-01-31."""
    author: str
    intended_use: str = "Find words that a vocabulary lacks."


def registry_entry(document: ReleaseDocument, about: Publication) -> dict[str, Any]:
    """The entry as plain values; a simulation, which makes no claim, is refused."""
    require_claim(document)
    statement: Any = document.privacy
    item, user = statement["item_central"]["best"], statement["user_central"]["best"]
    on_devices, masked = document.provenance.source is Source.DEVICES, document.exposure.masked is not None
    observers = "\n".join(
        f"- {each['who']}: sees {each['sees']}; ε = {each['item_epsilon']:g} for a word, "
        f"{each['user_epsilon']:g} for a whole user."
        for each in statement["trust"]["observers"]
    )
    return {
        "url_slug": slug(about.name, about.curator, about.published[:4]),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": about.name,
                "data_curators": [about.curator],
                "intended_use": about.intended_use,
                "data_product_type": "Summary statistics",
                "data_product_region": about.region,
                "description": f"{len(document.words):,} words that the known vocabulary lacks, with estimates of how "
                f"many of {document.users:,} users would report each.",
                "publication_date": about.published,
                "data_product_sector": "Technology",
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": f"The words that each user typed in the last {document.parameters.days} days.",
                "unprotected_quantities": UNPROTECTED + ("" if on_devices else OF_RECORDS),
            },
            "privacy_loss": {
                "privacy_unit": "User-level",
                "privacy_unit_details": f"{statement['neighbours']}. The unit of a word is {statement['unit']}.",
                "privacy_parameters": {"epsilon": user, "delta": statement["delta"]},
                "privacy_parameters_details": f"Against readers of the release: ε = {item:g} for one word and {user:g} "
                f"for a whole user." + (_local(statement) if on_devices else ""),
            },
            "deployment_model": {
                "model_name": "Federated" if on_devices else "Central",
                "model_name_details": (ON_DEVICES if on_devices else FROM_RECORDS) + (MASKED if masked else ""),
                "actors": observers,
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Votes are debiased, words without enough votes are dropped, and estimates get 95 % "
                "intervals.",
                "composition": "Each user is in one round. Rounds are composed as sums over different users: "
                f"{statement['user_central']['theorems']['best']}.",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Words are brought into one form and known words "
                "are left out. Whether parameters were chosen without looking at the data is the curator's to say.",
                "mechanisms": f"{statement['mechanism']}, {SAMPLING[document.provenance.fidelity]}; implemented by "
                "neologue. Every figure can be computed again with `neologue certify`.",
                "justification": f"Release digest {document.digest}.",
            },
            "administrative": {"sources": f"- Method: {SOURCE}", "registry_authors": [about.author]},
        },
    }


def _local(statement: Mapping[str, Any]) -> str:
    return (
        f" Against everyone, the server included (local model): ε = {statement['local_epsilon']:g} for one word and "
        f"{statement['user_local_epsilon']:g} for the up to {statement['words_per_user']} words of a report."
    )


def slug(*parts: str) -> str:
    """Parts of a name as a part of an address."""
    return "-".join(filter(None, (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)))


def to_yaml(value: Mapping[str, Any], indent: int = 0) -> str:
    """Nested mappings of texts, numbers and lists of texts as YAML; a text in quotes of JSON is one of YAML."""
    lines = []
    for name, inner in value.items():
        start = f"{' ' * indent}{name}:"
        if isinstance(inner, Mapping):
            lines.append(f"{start}\n{to_yaml(inner, indent + 2)}")
        elif isinstance(inner, list):
            lines.append("\n".join([start, *(f"{' ' * (indent + 2)}- {_scalar(each)}" for each in inner)]))
        else:
            lines.append(f"{start} {_scalar(inner)}")
    return "\n".join(lines)


def _scalar(value: object) -> str:
    # YAML 1.1 takes 1e-10 for a text: with a point it is a number.
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)
