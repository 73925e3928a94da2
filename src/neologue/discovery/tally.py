"""The sum of the votes of a layer, and nothing of any one report."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Tally:
    """How many votes each candidate got, and from how many reports."""

    votes: NDArray[np.int64]
    reports: int

    @classmethod
    def of(cls, candidates: int, reports: Iterable[NDArray[np.int64]]) -> "Tally":
        """The sum of some reports' votes."""
        votes = np.zeros(candidates, np.int64)
        count = 0
        for count, cast in enumerate(reports, 1):  # noqa: B007 - the last count is the number of reports
            np.add.at(votes, cast, 1)
        return cls(votes, count)
