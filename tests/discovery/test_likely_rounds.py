"""How far the candidates of a layer go: the largest limit within which there is room, found in few steps."""

import random
from bisect import bisect_right
from itertools import accumulate

import pytest

from neologue.layout.likely_rounds import largest_fitting


@pytest.mark.parametrize("seed", range(20))
def test_the_limit_is_the_largest_that_fits_however_sizes_grow(seed: int) -> None:
    lots = random.Random(seed)
    most = lots.randint(1, 300)
    sizes = list(accumulate(lots.choice((0, 0, lots.randint(1, 9), 10 ** lots.randint(0, 6))) for _ in range(most)))
    for room in (0, 1, sizes[-1], sizes[-1] + 1, lots.choice(sizes), max(0, lots.choice(sizes) - 1)):
        assert largest_fitting(lambda limit: sizes[limit - 1], room, most) == bisect_right(sizes, room)


def test_few_sizes_tell_it_where_they_grow_with_costs() -> None:
    seen: list[int] = []

    def size(limit: int) -> int:
        seen.append(limit)
        return round(0.15 * 1.124**limit)

    assert largest_fitting(size, 16_000_000, 255) == 158
    assert len(seen) <= 6
