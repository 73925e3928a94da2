"""The course of a discovery from its first layer to its release, a measurement at the end included."""

from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.algorithm import discover
from neologue.discovery.decision import DecidedLayer, Decision, OnLayer, Question, Trace, no_trace
from neologue.discovery.likely import LikelyQuestion, discover_likely
from neologue.discovery.measurement import closed_layer, evaluate_measurement, nothing_to_measure
from neologue.discovery.result import Release
from neologue.discovery.tally import Tally
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer

Algorithm = Callable[[Campaign, OnLayer], Generator[Question | LikelyQuestion, Decision, Release]]
"""How a discovery asks, layer by layer."""


class DiscoveryState:
    """A discovery under way: which layer is to be asked now, and what comes of the answers.

    It is a function of the decisions that it took: one that is broken off goes on when a new one takes them again.
    """

    def __init__(
        self, campaign: Campaign, measure: Measuring | None = None, on_layer: OnLayer = lambda facts, words: None
    ) -> None:
        self._campaign, self._measure = campaign, measure
        ask: Algorithm = discover if campaign.parameters.layers is None else discover_likely
        self._rounds = ask(campaign, on_layer)
        first = next(self._rounds)
        self.first = first.layer
        """The layer that it began with."""
        self._question: Question | LikelyQuestion | None = first
        self.before: DecidedLayer | None = None
        """The layer that was decided last, but for a measurement."""
        self._closed: ClosedLayer | None = None
        self._release: Release | None = None

    @property
    def layer(self) -> Layer | ClosedLayer | None:
        """The layer to be asked now; None at the end."""
        return self._question.layer if self._question else self._closed

    @property
    def question(self) -> Question | LikelyQuestion | None:
        """The layer to be asked now with all that decides it; None for a measurement and at the end."""
        return self._question

    @property
    def release(self) -> Release:
        """What came of it all."""
        assert self._release is not None
        assert self.layer is None
        return self._release

    def decide(self, tally: Tally, trace: Trace = no_trace) -> Decision:
        """What the votes on the present layer decide. All votes of a measurement are published, and are kept."""
        if self._question:
            return self._question.decide(tally, trace)
        assert self._closed is not None
        made = tally.reports >= self._campaign.fewest_reports(self._closed.randomizer.candidates)
        every = np.arange(len(tally.votes))
        return Decision(tally.reports, made, index=every, votes=tally.votes, thresholds=np.zeros_like(every))

    def take(self, decision: Decision) -> None:
        """Go on to the next layer, or to the end."""
        if self._question is None:
            self._take_measurement(decision)
            return
        self.before = DecidedLayer(self._question.layer, decision)
        try:
            self._question = self._rounds.send(decision)
        except StopIteration as end:
            self._question, self._release = None, end.value
            self._begin_measurement(end.value)

    def _begin_measurement(self, release: Release) -> None:
        if self._measure is None:
            return
        if release.words:
            self._closed = closed_layer(self._campaign, (word.word for word in release.words), self._measure)
        else:
            self._release = replace(release, measurement=nothing_to_measure(self._measure))

    def _take_measurement(self, decision: Decision) -> None:
        assert self._closed is not None
        assert self._release is not None
        counted = evaluate_measurement(self._closed, Tally(decision.votes, decision.reports), self._campaign)
        self._release, self._closed = replace(self._release, measurement=counted), None
