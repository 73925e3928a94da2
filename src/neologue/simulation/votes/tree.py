"""The votes of any number of Subset Selection reports, in their exact joint law, in work that does not grow with them.

Nobody needs to draw the reports one by one. Halve the range of elements: how many of its elements a subset has in the
left half is hypergeometric, and reports that still have as many elements to place are alike, so each such group is
split by a few binomials. Halving goes on down to single elements, whose votes are then known.

What a subset can hold depends on its own word z: with probability p it contains z and d-1 of the others, else d of the
others and never z. So groups are told apart by where z is. While z is inside the range, its cell is not free; once z is
in the other half, it does not matter any more. Which reports of a group have their z in the left half is hypergeometric
again, as all of them are alike.

The law is that of reports drawn one by one, up to the rounding of probabilities to floating point.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.compiled import compiled
from neologue.populations.streams import Stream, generator

Ints = NDArray[np.int64]

SUBTREES = 64
"""The most parts of the range that are worked on apart, each with randomness of its own."""
SMALLEST_PART = 1024
CONTAINING, LACKING, ELSEWHERE = 0, 1, 2
"""Kinds of reports: the word is in the range, and the subset contains it or not; or the word is not in the range."""
DEEPEST = 40
"""More often no range is halved."""
FEW = 4
"""So few reports are placed one by one."""
SMALLEST = 1e-300


def subset_votes(holders: Ints, size: int, truth: float, seed: int, first_user: int) -> Ints:
    """The votes of reports on words of which each has so many holders: subsets of `size`, true with chance `truth`."""
    domain = len(holders)
    source = generator(Stream.VOTES, seed, first_user, 0)
    contained = source.binomial(holders, truth).astype(np.int64)
    votes = contained.copy()
    before = np.zeros((2, domain + 1), np.int64)
    np.cumsum(contained, out=before[CONTAINING, 1:])
    np.cumsum(holders - contained, out=before[LACKING, 1:])
    root = np.zeros((3, size + 1), np.int64)
    root[CONTAINING, size - 1] = before[CONTAINING, -1]
    root[LACKING, size] = before[LACKING, -1]
    nodes = [(0, domain, root)]
    while 2 * len(nodes) <= min(SUBTREES, domain // SMALLEST_PART):
        nodes = [half for node in nodes for half in _halves(source, *node, before)]

    def grow(number: int) -> None:
        first, last, groups = nodes[number]
        add_votes(generator(Stream.VOTES, seed, first_user, 1 + number), first, last, groups, before, votes)

    if len(nodes) == 1:
        grow(0)
        return votes
    with ThreadPoolExecutor(min(len(nodes), os.cpu_count() or 1)) as pool:
        list(pool.map(grow, range(len(nodes))))
    return votes


def _halves(source: Generator, first: int, last: int, groups: Ints, before: Ints) -> list[tuple[int, int, Ints]]:
    left, right = np.zeros_like(groups), np.zeros_like(groups)
    split(source, first, last, groups, *extent(groups, groups.shape[1] - 1), before, left, right)
    middle = first + (last - first) // 2
    # No half can hold more elements than it has, so that the arrays of subsets that are large get smaller.
    return [
        (start, end, half[:, : end - start + 1].copy())
        for start, end, half in ((first, middle, left), (middle, last, right))
    ]


@compiled
def add_votes(source: Generator, first: int, last: int, groups: Ints, before: Ints, votes: Ints) -> None:
    """Add the votes of all elements in a range.

    `groups[c, r]` reports have r elements to place in the range and their own word in it (c says whether the subset
    contains that); `groups[2, r]` have their word elsewhere.
    """
    stack = np.zeros((DEEPEST, 3, groups.shape[1]), np.int64)
    starts, ends = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    widths = np.empty(DEEPEST, np.int64)
    starts[0], ends[0], widths[0] = first, last, groups.shape[1] - 1
    copy_groups(groups, stack[0], widths[0])
    left, right = np.zeros_like(groups), np.zeros_like(groups)
    top = 0
    while top >= 0:
        start, end, here = starts[top], ends[top], stack[top]
        widest, inside = extent(here, widths[top])
        if widest == 0:
            top -= 1
        elif end - start == 1:
            votes[start] += here[ELSEWHERE, 1]
            top -= 1
        elif widest == 1 and not inside:
            top -= 1
            add_single_votes(source, start, end, here[ELSEWHERE, 1], votes)
        else:
            split(source, start, end, here, widest, inside, before, left, right)
            middle = start + (end - start) // 2
            # What is beyond the width of an entry was left there by others and is never looked at.
            copy_groups(right, here, widest)
            copy_groups(left, stack[top + 1], widest)
            widths[top], widths[top + 1] = widest, widest
            starts[top], ends[top] = middle, end
            top += 1
            starts[top], ends[top] = start, middle


@compiled
def copy_groups(groups: Ints, target: Ints, widest: int) -> None:
    """Copy the groups of up to so many elements; a slice would do, but takes seconds to compile."""
    for kind in range(3):
        for elements in range(widest + 1):
            target[kind, elements] = groups[kind, elements]


@compiled
def extent(groups: Ints, most: int) -> tuple[int, bool]:
    """The most elements that any report has to place in a range, and whether one with its word inside has some.

    Nothing is looked at beyond `most` elements.
    """
    widest, inside = 0, False
    for elements in range(1, most + 1):
        within = groups[CONTAINING, elements] > 0 or groups[LACKING, elements] > 0
        if within or groups[ELSEWHERE, elements] > 0:
            widest = elements
        inside = inside or within
    return widest, inside


@compiled
def add_single_votes(source: Generator, first: int, last: int, votes_left: int, votes: Ints) -> None:
    """Add votes that fall on any element of a range alike."""
    starts, ends, waiting = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    starts[0], ends[0], waiting[0] = first, last, votes_left
    top = 0
    while top >= 0:
        start, end, here = starts[top], ends[top], waiting[top]
        top -= 1
        while end - start > 1 and here > 0:
            half = (end - start) // 2
            on_left = source.binomial(here, half / (end - start))
            top += 1
            starts[top], ends[top], waiting[top] = start + half, end, here - on_left
            end, here = start + half, on_left
        votes[start] += here


@compiled
def split(
    source: Generator,
    first: int,
    last: int,
    groups: Ints,
    widest: int,
    inside: bool,
    before: Ints,
    left: Ints,
    right: Ints,
) -> None:
    """Write how the reports of a range, of such an extent, place their elements in its two halves."""
    for kind in range(3):
        for elements in range(widest + 1):
            left[kind, elements] = right[kind, elements] = 0
    middle = first + (last - first) // 2
    cells_left, cells_right = middle - first, last - middle
    for elements in range(1, widest + 1):
        place(source, groups[ELSEWHERE, elements], elements, cells_left, cells_right, left[ELSEWHERE], right[ELSEWHERE])
    if not inside:
        return
    for kind in range(2):
        words_left = before[kind, middle] - before[kind, first]
        words_right = before[kind, last] - before[kind, middle]
        for elements in range(1, widest + 1):
            reports = groups[kind, elements]
            if reports == 0:
                continue
            on_left = hypergeometric(source, words_left, words_right, reports)
            words_left -= on_left
            words_right -= reports - on_left
            # The cell of the word itself is taken or forbidden, so that it is not free for other elements.
            place(source, on_left, elements, cells_left - 1, cells_right, left[kind], right[ELSEWHERE])
            place(source, reports - on_left, elements, cells_left, cells_right - 1, left[ELSEWHERE], right[kind])


@compiled
def place(
    source: Generator, reports: int, elements: int, cells_left: int, cells_right: int, left: Ints, right: Ints
) -> None:
    """Split reports that have so many elements to place in free cells: count them by how many go left and right."""
    if reports == 0:
        return
    cells = cells_left + cells_right
    if elements == 0:
        left[0] += reports
        right[0] += reports
    elif elements == 1:
        on_left = source.binomial(reports, cells_left / cells)
        left[1] += on_left
        right[0] += on_left
        left[0] += reports - on_left
        right[1] += reports - on_left
    elif reports <= FEW:
        for _ in range(reports):
            on_left, free_left, free = 0, cells_left, cells
            for _ in range(elements):
                if source.random() * free < free_left:
                    on_left += 1
                    free_left -= 1
                free -= 1
            left[on_left] += 1
            right[elements - on_left] += 1
    else:
        fewest, most = max(0, elements - cells_right), min(elements, cells_left)
        chance = hypergeometric_chance(cells_left, cells_right, elements, fewest)
        if chance < SMALLEST:
            fewest, chance = first_likely(cells_left, cells_right, elements, fewest, most)
        beyond, remaining = 1.0, reports
        for on_left in range(fewest, most + 1):
            if remaining == 0:
                break
            number = remaining
            if on_left < most:
                number = source.binomial(remaining, min(1.0, chance / beyond))
                beyond = max(beyond - chance, SMALLEST)
            left[on_left] += number
            right[elements - on_left] += number
            remaining -= number
            chance *= (cells_left - on_left) * (elements - on_left)
            chance /= (on_left + 1.0) * (cells_right - elements + on_left + 1.0)


@compiled
def first_likely(good: int, bad: int, drawn: int, fewest: int, most: int) -> tuple[int, float]:
    """Where the chances of a hypergeometric law stop vanishing, found by going down from the mode, and that chance."""
    number = likeliest(good, bad, drawn, fewest, most)
    chance = hypergeometric_chance(good, bad, drawn, number)
    while number > fewest and chance > SMALLEST:
        chance *= float(number) * float(bad - drawn + number)
        chance /= float(good - number + 1) * float(drawn - number + 1)
        number -= 1
    return number, chance


@compiled
def likeliest(good: int, bad: int, drawn: int, fewest: int, most: int) -> int:
    """The mode of a hypergeometric law."""
    return min(max(int((drawn + 1.0) * (good + 1.0) / (good + bad + 2.0)), fewest), most)


@compiled
def hypergeometric_chance(good: int, bad: int, drawn: int, of_these: int) -> float:
    """How likely it is that so many of the drawn are good."""
    return math.exp(log_choose(good, of_these) + log_choose(bad, drawn - of_these) - log_choose(good + bad, drawn))


@compiled
def hypergeometric(source: Generator, good: int, bad: int, drawn: int) -> int:
    """How many of so many draws without replacement are good: inversion, outwards from the mode."""
    if drawn == 0 or good == 0:
        return 0
    if bad == 0:
        return drawn
    fewest, most = max(0, drawn - bad), min(drawn, good)
    mode = likeliest(good, bad, drawn, fewest, most)
    peak = hypergeometric_chance(good, bad, drawn, mode)
    while True:
        left = source.random() - peak
        if left <= 0:
            return mode
        lower, upper = mode, mode
        below, above = peak, peak
        while (lower > fewest and below > SMALLEST) or (upper < most and above > SMALLEST):
            if upper < most:
                above *= float(good - upper) * float(drawn - upper)
                above /= float(upper + 1) * float(bad - drawn + upper + 1)
                upper += 1
                left -= above
                if left <= 0:
                    return upper
            if lower > fewest:
                below *= float(lower) * float(bad - drawn + lower)
                below /= float(good - lower + 1) * float(drawn - lower + 1)
                lower -= 1
                left -= below
                if left <= 0:
                    return lower
        # Rounding left a sliver of the chances unspent: draw again.


@compiled
def log_choose(total: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose."""
    return math.lgamma(total + 1.0) - math.lgamma(chosen + 1.0) - math.lgamma(total - chosen + 1.0)
