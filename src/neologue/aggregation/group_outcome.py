"""What a group of secure aggregation yields: one sum, or nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GroupSum:
    """What a group yields."""

    votes: NDArray[np.uint32]
    """For each entry the sum of the votes, right if no device has cheated: under a mask no vote can be checked."""
    counted: frozenset[bytes]
    """The devices whose votes they are, as the service knows them."""

    @property
    def devices(self) -> int:
        """How many devices' votes they are."""
        return len(self.counted)


@dataclass(frozen=True)
class NoSum:
    """That a group yields nothing, now and for ever."""

    reason: str
    false: frozenset[bytes] = frozenset()
    """The devices that are proved to have shared something else than their secrets, as the service knows them."""
