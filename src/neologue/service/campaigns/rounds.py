"""The rounds of a live campaign: whom a layer invites, how long it waits, and when it is over. Time is an argument.

Every device of a campaign has a slot (`neologue.protocol.slot`), as good as drawn at random. A layer invites the slots
of a range, and the ranges of a campaign follow each other. So each device belongs to one layer of one pass at most,
which no one has to remember, and each layer's devices are a random sample of all, whenever they happen to check in.
Where votes are masked, those who were invited before and found no group come on top.
"""

import math
from dataclasses import dataclass, replace

from neologue.protocol.slot import SLOTS

LOOKS = 8
"""How many times a layer that waits looks whether enough devices answer, and invites more if not."""
SPREAD = 2.0
"""How many standard deviations more devices are invited than are wanted, at least, so that chance alone seldom leaves a
layer short; those who come when it is full are not counted, and invited in vain."""


@dataclass(frozen=True)
class Rules:
    """What all layers of a campaign have in common."""

    devices: int
    """How many are expected to check in."""
    reserve: float
    """The share of them that no layer counts on."""
    seconds: float
    batch: int
    """The fewest reports that are written together."""
    smallest: int
    """The fewest reports that decide a layer."""
    most_extensions: int
    """How many times a layer with fewer may wait as long again."""


@dataclass(frozen=True)
class Round:
    """A layer that waits for reports."""

    layer_size: int
    """The most reports that are counted."""
    low: int
    high: int
    """The slots from `low` to below `high` are invited."""
    opened: float
    deadline: float
    looks: int = 0
    extensions: int = 0
    reports: int = 0

    @property
    def missing(self) -> int:
        """How many reports would still be counted."""
        return self.layer_size - self.reports


def opened(layer_size: int, low: int, rules: Rules, now: float) -> Round:
    """A new round, with slots for its size and its part of the reserve, behind those invited before."""
    wanted = math.ceil(max(layer_size / (1 - rules.reserve), layer_size + SPREAD * math.sqrt(layer_size)))
    return Round(layer_size, low, _beyond(low, wanted, rules), now, now + rules.seconds)


def looked_at(round_: Round, rules: Rules, now: float) -> Round | None:
    """The round as it goes on from now, perhaps with more slots or more time; None if it is over."""
    if round_.missing < rules.batch:
        return None
    while now >= round_.deadline:
        if round_.reports >= rules.smallest or round_.extensions >= rules.most_extensions:
            return None
        round_ = replace(round_, deadline=round_.deadline + rules.seconds, extensions=round_.extensions + 1)
    return _widened(round_, rules, now)


def rounds_ahead(slot: int, round_: Round, devices: int) -> int:
    """The rounds like this one that come before a slot behind it is invited, even if only half of them answer."""
    between = (slot - round_.high) * devices // SLOTS
    return max(0, between // (2 * round_.layer_size))


def resumed(round_: Round, pause: float) -> Round:
    """The round after a pause of so many seconds, which do not count."""
    return replace(round_, opened=round_.opened + pause, deadline=round_.deadline + pause)


def _widened(round_: Round, rules: Rules, now: float) -> Round:
    """The round with slots for the reports that it lags behind by, at most once for each of its looks."""
    due = int((now - round_.opened) * LOOKS / rules.seconds)
    if due <= round_.looks:
        return round_
    # Devices check in over time: by now that part of them should have, which is gone of the first deadline.
    behind = round_.layer_size * min(due, LOOKS) // LOOKS - round_.reports
    return replace(round_, looks=due, high=_beyond(round_.high, max(0, behind), rules))


def _beyond(slot: int, devices: int, rules: Rules) -> int:
    """The slot behind which there are so many devices after this one, as far as slots go."""
    return min(SLOTS, slot + -(-devices * SLOTS // rules.devices))
