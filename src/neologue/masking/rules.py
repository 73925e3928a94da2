"""How a campaign forms the groups of its layers: the operator's choice, and what follows from it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from neologue.errors import ParameterError
from neologue.masking.neighbourhood import LARGEST_RATE, check_group, neighbourhood
from neologue.masking.terms import Promise

MOST_GROUPS = 1 << 30
WHOLE_NUMBERS = ("size", "smallest", "dropout", "corruption", "groups")


@dataclass(frozen=True)
class GroupRules:
    """The groups of a campaign; rates are in per cent."""

    size: int = 100
    """How many devices a group waits for."""
    smallest: int = 70
    """The fewest devices whose votes are summed; what every device is promised."""
    dropout: int = 20
    """The dropouts that a group survives."""
    corruption: int = 5
    """The share of all devices that may be corrupt, together with the server."""
    risk: float = 1e-6
    """The chance that any group of the campaign has more corrupt devices than it withstands."""
    groups: int = 1
    """The most groups of the campaign."""
    limited: bool = False
    """Whether a sum that no honest devices have is refused; versions that did not know it counted such sums."""

    def __post_init__(self) -> None:
        for name in WHOLE_NUMBERS:
            value = getattr(self, name)
            # Rules are read from releases too, and numbers of JSON may have a fraction.
            if isinstance(value, bool) or not isinstance(value, int):
                raise ParameterError(f"the {name} of groups must be a whole number, not {value!r}")
        if not isinstance(self.limited, bool):
            raise ParameterError(f"whether groups are limited is true or false, not {self.limited!r}")
        if not 0 <= self.corruption <= LARGEST_RATE:
            raise ParameterError(
                f"the share of corrupt devices must be 0 to {LARGEST_RATE} per cent, not {self.corruption}"
            )
        if not 0 < self.risk <= 0.5:
            raise ParameterError(
                f"the risk of too many corrupt devices must be above 0 and at most 0.5, not {self.risk:g}"
            )
        if not 1 <= self.groups <= MOST_GROUPS:
            raise ParameterError(f"a campaign has 1 to {MOST_GROUPS:,} groups, not {self.groups:,}")
        for devices in (self.smallest, self.size):
            check_group(devices, self.dropout, 0)
        if self._remaining(self.size) < self.smallest:
            raise ParameterError(
                f"of a group of {self.size:,} at least {self._remaining(self.size):,} devices stay, and "
                f"{self.smallest:,} must be in a sum: make the group larger, or the smallest sum or the dropouts fewer"
            )
        may_be = (
            f"{self.corrupt:,} of {self.size:,} devices may be corrupt (a share of {self.corruption} per cent, and a "
            f"risk of {self.risk:g} over {self.groups:,} groups)"
        )
        if not self.survives(self.size):
            raise ParameterError(
                f"{may_be}, so that {self._needed(self.size):,} must agree, and at least "
                f"{self._remaining(self.size):,} stay: that is no majority of honest devices; make the group larger, "
                "or the dropouts or the corrupt devices fewer"
            )
        if self.honest < 2:
            raise ParameterError(
                f"{may_be}, which leaves less than two honest ones in a sum of {self.smallest:,}: make the smallest "
                "sum larger, or the corrupt devices fewer"
            )
        neighbourhood(self.size, self.dropout, self.corrupt)
        neighbourhood(self.fewest, self.dropout, self.corrupt)

    def survives(self, devices: int) -> bool:
        """Whether so many devices are enough for a sum, if no more drop out than the group must survive."""
        return self._remaining(devices) >= self._needed(devices)

    @property
    def fewest(self) -> int:
        """The fewest devices that a group begins with, and with which all larger ones do as well."""
        return 1 + max(devices for devices in range(self.smallest - 1, self.size) if not self.survives(devices))

    @property
    def corrupt(self) -> int:
        """The most corrupt devices of a group."""
        return most_corrupt(self.size, self.corruption, self.risk, self.groups)

    @property
    def honest(self) -> int:
        """The fewest honest devices whose votes the server can have in one sum, all corrupt ones being in it."""
        return self.smallest - self.corrupt

    def promise(self, issuers: tuple[bytes, ...]) -> Promise:
        """What every device is promised, with those who vouch for the others."""
        return Promise(self.smallest, self.dropout, self.corrupt, issuers)

    def _remaining(self, devices: int) -> int:
        return devices - -(-devices * self.dropout // 100)

    def _needed(self, devices: int) -> int:
        """How many devices must agree on who survives, see `MaskingGroup.quorum`."""
        return max(self.smallest, (devices + self.corrupt) // 2 + 1)


def groups_of(devices: int, smallest: int) -> int:
    """The most groups of a campaign that expects so many devices: twice as many as can yield sums."""
    return max(1, min(MOST_GROUPS, 2 * -(-devices // max(1, smallest))))


@lru_cache(maxsize=256)
def most_corrupt(size: int, share: int, risk: float, groups: int) -> int:
    """The number that the corrupt devices of none of some groups exceed, but for a risk.

    Each device of a group is corrupt with a chance of `share` per cent; the risk of all groups is at most the sum of
    theirs. Integers throughout, so that nothing is rounded.
    """
    if not share:
        return 0
    allowed = Fraction(risk) / groups * 100**size
    above, ways = 0, share**size
    for number in range(size, 0, -1):
        above += ways
        if above > allowed:
            return number
        ways = ways * number * (100 - share) // ((size - number + 1) * share)
    return 0
