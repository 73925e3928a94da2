"""What a randomizer promises for one report."""

from dataclasses import dataclass


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
