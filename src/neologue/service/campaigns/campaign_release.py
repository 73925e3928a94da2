"""The release of a live campaign: what was found, as it is signed and published."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from neologue.discovery.result import Release
from neologue.release.codec import Provenance, release_document, release_text
from neologue.release.signature import sign_document
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.ops.service_keys import Keys


def signed_release(entry: CampaignRow, found: Release, layers: Iterable[LayerRow], keys: Keys) -> tuple[str, bytes]:
    """The text of a campaign's release, and its digest."""
    release = replace(found, exposure=entry.definition.aggregator.exposure, warnings=tuple(_published_warnings(layers)))
    provenance = Provenance(_describe_population(entry), entry.definition.fidelity, campaign=entry.id.hex())
    signed = sign_document(release_document(release, provenance), keys.operator)
    return release_text(signed), bytes.fromhex(str(signed["digest"]))


def _published_warnings(layers: Iterable[LayerRow]) -> Iterator[str]:
    """The warnings that follow from sums of whole layers, as all of a release does."""
    for row in layers:
        if row.facts:
            layer = row.facts.layer
            where = f"Pass {layer.pass_number} layer {layer.layer}" if layer else "The measurement"
            yield from (f"{where}: {warning}" for warning in row.facts.warnings)


def _describe_population(entry: CampaignRow) -> str:
    """The population as a release names it."""
    devices = f"{entry.definition.devices:,} devices expected"
    return f"{entry.definition.population}, {devices}" if entry.definition.population else devices
