"""The randomizers there are, by name."""

from typing import Any

from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

RANDOMIZERS: Table[type[Randomizer[Any]]] = Table(
    "randomizer is called", "neologue.randomizers.registry", {kind.name: kind for kind in (Unary, SubsetSelection)}
)


def randomizer(name: str, candidates: int, epsilon: float, bound: int) -> Randomizer[Any]:
    """The randomizer of that name for a layer of so many candidates."""
    return RANDOMIZERS[name](candidates, epsilon, bound)
