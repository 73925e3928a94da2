"""The ε of a release at several shares of colluders, side by side."""

from typing import Any

import pytest

from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.collection import Batch
from neologue.privacy.colluders import cost_by_colluders
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts, privacy_statement


def facts(**changes: Any) -> PrivacyFacts:  # noqa: ANN401
    """A run of one layer."""
    told: dict[str, Any] = {
        "mechanism": "unary",
        "epsilon": 7.0,
        "words_per_user": 60,
        "delta": 1e-10,
        "colluders": 0.0,
        "layers": (LayerShown(Batch(20_000, 5_000), 100, 200),),
        "frontier": None,
        "anonymity": AnonymityPromise(10, 0.95),
        "exposure": Exposure(),
    }
    return PrivacyFacts(**told | changes)


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_each_share_is_what_a_statement_that_assumes_it_says(mechanism: str) -> None:
    costs = cost_by_colluders(facts(mechanism=mechanism))
    assert [cost.share for cost in costs] == [0.0, 0.1, 0.5]
    assert costs[0].item < costs[1].item < costs[2].item
    assert costs[0].user < costs[1].user < costs[2].user
    for cost in costs:
        statement: Any = privacy_statement(facts(mechanism=mechanism, colluders=cost.share))
        assert cost.item == statement["item_central"]["best"]
        assert cost.user == statement["user_central"]["best"]


def test_the_share_that_a_run_assumes_is_among_them() -> None:
    assert [cost.share for cost in cost_by_colluders(facts(colluders=0.25))] == [0.0, 0.1, 0.25, 0.5]
