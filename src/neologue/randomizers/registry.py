"""The randomizers there are, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

RANDOMIZERS: Mapping[str, type[Randomizer[Any]]] = MappingProxyType(
    {kind.name: kind for kind in (Unary, SubsetSelection)}
)


def randomizer(name: str, candidates: int, epsilon: float, bound: int) -> Randomizer[Any]:
    """The randomizer of that name for a layer of so many candidates."""
    return RANDOMIZERS[name](candidates, epsilon, bound)
