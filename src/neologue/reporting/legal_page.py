"""One page for a lawyer, made from a release: what was collected, what it can reveal, and drafts to start from."""

import math
from dataclasses import dataclass
from typing import Any

from neologue import __version__
from neologue.errors import ReleaseError
from neologue.privacy.scale import certainty, chance_of_exception
from neologue.privacy.statement import Source
from neologue.release.certification.operator_word import operator_word
from neologue.release.codec import ReleaseDocument
from neologue.release.facts import fewest_by_chance
from neologue.reporting.html_page import render
from neologue.reporting.published_deployments import DEPLOYMENTS, REGISTRY


@dataclass(frozen=True)
class ObserverRow:
    """What one observer sees, and how certain they can become."""

    who: str
    sees: str
    item_epsilon: float
    user_epsilon: float
    item_certainty: str
    """Of somebody who took both for equally likely before: that a person typed a word."""
    user_certainty: str


def legal_page(document: ReleaseDocument) -> str:
    """The page as HTML, to be printed."""
    require_claim(document)
    statement: Any = document.privacy
    observers = [
        ObserverRow(
            each["who"],
            each["sees"],
            each["item_epsilon"],
            each["user_epsilon"],
            shown_certainty(each["item_epsilon"]),
            shown_certainty(each["user_epsilon"]),
        )
        for each in statement["trust"]["observers"]
    ]
    return render(
        "legal.html",
        version=__version__,
        document=document,
        statement=statement,
        parameters=document.parameters,
        reports=sum(layer.reports for layer in document.layers),
        observers=observers,
        chance_of_exception=chance_of_exception(statement["delta"]),
        chosen_by_chance=chosen_by_chance(document),
        on_devices=document.provenance.source is Source.DEVICES,
        deployments=DEPLOYMENTS,
        registry=REGISTRY,
        words_of_operator=operator_word(document),
    )


def require_claim(document: ReleaseDocument) -> None:
    """Refuse a release that makes no privacy claim for people."""
    source = Source.SIMULATION if document.simulated else document.provenance.source
    if source in (Source.SIMULATION, Source.REHEARSAL):
        raise ReleaseError(
            f"this release is a {source.value} and makes no privacy claim for people: give one of people's own devices "
            "or data"
        )


def shown_certainty(epsilon: float) -> str:
    """How certain somebody can become who began with even odds, rounded up."""
    share = certainty(epsilon)
    if share > 0.99995:
        return "almost certain"
    return f"{math.ceil(share * 10_000) / 100:g} %"


def chosen_by_chance(document: ReleaseDocument) -> str:
    """How many words of a report are there by chance, in the round that has the fewest of them."""
    fewest = fewest_by_chance(document.parameters, document.layers)
    return f"about {fewest:,.0f} others" if fewest >= 1 else "hardly any others"
