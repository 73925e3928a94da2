"""The layer cache: what a worker answers devices from, read from the database from time to time.

It is a copy. If it is behind, a device is told to wait, or about a layer in which no place is left; whether a report
counts is decided by the database alone.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from neologue.aggregation.aggregator import CollectingLayer
from neologue.aggregation.ephemeral import IntakeLayer
from neologue.errors import CredentialError
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import signed_message
from neologue.protocol.report import TAG_BYTES
from neologue.protocol.slot import slot
from neologue.protocol.ticket import ticket
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_log import opened_entry
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.charging import unpaid
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.campaigns.planned_rounds import asks_again, sent_until
from neologue.service.campaigns.promises import promise_of, vouching
from neologue.service.campaigns.rounds import Round, rounds_ahead
from neologue.service.collect.replies import Invited, Over, Wait
from neologue.service.collect.stored_layers import StoredLayers
from neologue.service.log.layer_proof import layer_proof
from neologue.service.masked.group_store import under_way
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.states import OVER, CampaignState, LayerState


@dataclass(frozen=True, eq=False)
class ServedLayer:
    """A layer as devices are invited to it."""

    campaign_id: bytes
    definition: Definition
    """That of its campaign."""
    layer_index: int
    digest: bytes
    round: Round
    operator: bytes
    """The public key that signed the invitation."""
    signature: bytes
    succession: str | None
    """How it has replaced others, as devices are told; None if it has not."""
    promise: bytes | None
    """What devices are promised of the masks of their votes."""
    collecting: CollectingLayer
    """The layer as its aggregation mode collects it: whoever takes what devices send takes its own kind alone."""
    proof: bytes | None = None
    """That it is in the log, if devices are to be shown that."""
    full: bool = False
    """Whether nobody else is invited at the moment."""


@dataclass(frozen=True, eq=False)
class CachedCampaign:
    """A campaign and its open layer."""

    entry: CampaignRow
    issuers: Sequence[bytes]
    layer: ServedLayer | None
    """The one that is open, if any is."""
    succession: str | None
    """How the operator's keys have replaced each other, as devices are told; None if none was."""


class LayerCache:
    """The campaigns that devices may ask about."""

    def __init__(self, database: Database, keys: Keys, clock: Callable[[], float] = time.time, quorum: int = 0) -> None:
        """With a `quorum`, a layer invites nobody before so many witnesses have co-signed that it is in the log."""
        self._database, self._keys, self._clock, self._quorum = database, keys, clock, quorum
        self._campaigns: dict[bytes, CachedCampaign] = {}
        self._layers: dict[bytes, ServedLayer] = {}
        """The open layers, by digest."""
        self._stored = StoredLayers(database)

    def refresh(self) -> list[ServedLayer]:
        """Read everything from the database; the layers that were open before and are not any more.

        Called from one thread at a time, while others look things up.
        """
        with self._database.reading() as db:
            self._keys.refresh(db)
            rows = [
                (_held_if_unpaid(db, entry), _open_layer(layer_store.layers_of(db, entry.id)))
                for entry in campaign_store.all_campaigns(db)
            ]
            now = self._clock()
            full = {
                entry.id
                for entry, layer in rows
                if layer
                and not entry.definition.aggregator.has_room(
                    layer.round.missing, under_way(db, entry.id, layer.layer_index, now)
                )
            }
            proofs = {entry.id: self._proof(db, entry, layer) for entry, layer in rows if layer and self._quorum}
            full |= {campaign for campaign, proof in proofs.items() if proof is None}
        campaigns = {}
        succession = self._keys.succession.hex() or None
        for entry, layer in rows:
            issuers = (*self._keys.issuers(entry.created), *map(bytes.fromhex, entry.definition.issuers))
            served = None
            if layer is not None:
                served = replace(self._serve(entry, layer), full=entry.id in full, proof=proofs.get(entry.id))
            campaigns[entry.id] = CachedCampaign(entry, issuers, served, succession)
        before, self._campaigns = self._layers, campaigns
        self._layers = {campaign.layer.digest: campaign.layer for campaign in campaigns.values() if campaign.layer}
        return [served for digest, served in before.items() if digest not in self._layers]

    def campaign(self, campaign_id: bytes) -> CachedCampaign | None:
        """A campaign, if it is in the cache."""
        return self._campaigns.get(campaign_id)

    def open_layer_for(self, campaign_id: bytes, tag: bytes) -> ServedLayer | None:
        """The open layer of a running campaign that a report with this tag answers."""
        campaign = self._campaigns.get(campaign_id)
        if campaign is None or campaign.layer is None or campaign.layer.digest[:TAG_BYTES] != tag:
            return None
        return campaign.layer

    @property
    def hides_numbers(self) -> bool:
        """Whether it is kept from all but the operator how many devices come, because a campaign has drawn slots."""
        entries = [campaign.entry for campaign in self._campaigns.values()]
        return any(entry.state != CampaignState.DRAFT and entry.definition.drawn for entry in entries)

    def ended_layers(self) -> list[ServedLayer]:
        """The planned layers of running campaigns that are open, and to which nobody can send anything more."""
        running = (campaign for campaign in self._campaigns.values() if campaign.entry.state == CampaignState.RUNNING)
        layers = (campaign.layer for campaign in running)
        return [layer for layer in layers if layer and self.is_ended(layer)]

    def is_ended(self, layer: ServedLayer) -> bool:
        """Whether the time is over to send a report to a layer, where that is a matter of time alone."""
        return layer.definition.drawn and self._clock() >= sent_until(layer.round, layer.definition)

    def asks_again(self, layer: ServedLayer, serial: bytes) -> float:
        """In how many seconds a device that has sent its report to a planned layer is to send it again."""
        now = self._clock()
        return asks_again(layer.round, layer.definition, serial, now) - now

    def longest(self, late: int) -> int:
        """The most bytes that are read of what a device sends: as the open layers need, and at least `late`."""
        return max((late, *(served.collecting.longest for served in self._layers.values())))

    def layer_for(self, credential: Credential) -> ServedLayer | Wait | Over:
        """The layer that a device may answer, or the answer to it; a CredentialError if no issuer vouches for it."""
        campaign = self._campaigns.get(credential.campaign_id)
        if campaign is None:
            raise CredentialError("the credential is for a campaign that this service does not have; get another")
        if not any(credential.issued_by(issuer) for issuer in campaign.issuers):
            raise CredentialError("no issuer of the campaign has signed this credential; get another from the app")
        entry, layer = campaign.entry, campaign.layer
        if entry.state in OVER:
            return Over(campaign.succession)
        wait = Wait(entry.definition.check_in_seconds, campaign.succession)
        if entry.state != CampaignState.RUNNING or layer is None:
            return wait
        aggregator = entry.definition.aggregator
        device_slot = slot(entry.slot_secret, credential.serial)
        if device_slot < layer.round.low and not aggregator.invites_again:
            return Over(campaign.succession)
        if entry.definition.drawn and device_slot < layer.round.high and self._clock() >= layer.round.deadline:
            return Over(campaign.succession)  # no other layer has its slot
        if device_slot >= layer.round.high:
            rounds = rounds_ahead(device_slot, layer.round, entry.definition.devices)
            return Wait(entry.definition.check_in_seconds * max(1, rounds), campaign.succession)
        return wait if layer.full else layer

    def invite(self, layer: ServedLayer, serial: bytes, block: int = 0) -> Invited:
        """The invitation of a device to a layer, with a place in a block if the layer keeps any."""
        return Invited(
            layer=layer.digest.hex(),
            operator=layer.operator.hex(),
            signature=layer.signature.hex(),
            ticket=ticket(self._keys.ticket, layer.campaign_id, layer.digest, serial, block).hex(),
            masked=None if layer.promise is None else layer.promise.hex(),
            proof=None if layer.proof is None else layer.proof.hex(),
            succession=layer.succession,
        )

    def _proof(self, db: Connection, entry: CampaignRow, layer: LayerRow) -> bytes | None:
        opened = opened_entry(entry.id, layer.layer_index, layer.digest, promise_of(entry, self._keys))
        proof = layer_proof(db, opened, self._quorum)
        return None if proof is None else bytes(proof)

    def _serve(self, entry: CampaignRow, row: LayerRow) -> ServedLayer:
        before = self._layers.get(row.digest)
        aggregator, issuers = entry.definition.aggregator, vouching(entry, self._keys)
        promise = aggregator.promise(issuers)
        private = self._keys.operator
        operator, succession = private.public_key().public_bytes_raw(), self._keys.succession.hex() or None
        if before and before.campaign_id == entry.id:
            same = replace(before, round=row.round)
            if (before.operator, before.succession) == (operator, succession):
                return same
            signature = private.sign(signed_message(entry.id, row.digest, promise))
            return replace(same, operator=operator, signature=signature, succession=succession)
        layer = self._stored.read(row.digest)
        collecting = aggregator.collecting(entry.id, row.layer_index, layer, issuers)
        if entry.definition.drawn and isinstance(collecting, IntakeLayer):
            collecting = replace(collecting, planned=True)
        return ServedLayer(
            entry.id,
            entry.definition,
            row.layer_index,
            row.digest,
            row.round,
            operator,
            private.sign(signed_message(entry.id, row.digest, promise)),
            succession,
            None if promise is None else bytes(promise),
            collecting,
        )


def _open_layer(layers: Sequence[LayerRow]) -> LayerRow | None:
    """The layer that waits for reports: the last one, if any."""
    return layers[-1] if layers and layers[-1].state == LayerState.OPEN else None


def _held_if_unpaid(db: Connection, entry: CampaignRow) -> CampaignRow:
    """A campaign, as if it were paused already where its population should be charged and is not."""
    if entry.state == CampaignState.RUNNING and unpaid(db, entry):
        return replace(entry, state=CampaignState.PAUSED)
    return entry
