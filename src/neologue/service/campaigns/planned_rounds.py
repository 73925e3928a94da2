"""The rounds of a campaign whose slots are drawn: ranges of slots and numbers of reports that are fixed at its start.

Nothing about a round depends on who comes. It invites its slots until its deadline, counts whoever of them sends before
`answer_seconds` more are over, and closes a little later, when all workers have written what they have. Then made-up
reports of devices that hold nothing make up what is missing to the planned number (docs/privacy/allocation.md).
"""

from dataclasses import dataclass
from typing import Final

from neologue.campaign.allocation import counted_in_batches
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.slot import SLOTS
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.rounds import Round

GRACE: Final = 10.0
"""For how many seconds a layer stays open when nobody can send any more, so that all workers write what they have."""


@dataclass(frozen=True)
class _Planned:
    """A layer as it was planned, opened or not."""

    low: int
    high: int
    reports: int
    """What it counts in all."""
    room: int
    """How many of these are to fill up the last batches of workers."""


class PlannedRounds:
    """All rounds of one campaign."""

    def __init__(self, definition: Definition) -> None:
        campaign, measuring = definition.campaign, definition.measuring
        parameters, batch = campaign.parameters, definition.aggregator.exposure.disk
        assert parameters.drawn
        assert parameters.layers is not None
        self._definition, self._layers_of_pass = definition, parameters.layers
        self._layers = layers = parameters.passes * parameters.layers
        measured = measuring.users if measuring else 0
        everybody, asked = campaign.users + measured, campaign.users // layers

        def planned(first: int, users: int) -> _Planned:
            reports = counted_in_batches(parameters, users, batch)
            return _Planned(
                first * SLOTS // everybody,
                (first + users) * SLOTS // everybody,
                reports,
                reports - parameters.counted_reports(users),
            )

        self._planned = [planned(index * asked, asked) for index in range(layers)]
        if measuring:
            self._planned.append(planned(campaign.users, measured))

    def open(self, layer: Layer | ClosedLayer, now: float) -> Round:
        """The round of a layer, which has the slots that it was planned with, whichever layers came before."""
        index = self._layers
        if isinstance(layer, Layer):
            index = (layer.pass_number - 1) * self._layers_of_pass + layer.number - 1
        planned = self._planned[index]
        return Round(planned.reports, planned.low, planned.high, now, now + self._definition.seconds)

    def sent_until(self, round_: Round) -> float:
        """Until when reports are taken."""
        return sent_until(round_, self._definition)

    def closes(self, round_: Round) -> float:
        """When a round is over."""
        return self.sent_until(round_) + GRACE

    def missing(self, round_: Round, made_up: int) -> int:
        """How many reports are to be made up when a round closes that has so many made-up ones in its batches.

        If those were more than there was room for, one too many, so that the layer counts what nobody planned.
        """
        return round_.missing + (made_up > self._of(round_).room)

    def keeps(self, round_: Round) -> bool:
        """Whether a round counts no more than was planned."""
        return round_.layer_size == self._of(round_).reports

    def breaks_promise(self, round_: Round, made_up: int) -> bool:
        """Whether a round counts more than was planned although a central ε is promised, which rests on it."""
        promised = self._definition.campaign.parameters.promised_epsilon is not None
        return promised and (not self.keeps(round_) or made_up > self._of(round_).room)

    def _of(self, round_: Round) -> _Planned:
        return next(planned for planned in self._planned if planned.low == round_.low)


def sent_until(round_: Round, definition: Definition) -> float:
    """Until when a planned round takes reports: whoever is invited has time to answer."""
    return round_.deadline + definition.answer_seconds


def asks_again(round_: Round, definition: Definition, serial: bytes, now: float) -> float:
    """When a device that sends a report now is to send it again, which depends on nothing that others do.

    First in the time to answer, so that a report counts whose worker was killed; and then when the round is over. Its
    random serial says where in that half of the time to answer, so that not all come at once.
    """
    half = definition.answer_seconds / 2
    spread = half * int.from_bytes(serial[:4], "big") / (1 << 32)
    in_time = round_.deadline + spread
    return in_time if now < in_time else sent_until(round_, definition) + GRACE + spread
