"""What a randomizer promises for one report, and the check that it was asked for no more."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LocalStatement:
    """The local privacy of one report, whoever sees it, with no trust in anyone."""

    mechanism: str
    epsilon: float
    """The ε asked for: what one replaced word can change, in any report."""
    enforced_epsilon: float
    """The ε of the integer thresholds that the sampler uses, rounded up; at most `epsilon`."""
    bound: int
    """The largest number of words in one report."""

    @property
    def user_epsilon(self) -> float:
        """What a user who replaces every word can change: each of B words costs ε."""
        return self.bound * self.epsilon


def check_held(held: NDArray[np.int64], candidates: int, bound: int) -> None:
    """Refuse a sample that the privacy statement does not cover. The message names no candidate."""
    if len(held) > bound:
        raise ValueError(f"{len(held)} candidates held, but a report covers at most {bound}")
    if len(held) and (held.min() < 0 or held.max() >= candidates or len(np.unique(held)) != len(held)):
        raise ValueError("held candidates must be distinct and inside the layer")
