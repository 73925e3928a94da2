"""What is said of words that few report is exactly what the statement promises."""

from typing import Any

from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.collection import Batch
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts, privacy_statement
from neologue.release.older_formats import statement_of_format
from neologue.reporting.short_facts import rare_facts, threshold_facts

PROMISE = AnonymityPromise(10, 0.95, 1e-6, 2)


def stated(promise: AnonymityPromise, exposure: Exposure | None = None) -> dict[str, Any]:
    layers = (LayerShown(Batch(50_000, 100_000), 0, 0),)
    return privacy_statement(PrivacyFacts("unary", 8.0, 60, 1e-10, 0.0, layers, None, promise, exposure or Exposure()))


def test_both_promises_are_told_with_what_they_rest_on() -> None:
    k, unique = rare_facts(stated(PROMISE))
    assert k == ("rare words", "what fewer than 10 users report is published with a chance of at most 0.05")
    assert unique == (
        "unique words",
        "what one user alone reports is shown with a chance of at most 1e-06, even if 2 devices of a layer are hostile",
    )
    chances, below = threshold_facts(stated(PROMISE))
    assert "one that 9 users report with a chance of at most " in chances.text
    assert below.text.endswith("of the layers that judge them, if no user has more than 60 words to report")


def test_under_masks_without_limits_no_sentence_claims_anything_against_hostile_devices() -> None:
    _, unique = rare_facts(stated(PROMISE, Exposure(masked=GroupRules())))
    assert unique.text.endswith("if no device of its layer is hostile")


def test_what_is_not_promised_is_said_to_be_not_promised() -> None:
    k, unique = rare_facts(stated(AnonymityPromise(0, 0.95)))
    assert k.text == "no k-anonymity: no threshold on the votes is set"
    assert unique.text == "no promise, as no threshold for it is set"
    assert threshold_facts(stated(AnonymityPromise(0, 0.95))) == []


def test_of_an_older_release_no_more_is_said_than_it_promised() -> None:
    statement = statement_of_format(2, stated(PROMISE))
    (k,) = rare_facts(statement)
    assert "is published from that layer with a chance of at most 0.05" in k.text
    assert threshold_facts(statement) == []
