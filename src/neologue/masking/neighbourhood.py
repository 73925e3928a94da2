"""How many neighbours a device of a group has, and how many of them it takes to give one of its secrets back.

Devices stand in a random circle, and each is a neighbour of the k/2 next ones on either side (k even), or of all others
where the group is small. Say that of n devices C are corrupt, together with the server, and D drop out, both chosen
without regard to the circle. Then, exactly:

- The corrupt neighbours of an honest device follow the hypergeometric law of k draws from n-1, C of them marked. Each
  other neighbour gives away a share of one of its two secrets and never of both. So if c neighbours are corrupt, even a
  server that tells different neighbours different things learns both secrets only if 2t ≤ k + c.
- The m = n-C-D honest devices that stay are cut into parts, whose sums could be told apart, only if two gaps between
  neighbouring ones of them are k/2 or longer. The gaps are a uniform composition of C+D into m parts, so that this
  has a probability of at most C(m,2)·C(C+D,k)/C(n-1,k).
- The neighbours of a device that drop out are hypergeometric too, D marked. If more than k-t do, its secrets are lost
  and the group yields nothing.

The first two together have a probability of at most 2^-40, over all devices of a group, and the last one of at most
2^-30. Of all that meet both, k is the smallest, and then t the largest. All sums are of integers, without rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Final

from neologue.errors import ParameterError

SECURITY_BITS: Final = 40
CORRECTNESS_BITS: Final = 30
SMALLEST_GROUP: Final = 3
LARGEST_GROUP: Final = 2_000
LARGEST_RATE: Final = 30
"""In per cent, of dropouts and of corrupt devices each."""


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours that each device of a group has (k), and how many shares give a secret back (t)."""

    degree: int
    threshold: int


@lru_cache(maxsize=256)
def neighbourhood(size: int, dropout: int, corruption: int) -> Neighbourhood:
    """The neighbourhood in a group of this size, where at most so many per cent drop out and are corrupt."""
    check_group(size, dropout, corruption)
    dropped, corrupt = -(-size * dropout // 100), -(-size * corruption // 100)
    if size - dropped - corrupt >= 2:
        for degree in (*range(2, size - 1, 2), size - 1):
            threshold = _largest_threshold(size, degree, dropped)
            if threshold and _is_secure(size, degree, threshold, dropped, corrupt):
                return Neighbourhood(degree, threshold)
    raise ParameterError(
        f"a group of {size:,} with {dropped:,} dropouts and {corrupt:,} corrupt devices can't be protected: "
        "make it larger, or the rates smaller"
    )


def check_group(size: int, dropout: int, corruption: int) -> None:
    """Refuse a size, or rates in per cent, that no group can have."""
    if not SMALLEST_GROUP <= size <= LARGEST_GROUP:
        raise ParameterError(f"a group has {SMALLEST_GROUP} to {LARGEST_GROUP:,} devices, not {size:,}")
    for what, rate in (("dropouts", dropout), ("corrupt devices", corruption)):
        if not 0 <= rate <= LARGEST_RATE:
            raise ParameterError(f"the rate of {what} must be 0 to {LARGEST_RATE} per cent, not {rate}")


def _largest_threshold(size: int, degree: int, dropped: int) -> int:
    """The most shares that are at hand for every secret, but for one group in 2^30; 0 if there are none."""
    lost, allowed = 0, comb(size - 1, degree) >> CORRECTNESS_BITS
    for missing, ways in _ways(size, degree, dropped):
        lost += size * ways
        if lost > allowed:  # one more is missing seldom enough
            return degree - missing
    return degree


def _is_secure(size: int, degree: int, threshold: int, dropped: int, corrupt: int) -> bool:
    """Whether no secret is known, and no part of the sum, but for one group in 2^40."""
    honest, enough = size - corrupt, 2 * threshold - degree
    known = honest * sum(ways for number, ways in _ways(size, degree, corrupt) if number >= enough)
    cut = comb(honest - dropped, 2) * comb(dropped + corrupt, degree)
    return known + cut <= comb(size - 1, degree) >> SECURITY_BITS


def _ways(size: int, degree: int, marked: int) -> Iterator[tuple[int, int]]:
    """In how many neighbourhoods of one device so many of its neighbours are marked, from the most to none."""
    others = size - 1 - marked
    most = min(marked, degree)
    ways = comb(marked, most) * comb(others, degree - most)
    for number in range(most, -1, -1):
        yield number, ways
        ways = ways * number * (others - degree + number) // ((marked - number + 1) * (degree - number + 1))
