"""The interface of a randomizer, and the ones there are."""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import Entropy
from neologue.randomizers.channel import Channel
from neologue.randomizers.statement import LocalStatement
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

Report = TypeVar("Report")


class Randomizer(Protocol[Report]):
    """What a device does to its sample in one layer, and what the server can say of the sum."""

    @property
    def name(self) -> str:
        """What operators call it."""

    @property
    def channel(self) -> Channel:
        """How votes come through: estimator and variance."""

    @property
    def worst_ratio(self) -> Fraction:
        """The largest likelihood ratio of any report between samples that differ in one word."""

    @property
    def statement(self) -> LocalStatement:
        """What one report gives away, at most."""

    def randomize(self, held: NDArray[np.int64], entropy: Entropy) -> Report:
        """A report on the distinct candidates held, at most B."""

    def votes(self, report: Report) -> NDArray[np.int64]:
        """The candidates that a report votes for, with repetition."""

    @property
    def payload_bytes(self) -> int:
        """The length of a report, but for one in 2^40."""

    def encode(self, report: Report) -> bytes:
        """The report's bytes, of the same length for every user."""

    def decode(self, payload: bytes) -> Report:
        """The report in the bytes, or a ReportError."""


RANDOMIZERS: Mapping[str, type[Unary] | type[SubsetSelection]] = MappingProxyType(
    {kind.name: kind for kind in (Unary, SubsetSelection)}
)


def randomizer(name: str, candidates: int, epsilon: float, bound: int) -> Randomizer[Any]:
    """The randomizer of that name for a layer of so many candidates."""
    return RANDOMIZERS[name](candidates, epsilon, bound)
