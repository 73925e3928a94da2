"""Whether the circumstances that a release states can be those of a run: its origin, its levels, and who saw what."""

import re
from collections.abc import Iterator

from neologue.privacy.levels import LEAST_ALPHA
from neologue.privacy.statement import Exposure
from neologue.release.asked_layer import layer_name
from neologue.release.certification.layer_chain import MEASUREMENT
from neologue.release.codec import FIDELITIES, FORMAT, LIVE, REHEARSAL, ReleaseDocument

ON_DEVICES = (LIVE, REHEARSAL)
"""The fidelities of reports that devices sent to a service."""


def wrong_circumstances(document: ReleaseDocument) -> Iterator[str]:
    """What a release states of its circumstances that can't be."""
    yield from _wrong_provenance(document)
    yield from _wrong_levels(document)
    yield from _wrong_exposure(document)
    by_slots = document.parameters.allocation != "filled"
    if (
        document.provenance.fidelity in ON_DEVICES
        and by_slots
        and (document.exposure.masked or not document.parameters.drawn)
    ):
        yield "it states that devices came into layers by slots alone, and a service plans no such layers"


def _wrong_provenance(document: ReleaseDocument) -> Iterator[str]:
    provenance = document.provenance
    if provenance.fidelity not in FIDELITIES:
        yield f"the fidelity is {provenance.fidelity!r}, and a release has one of {', '.join(FIDELITIES)}"
    if document.simulated != provenance.simulated:
        yield "a release is a simulation if and only if it states a seed"
    if document.simulated and provenance.fidelity in ON_DEVICES:
        yield "a simulation is not live"
    if document.format == FORMAT:
        yield from _wrong_identity(document)
    if document.whole.get("score") is not None and not provenance.simulated:
        yield "a score compares with the exact words of users, which no privacy statement covers"


def _wrong_identity(document: ReleaseDocument) -> Iterator[str]:
    """A campaign of devices has an identity and an operator; nothing else has."""
    campaign = document.provenance.campaign
    if document.provenance.fidelity not in ON_DEVICES:
        if campaign is not None:
            yield "it names a campaign that devices were invited to, and none were"
        return
    if campaign is None or not re.fullmatch("[0-9a-f]{32}", campaign, re.ASCII):
        yield "it names no campaign that devices were invited to, so no device can find the layer that it answered"
    if document.whole.get("signature") is None:
        yield "it is not signed, and devices were invited by an operator's signature"


def _wrong_levels(document: ReleaseDocument) -> Iterator[str]:
    """Levels at which a statement would promise nothing."""
    parameters = document.parameters
    if parameters.delta * document.users > 1:
        yield (
            f"δ is {parameters.delta:g}, above 1 in {document.users:,} users: everything about some of them could be "
            "published"
        )
    if parameters.k_anonymity and parameters.alpha < LEAST_ALPHA:
        yield (
            f"α is {parameters.alpha:g}: what fewer than {parameters.k_anonymity:,} hold would more likely be "
            "published than not"
        )


def _wrong_exposure(document: ReleaseDocument) -> Iterator[str]:
    """Sums that can't have been seen in a run like this one."""
    exposure, masked = document.exposure, document.exposure.masked
    if document.provenance.fidelity not in ON_DEVICES:
        if exposure != Exposure():
            yield "it states sums that a service saw on the way, and no device reported to any"
        return
    if exposure.server != 1:
        yield "it states that the server saw no single report, which only masks achieve: they are stated as masked"
    if exposure.disk is None:
        yield "it states that whole layers were stored at once, and a service stores batches"
        return
    smallest, how = (masked.smallest, "masked sums") if masked else (exposure.disk, "stored batches")
    reports = {layer_name(layer): layer.reports for layer in document.layers}
    if document.measurement:
        reports[MEASUREMENT] = document.measurement.reports
    for name, number in reports.items():
        if 0 < number < smallest:
            yield f"{name} has {number:,} reports, and {how} have at least {smallest:,}"
