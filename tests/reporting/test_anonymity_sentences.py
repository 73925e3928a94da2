"""What is said of words that few report is exactly what the statement promises."""

from typing import Any

from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.collection import Batch
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts, privacy_statement
from neologue.release.older_formats import statement_of_format
from neologue.reporting.sentences import anonymity_lines

PROMISE = AnonymityPromise(10, 0.95, 1e-6, 2)


def stated(promise: AnonymityPromise, exposure: Exposure | None = None) -> dict[str, Any]:
    layers = (LayerShown(Batch(50_000, 100_000), 0, 0),)
    return privacy_statement(PrivacyFacts("unary", 8.0, 60, 1e-10, 0.0, layers, None, promise, exposure or Exposure()))


def test_both_promises_are_told_with_what_they_rest_on() -> None:
    k, unique, protects = anonymity_lines(stated(PROMISE))
    assert k == (
        "k-anonymity: what fewer than 10 users report to the layers that judge it is published with a chance of at "
        "most 0.05, over the whole release."
    )
    assert unique == (
        "Unique words: a word, or a beginning of it, that one user alone reports is shown with a chance of at most "
        "1e-06, over the whole release, even if 2 devices of a layer are hostile."
    )
    assert "and one that 9 users report with a chance of at most " in protects
    assert protects.endswith("of the layers that judge them, if no user has more than 60 words to report.")


def test_under_masks_without_limits_no_sentence_claims_anything_against_hostile_devices() -> None:
    _, unique, _ = anonymity_lines(stated(PROMISE, Exposure(masked=GroupRules())))
    assert unique.endswith("if no device of its layer is hostile.")


def test_what_is_not_promised_is_said_to_be_not_promised() -> None:
    k, unique = anonymity_lines(stated(AnonymityPromise(0, 0.95)))
    assert k == "k-anonymity: none for the run: no threshold on the votes is set."
    assert unique == "Unique words: no promise, as no threshold for it is set."


def test_of_an_older_release_no_more_is_said_than_it_promised() -> None:
    (k,) = anonymity_lines(statement_of_format(2, stated(PROMISE)))
    assert "from that layer with a chance of at most 0.05" in k
