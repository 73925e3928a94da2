"""What a population may spend."""

import math
from dataclasses import dataclass
from decimal import Decimal

from neologue.errors import ParameterError
from neologue.privacy.levels import check_delta

UNITS = ("item", "user")


@dataclass(frozen=True)
class Budget:
    """The most that all campaigns of a population together may give away.

    >>> from decimal import Decimal
    >>> from neologue import Budget
    >>> Budget("user", epsilon=3.0, delta=1e-9).allows(2.5, Decimal(7))
    True
    """

    unit: str
    """What is protected: `item`, one word of a user, or `user`, all words of one."""
    epsilon: float
    """The central ε, composed over all campaigns."""
    delta: float
    """The δ of all campaigns together."""
    local_epsilon: float | None = None
    """The sum of the local ε of a word over all campaigns; None for any."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ParameterError(f"a budget is for one unit, item or user, not {self.unit!r}")
        check_delta(self.delta)
        for name, epsilon in (("epsilon", self.epsilon), ("local_epsilon", self.local_epsilon)):
            if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0):
                raise ParameterError(f"the {name} of a budget must be a number above 0, not {epsilon}: 3 is usual")

    def allows(self, epsilon: float, local_epsilon: Decimal) -> bool:
        """Whether the population may spend this much over all campaigns."""
        return epsilon <= self.epsilon and self.allows_locally(local_epsilon)

    def allows_locally(self, local_epsilon: Decimal) -> bool:
        """Whether the local ε of all campaigns may add up to this much."""
        return self.local_epsilon is None or local_epsilon <= decimal(self.local_epsilon)


def decimal(epsilon: float) -> Decimal:
    """The ε as it is written, so that 0.1 and 0.2 add up to 0.3."""
    return Decimal(repr(float(epsilon)))
