"""The chances with which campaigns may have shown what few report: those of one, and added up over several.

A string that few people report in every campaign may be shown by any of them, so the chances add up. What holds over
all of them is what the weakest promises: the smallest k, and the fewest hostile devices.
"""

import math
from dataclasses import dataclass

from neologue.privacy.anonymity import AnonymityPromise


@dataclass(frozen=True)
class AnonymityChances:
    """At most how likely it is that something of few people was shown."""

    k: int
    """The users of a layer below whom `chance` holds; 0 if there is no such number."""
    chance: float
    """That what fewer than k users of a layer report was published; 1 without a k."""
    unique_chance: float
    """That a word of one user alone was shown; 1 without a promise."""
    hostile_devices: int
    """As many in any one layer as `unique_chance` allows for."""

    @classmethod
    def of(cls, promise: AnonymityPromise, *, masked: bool = False) -> "AnonymityChances":
        """Those of one campaign that kept its promise; under masks nothing holds against hostile devices."""
        return cls(
            k=promise.k,
            chance=1 - promise.alpha if promise.k else 1.0,
            unique_chance=promise.unique_chance or 1.0,
            hostile_devices=0 if masked else promise.hostile_devices,
        )

    def __add__(self, other: "AnonymityChances") -> "AnonymityChances":
        """Those of both together."""
        return AnonymityChances(
            k=min(self.k, other.k),
            chance=_sum(self.chance, other.chance),
            unique_chance=_sum(self.unique_chance, other.unique_chance),
            hostile_devices=min(self.hostile_devices, other.hostile_devices),
        )


def _sum(one: float, other: float) -> float:
    """The sum of two chances, rounded up."""
    return min(1.0, math.nextafter(one + other, math.inf))
