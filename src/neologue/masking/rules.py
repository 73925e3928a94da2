"""How a campaign forms the groups of its layers: the operator's choice, and what follows from it."""

from dataclasses import dataclass

from neologue.errors import ParameterError
from neologue.masking.neighbourhood import check_group, neighbourhood
from neologue.masking.terms import Promise


@dataclass(frozen=True)
class GroupRules:
    """The groups of a campaign; rates are in per cent."""

    size: int = 100
    """How many devices a group waits for."""
    smallest: int = 50
    """The fewest devices whose votes are summed; what every device is promised."""
    dropout: int = 20
    """The dropouts that a group survives."""
    corruption: int = 5
    """The corrupt devices that it withstands, together with the server."""

    def __post_init__(self) -> None:
        check_group(self.smallest, self.dropout, self.corruption)
        check_group(self.size, self.dropout, self.corruption)
        if not self.survives(self.size):
            raise ParameterError(
                f"of a group of {self.size:,} at least {self._remaining(self.size):,} devices stay, and "
                f"{self.smallest:,} must be in a sum: make the group larger, or the smallest sum or the dropouts fewer"
            )
        if self.honest < 2:
            raise ParameterError(
                f"{self.corrupt:,} of {self.size:,} devices may be corrupt, which leaves less than two honest ones in "
                f"a sum of {self.smallest:,}: make the smallest sum larger, or the corrupt devices fewer"
            )
        neighbourhood(self.size, self.dropout, self.corruption)
        neighbourhood(self.fewest, self.dropout, self.corruption)

    def survives(self, devices: int) -> bool:
        """Whether so many devices are enough for a sum, if no more drop out than the group must survive."""
        return self._remaining(devices) >= self.smallest

    @property
    def fewest(self) -> int:
        """The fewest devices that a group begins with."""
        return next(devices for devices in range(self.smallest, self.size + 1) if self.survives(devices))

    @property
    def corrupt(self) -> int:
        """The most corrupt devices of a group."""
        return -(-self.size * self.corruption // 100)

    @property
    def honest(self) -> int:
        """The fewest honest devices whose votes the server can have in one sum, all corrupt ones being in it."""
        return self.smallest - self.corrupt

    @property
    def promise(self) -> Promise:
        """What every device is promised."""
        return Promise(self.smallest, self.corruption)

    def _remaining(self, devices: int) -> int:
        return devices - -(-devices * self.dropout // 100)
