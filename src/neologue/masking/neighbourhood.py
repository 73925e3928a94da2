"""How many neighbours a device of a group has, and how many of them it takes to give one of its secrets back.

Devices stand in a circle that their roster determines, and each is a neighbour of the k/2 next ones on either side (k
even), or of all others where the group is small. Say that of n devices C are corrupt, together with the server, chosen
before the circle is known. D drop out without regard to it. Then:

- An honest device's secret is known if t of its k neighbours are corrupt. They follow the hypergeometric law of k
  draws from n-1, C of them marked.
- Devices give away shares for one set of survivors alone. Whoever learns the sum of a part of its honest members, of
  whom none has a mask in common with the others, has t shares of a secret of each. Where that part ends, at two places
  of the circle, the k/2 devices beyond its last member hold no honest survivor, so that t - k/2 of them or more are
  corrupt. These two stretches don't overlap, and the corrupt devices in them are negatively associated: the chance is
  at most C(n,2)·q², q the hypergeometric tail of k/2 draws from n. It does not matter whom the server leaves out.
- The neighbours of a device that drop out are hypergeometric too, D marked. If more than k-t do, its secrets are lost
  and the group yields nothing.

The first two together have a probability of at most 2^-104: a server that tries 2^64 rosters finds a bad circle with a
chance of at most 2^-40. The last one has at most 2^-30. Of all that meet both, k is the smallest, and then t the
largest. All sums are of integers, without rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Final

from neologue.errors import ParameterError

SECURITY_BITS: Final = 40
ROSTERS_BITS: Final = 64
"""A server may try so many rosters, as a power of two, until it likes their circle."""
CORRECTNESS_BITS: Final = 30
SMALLEST_GROUP: Final = 3
LARGEST_GROUP: Final = 2_000
LARGEST_RATE: Final = 30
"""In per cent, of dropouts."""


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours that each device of a group has (k), and how many shares give a secret back (t)."""

    degree: int
    threshold: int


@lru_cache(maxsize=256)
def neighbourhood(size: int, dropout: int, corrupt: int) -> Neighbourhood:
    """The neighbourhood in a group of this size, where so many per cent drop out and so many devices are corrupt."""
    check_group(size, dropout, corrupt)
    dropped = -(-size * dropout // 100)
    if size - dropped - corrupt >= 2:
        for degree in (*range(2, size - 1, 2), size - 1):
            threshold = _largest_threshold(size, degree, dropped)
            if threshold and _is_secure(size, degree, threshold, corrupt):
                return Neighbourhood(degree, threshold)
    raise ParameterError(
        f"a group of {size:,} with {dropped:,} dropouts and {corrupt:,} corrupt devices can't be protected: "
        "make it larger, or the dropouts or the corrupt devices fewer"
    )


def check_group(size: int, dropout: int, corrupt: int) -> None:
    """Refuse a size, a rate of dropouts in per cent, or a number of corrupt devices that no group can have."""
    if not SMALLEST_GROUP <= size <= LARGEST_GROUP:
        raise ParameterError(f"a group has {SMALLEST_GROUP} to {LARGEST_GROUP:,} devices, not {size:,}")
    if not 0 <= dropout <= LARGEST_RATE:
        raise ParameterError(f"the rate of dropouts must be 0 to {LARGEST_RATE} per cent, not {dropout}")
    if not 0 <= corrupt <= LARGEST_GROUP:
        raise ParameterError(f"the corrupt devices of a group must be 0 to {LARGEST_GROUP:,}, not {corrupt:,}")


def _largest_threshold(size: int, degree: int, dropped: int) -> int:
    """The most shares that are at hand for every secret, but for one group in 2^30; 0 if there are none."""
    lost, allowed = 0, comb(size - 1, degree) >> CORRECTNESS_BITS
    for missing, ways in _ways(size - 1, degree, dropped):
        lost += size * ways
        if lost > allowed:  # one more is missing seldom enough
            return degree - missing
    return degree


def _is_secure(size: int, degree: int, threshold: int, corrupt: int) -> bool:
    """Whether no secret is known, and no part of the sum, but for one circle in 2^104."""
    if degree == size - 1:
        return corrupt < threshold
    half = degree // 2
    if threshold <= half:
        return False
    known, circles = (size - corrupt) * _tail(size - 1, degree, corrupt, threshold), comb(size - 1, degree)
    cut, stretches = comb(size, 2) * _tail(size, half, corrupt, threshold - half) ** 2, comb(size, half) ** 2
    return (known * stretches + cut * circles) << (SECURITY_BITS + ROSTERS_BITS) <= circles * stretches


def _tail(devices: int, drawn: int, marked: int, least: int) -> int:
    """In how many draws from some devices at least so many are marked."""
    return sum(ways for number, ways in _ways(devices, drawn, marked) if number >= least)


def _ways(devices: int, drawn: int, marked: int) -> Iterator[tuple[int, int]]:
    """In how many draws from some devices so many are marked, from the most to none."""
    others = devices - marked
    most = min(marked, drawn)
    ways = comb(marked, most) * comb(others, drawn - most)
    for number in range(most, -1, -1):
        yield number, ways
        ways = ways * number * (others - drawn + number) // ((marked - number + 1) * (drawn - number + 1))
