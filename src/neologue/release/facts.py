"""The facts that the privacy of a run follows from."""

import math
from collections.abc import Iterable, Sequence

from neologue.campaign.allocation import counted_in_batches, planned_allocation
from neologue.campaign.parameters import Parameters
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import LayerFacts, Release
from neologue.discovery.selection import RULES
from neologue.errors import ParameterError
from neologue.privacy.allocation.planned_layers import UNCLAIMED, Allocation
from neologue.privacy.collection import Batch
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts
from neologue.randomizers.registry import randomizer
from neologue.release.asked_layer import layer_name

MASKED = "masked groups form by count, so that who is in a layer depends on who else is"


def release_facts(release: Release) -> PrivacyFacts:
    """What the privacy of a release follows from."""
    return privacy_facts(release.campaign.parameters, release.layers, release.measurement, release.exposure)


def privacy_facts(
    parameters: Parameters, layers: Iterable[LayerFacts], measurement: Measurement | None, exposure: Exposure
) -> PrivacyFacts:
    """The facts of a run whose layers are decided; of an undecided layer nothing is published."""
    layers = tuple(layers)
    shown = tuple(_shown(parameters, layer, layers) for layer in layers if layer.decided)
    withheld = tuple(Batch(layer.reports, layer.candidates) for layer in layers if layer.reports and not layer.decided)
    allocation = _allocation(parameters, layers, measurement, exposure)
    measured: tuple[Batch, ...] = ()
    if measurement and measurement.reports:
        counted = (Batch(measurement.reports, measurement.candidates),)
        measured, withheld = (counted, withheld) if measurement.decided else ((), withheld + counted)
    return facts_of(parameters, shown, exposure=exposure, withheld=withheld, measured=measured, allocation=allocation)


def _shown(parameters: Parameters, layer: LayerFacts, layers: Sequence[LayerFacts]) -> LayerShown:
    """What was published of a layer, and the layers by whose votes its words are judged too."""
    batch = Batch(layer.reports, layer.candidates)
    kept = layer.kept + layer.words
    if parameters.layers is None:
        return LayerShown(batch, kept, layer.fewest_votes)
    earlier = tuple(
        Batch(before.reports, before.candidates)
        for before in layers
        if before.pass_number == layer.pass_number and before.layer < layer.layer
    )
    return LayerShown(batch, kept, layer.fewest_votes, earlier, max(0, parameters.layers - layer.layer))


def _allocation(
    parameters: Parameters, layers: tuple[LayerFacts, ...], measurement: Measurement | None, exposure: Exposure
) -> Allocation:
    """All planned layers, if those that were asked counted what was planned; else why it can't be claimed."""
    if not parameters.drawn or not layers:
        return hidden_allocation(parameters, 0, 0, exposure)
    if measurement and not measurement.asked:
        return Allocation.none("how many were to measure is not stated")
    counted = {layer_name(layer): (layer.asked, layer.reports) for layer in layers}
    if measurement and measurement.candidates:
        counted["the measurement"] = (measurement.asked, measurement.reports)
    for name, (asked, reports) in counted.items():
        if reports != (planned := counted_in_batches(parameters, asked, exposure.disk)):
            return Allocation.none(f"{name} counted {reports:,} reports, and {planned:,} were planned")
    return hidden_allocation(parameters, layers[0].asked, measurement.asked if measurement else 0, exposure)


def hidden_allocation(parameters: Parameters, asked: int, measuring: int, exposure: Exposure) -> Allocation:
    """All layers that are planned with so many users, if readers do not learn who is where."""
    if exposure.masked:
        return Allocation.none(MASKED)
    return planned_allocation(parameters, asked, measuring)


def facts_of(
    parameters: Parameters,
    shown: tuple[LayerShown, ...],
    *,
    exposure: Exposure,
    withheld: tuple[Batch, ...] = (),
    measured: tuple[Batch, ...] = (),
    allocation: Allocation = UNCLAIMED,
) -> PrivacyFacts:
    """The facts of a run with these layers, whether they happened or are foreseen: the one way to build them.

    Who sees which sums has no default, because a statement for the wrong observers is a false one.
    """
    if parameters.epsilon is None:
        raise ParameterError("a run has no ε yet: choose one, or let a campaign choose it", parameter="epsilon")
    return PrivacyFacts(
        mechanism=parameters.randomizer,
        epsilon=parameters.epsilon,
        words_per_user=parameters.words_per_user,
        delta=parameters.delta,
        colluders=parameters.colluders,
        layers=shown,
        frontier=parameters.frontier if RULES[parameters.rule].keeps_most_voted else None,
        anonymity=parameters.anonymity,
        exposure=exposure,
        withheld=withheld,
        measured=measured,
        allocation=allocation,
    )


def fewest_by_chance(parameters: Parameters, layers: Sequence[LayerFacts]) -> float:
    """How many votes of a report are there by chance on average, in the layer that has the fewest of them."""
    assert parameters.epsilon is not None
    fewest = math.inf
    for layer in layers:
        asked = randomizer(parameters.randomizer, layer.candidates, parameters.epsilon, parameters.words_per_user)
        fewest = min(fewest, float(asked.channel.q) * asked.channel.contributions * layer.candidates)
    return fewest
