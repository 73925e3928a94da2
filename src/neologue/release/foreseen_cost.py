"""What a campaign costs by facts that are foreseen, if all users answer or as few as a promise has room for."""

from dataclasses import replace
from functools import lru_cache

from neologue.campaign.promise import WITH_DROPOUTS
from neologue.privacy.collection import Collection
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import LayerShown, PrivacyFacts


def reader_epsilon(facts: PrivacyFacts, unit: str) -> float:
    """The central ε of what readers of the release see."""
    return _central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, unit)


@lru_cache(maxsize=256)
def _central_epsilon(collection: Collection, delta: float, unit: str) -> float:
    return central_epsilon(collection, delta, unit)


def holding_at_most(facts: PrivacyFacts, words: int) -> PrivacyFacts:
    """The facts as they are for users who hold at most so many words, if reports are unary: noise is then the same."""
    planned = (replace(layer, words=min(layer.words or words, words)) for layer in facts.allocation.layers)
    return replace(facts, words_per_user=words, allocation=replace(facts.allocation, layers=tuple(planned)))


def with_dropouts(facts: PrivacyFacts) -> PrivacyFacts:
    """The facts if as many users stay away as a promise has room for."""

    def fewer(layer: LayerShown) -> LayerShown:
        return replace(layer, batch=replace(layer.batch, reports=max(1, int(layer.batch.reports * WITH_DROPOUTS))))

    return replace(facts, layers=tuple(map(fewer, facts.layers)))
