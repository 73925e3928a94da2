"""What readers of a release learn if some of the devices work with them, for several shares of devices side by side."""

from dataclasses import dataclass
from functools import lru_cache

from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import PrivacyFacts

SHARES = (0.0, 0.1, 0.5)
"""The shares of colluders that are always shown."""


@dataclass(frozen=True)
class ColluderCost:
    """The central ε of a release for readers with whom a share of the devices of every layer works."""

    share: float
    item: float
    user: float


@lru_cache(maxsize=16)
def cost_by_colluders(facts: PrivacyFacts) -> tuple[ColluderCost, ...]:
    """The central ε at each share, and at the one that the statement assumes."""
    return tuple(
        ColluderCost(share, *(central_epsilon(seen, facts.delta, unit) for unit in ("item", "user")))
        for share in sorted({*SHARES, facts.colluders})
        for seen in (facts.collection.in_sums_of(None, share),)
    )
