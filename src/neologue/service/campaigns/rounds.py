"""The rounds of a live campaign: whom a layer invites, how long it waits, and when it is over. Time is an argument.

Every device of a campaign has a pseudo-random slot (`neologue.protocol.slot`). A layer invites a range of slots, and
the ranges of a campaign follow each other. So each device belongs to at most one layer of one pass, which nobody has
to remember, and each layer's devices are a random sample of all, whenever they check in. Where votes are masked,
devices that were invited before and found no group are invited again.
"""

import math
from dataclasses import dataclass, replace

from neologue.protocol.slot import SLOTS

LOOKS = 8
"""How many times until its deadline a layer checks whether enough devices answer, and invites more if not."""
SPREAD = 2.0
"""By how many standard deviations at least a layer invites more devices than it needs, so that chance alone seldom
leaves it short; devices that come when it is full are not counted."""


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


def open_round(layer_size: int, low: int, rules: Rules, now: float) -> Round:
    """A new round, with slots for its size and its part of the reserve, after those invited before."""
    wanted = math.ceil(max(layer_size / (1 - rules.reserve), layer_size + SPREAD * math.sqrt(layer_size)))
    return Round(layer_size, low, _slot_after(low, wanted, rules), now, now + rules.seconds)


def advance_round(round_: Round, rules: Rules, now: float) -> Round | None:
    """The round from now on, perhaps with more slots or more time; None if it is over."""
    if round_.missing < rules.batch:
        return None
    while now >= round_.deadline:
        if round_.reports >= rules.smallest or round_.extensions >= rules.most_extensions:
            return None
        round_ = replace(round_, deadline=round_.deadline + rules.seconds, extensions=round_.extensions + 1)
    return _widen(round_, rules, now)


def rounds_ahead(slot: int, round_: Round, devices: int) -> int:
    """How many rounds like this one come before a later slot is invited, even if only half of the devices answer."""
    between = (slot - round_.high) * devices // SLOTS
    return max(0, between // (2 * round_.layer_size))


def resume_round(round_: Round, pause: float) -> Round:
    """The round after a pause of so many seconds, which do not count."""
    return replace(round_, opened=round_.opened + pause, deadline=round_.deadline + pause)


def _widen(round_: Round, rules: Rules, now: float) -> Round:
    """The round with more slots if it lags behind, at most once per look."""
    due = int((now - round_.opened) * LOOKS / rules.seconds)
    if due <= round_.looks:
        return round_
    # Devices check in over time: the share that should have by now is the share of the time that has passed.
    behind = round_.layer_size * min(due, LOOKS) // LOOKS - round_.reports
    return replace(round_, looks=due, high=_slot_after(round_.high, max(0, behind), rules))


def _slot_after(slot: int, devices: int, rules: Rules) -> int:
    """The end of a range of slots that holds about so many devices, within all slots."""
    return min(SLOTS, slot + -(-devices * SLOTS // rules.devices))
