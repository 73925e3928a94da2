"""Check-ins: a device is told to wait, invited to a layer in which it has a place, or that all is over."""

from dataclasses import dataclass

from neologue.aggregation.masked_aggregator import GatheringLayer
from neologue.protocol.credential import Credential
from neologue.service.collect.layer_cache import LayerCache, ServedLayer
from neologue.service.collect.places import Places
from neologue.service.collect.replies import CheckInReply, Over, Wait
from neologue.service.masked.groups import MaskingGroups


@dataclass(frozen=True)
class CheckIns:
    """Answers devices that check in."""

    layer_cache: LayerCache
    places: Places
    groups: MaskingGroups

    async def reply(self, credential: Credential) -> CheckInReply:
        """The answer to a device; or a CredentialError if no issuer of the campaign vouches for it."""
        layer = self.layer_cache.layer_for(credential)
        if not isinstance(layer, ServedLayer):
            return layer
        if isinstance(layer.collecting, GatheringLayer):
            barred = await self.groups.is_barred(layer.collecting, credential.serial)
            return Over() if barred else self.layer_cache.invite(layer, credential.serial)
        if layer.definition.drawn:
            return self.layer_cache.invite(layer, credential.serial)  # nobody is displaced: there is a place for all
        block = await self.places.reserve(layer, credential.serial)
        if block is None:
            return Wait(layer.definition.check_in_seconds, layer.succession)
        return self.layer_cache.invite(layer, credential.serial, block)
