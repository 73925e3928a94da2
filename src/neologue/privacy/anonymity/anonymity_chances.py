"""The chances with which campaigns may have shown what few report: those of one, and added up over several.

A string that few people report in every campaign may be shown by any of them, so the chances add up. What holds over
all of them is what the weakest promises: the smallest k, and the fewest hostile devices.

Chances are decimals as they are written, so that 0.05 and 0.1 add up to 0.15: thresholds keep a relative 1e-9 away from
them, and what a double differs from its decimal is a millionth of that.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

from neologue.errors import ParameterError
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.levels import MOST_IN_A_PROMISE

_FIFTEEN: Final = Context(prec=15, rounding=ROUND_CEILING)
"""So many digits a double keeps."""


@dataclass(frozen=True)
class AnonymityChances:
    """At most how likely it is that something of few people was shown."""

    k: int
    """The users of the layers that judge a string below whom `chance` holds; 0 if there is no such number."""
    chance: float
    """That what fewer than k users report to the layers that judge it was published; 1 without a k."""
    unique_chance: float
    """That a word of one user alone was shown; 1 without a promise."""
    hostile_devices: int
    """As many in any one layer as `unique_chance` allows for."""

    def __post_init__(self) -> None:
        if not (self.k == 0 or 2 <= self.k <= MOST_IN_A_PROMISE):
            raise ParameterError(f"k must be 0, for no promise, or from 2 to {MOST_IN_A_PROMISE:,}, not {self.k}")
        for what, chance in (("k", self.chance), ("unique words", self.unique_chance)):
            if not 0 < chance <= 1:
                raise ParameterError(f"the chance for {what} must be above 0 and at most 1, not {chance}")
        if not self.k and self.chance < 1:
            raise ParameterError(f"a chance of {self.chance} for no k says nothing: give a k, or a chance of 1")
        if not 0 <= self.hostile_devices <= MOST_IN_A_PROMISE:
            raise ParameterError(f"hostile devices are from 0 to {MOST_IN_A_PROMISE:,}, not {self.hostile_devices}")

    @classmethod
    def of(cls, promise: AnonymityPromise) -> "AnonymityChances":
        """Those of one campaign that kept its promise."""
        k = promise.k if promise.k > 1 else 0
        return cls(
            k=k,
            chance=_round_up(1 - _written(promise.alpha)) if k else 1.0,
            unique_chance=promise.unique_chance or 1.0,
            hostile_devices=promise.withstood,
        )

    def __add__(self, other: "AnonymityChances") -> "AnonymityChances":
        """Those of both together."""
        return AnonymityChances(
            k=min(self.k, other.k),
            chance=_sum(self.chance, other.chance),
            unique_chance=_sum(self.unique_chance, other.unique_chance),
            hostile_devices=min(self.hostile_devices, other.hostile_devices),
        )


NO_PROMISE: Final = AnonymityChances(k=0, chance=1.0, unique_chance=1.0, hostile_devices=0)
"""Those of a campaign that promises nothing, or of which nobody knows what it promised."""


def _sum(one: float, other: float) -> float:
    return _round_up(_written(one) + _written(other))


def _written(chance: float) -> Decimal:
    return Decimal(repr(float(chance)))


def _round_up(chance: Decimal) -> float:
    """A chance in digits that a double keeps, so that it reads as no less than it is."""
    return min(1.0, float(_FIFTEEN.plus(chance)))
