"""The privacy budget of a comparison, and what a method promises, in figures that mean the same for all methods.

An item is one distinct word of one user, with all its typings; neighbours differ in one replaced item, or in all items
of one user. A local figure holds against anyone who sees what a device sends, a central one against readers of what is
published. If a device reports only one word, the promise for a user is the same as for an item.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from neologue.errors import ParameterError
from neologue.privacy.levels import check_delta
from neologue.randomizers.thresholds import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon

MODELS = ("local", "central")
UNITS = ("item", "user")
STEPS = 1000
"""The search for a local ε goes in steps of 1 over this."""
UNSPENT = 1e-3
"""The share of the budget that may stay unspent, so that the search ends sooner."""
MOST_EPSILON = 1000.0


@dataclass(frozen=True)
class PrivacyGrant:
    """The ε that every method may spend, with its trust model and unit."""

    epsilon: float
    model: str = "local"
    """`local` or `central`. Methods that trust a server have no local ε: they get the same number as a central one."""
    unit: str = "item"
    """`item` or `user`."""
    delta: float = 1e-10

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and 0 < self.epsilon <= MOST_EPSILON):
            raise ParameterError(f"epsilon must be a number above 0 and at most {MOST_EPSILON:g}, not {self.epsilon}")
        for what, value, allowed in (("model", self.model, MODELS), ("unit", self.unit, UNITS)):
            if value not in allowed:
                raise ParameterError(f"the {what} must be one of {', '.join(allowed)}, not {value!r}")
        check_delta(self.delta)

    def local_epsilon(self, central: Callable[[float], float], words_per_user: int = 1) -> float:
        """The largest local ε of a word within the budget; `central` gives the central ε of a local one."""
        if self.model == "local":
            return check_epsilon(self.epsilon / (words_per_user if self.unit == "user" else 1))
        keeps, breaks = 0, math.floor(LARGEST_EPSILON * STEPS) + 1
        excess_of: dict[int, float] = {}
        step = breaks // 2
        while breaks - keeps > 1:
            excess = math.log(max(central(step / STEPS), SMALLEST_EPSILON) / self.epsilon)
            excess_of[step] = excess
            keeps, breaks = (step, breaks) if excess <= 0 else (keeps, step)
            if -UNSPENT <= excess <= 0:
                break
            # Increasing the local ε by 1 multiplies the central ε by about √e, or more.
            rise = 1 / (2 * STEPS)
            if keeps in excess_of and breaks in excess_of:
                rise = (excess_of[breaks] - excess_of[keeps]) / (breaks - keeps)
            step = min(max(step - math.ceil((excess + UNSPENT / 2) / max(rise, 1e-9)), keeps + 1), breaks - 1)
        if not keeps:
            raise ParameterError(
                f"not even a local epsilon of {max(1 / STEPS, SMALLEST_EPSILON):g} keeps a central epsilon of "
                f"{self.epsilon:g} for one {self.unit}; take more users or a larger epsilon"
            )
        return keeps / STEPS


@dataclass(frozen=True)
class Privacy:
    """The privacy that a run promises; None is no promise at all."""

    local_item: float | None
    local_user: float | None
    central_item: float | None
    central_user: float | None
    delta: float
    """The δ of the central figures."""
    basis: str
    """The theorems, and the trust that they assume."""

    def keeps(self, budget: PrivacyGrant) -> bool:
        """Whether the promise is at least what the budget asks for."""
        figures = {
            ("local", "item"): self.local_item,
            ("local", "user"): self.local_user,
            ("central", "item"): self.central_item,
            ("central", "user"): self.central_user,
        }
        promised = figures[budget.model, budget.unit]
        return promised is not None and promised <= budget.epsilon and self.delta <= budget.delta
