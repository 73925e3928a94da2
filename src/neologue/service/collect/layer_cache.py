"""The board: what a worker tells devices, read from the database from time to time and looked at for every request.

It is a copy. If it is behind, a device is told to wait or is invited to a layer that is closing; whether a report
counts is decided by the database alone.
"""

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from neologue.errors import CredentialError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from neologue.protocol.report import TAG_BYTES
from neologue.protocol.slot import slot
from neologue.protocol.ticket import ticket
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow, LayerRow
from neologue.service.campaigns.rounds import Round, rounds_ahead
from neologue.service.collect.intake import IntakeLayer
from neologue.service.collect.replies import CheckInReply, Invited, Over, Wait
from neologue.service.masked.group_store import under_way
from neologue.service.masked.groups import GatheringLayer
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.database import Connection, Database

LATE_REPORT = 1 << 17
"""Bytes enough for the reports of a layer that nobody knows here any more."""
LATE_MESSAGE = 1 << 20
"""The same for votes under masks, of about a million candidates."""


@dataclass(frozen=True, eq=False)
class ServedLayer:
    """A layer as devices are invited to it."""

    campaign_id: bytes
    layer_index: int
    digest: bytes
    round: Round
    signature: bytes
    served: IntakeLayer
    gathers: GatheringLayer | None = None
    """Its groups, if votes are masked."""
    full: bool = False
    """Whether it has room for no other group."""


@dataclass(frozen=True, eq=False)
class CachedCampaign:
    """A campaign as the board has it."""

    entry: CampaignRow
    issuers: Sequence[bytes]
    layer: ServedLayer | None
    """The one that is open, if any is."""


class LayerCache:
    """The campaigns that devices may ask about."""

    def __init__(self, database: Database, keys: Keys, clock: Callable[[], float] = time.time) -> None:
        self._database, self._keys, self._clock = database, keys, clock
        self._issuer = keys.issuer.public_key().public_bytes_raw()
        self._notices: dict[bytes, CachedCampaign] = {}
        self._posted: dict[bytes, ServedLayer] = {}
        self._known: dict[str, Vocabulary] = {}

    def refresh(self) -> list[ServedLayer]:
        """Read the board anew; the layers that were open before and are not any more.

        Called from one thread at a time, while others look at the board.
        """
        with self._database.reading() as db:
            rows = [
                (entry, _open(campaign_store.layers_of(db, entry.id))) for entry in campaign_store.all_campaigns(db)
            ]
            full = {entry.id for entry, layer in rows if layer and _full(db, entry, layer, self._clock())}
        notices = {}
        for entry, layer in rows:
            issuers = (self._issuer, *map(bytes.fromhex, entry.definition.issuers))
            posted = None if layer is None else replace(self._post(entry, layer), full=entry.id in full)
            notices[entry.id] = CachedCampaign(entry, issuers, posted)
        before, self._notices = self._posted, notices
        self._posted = {notice.layer.digest: notice.layer for notice in notices.values() if notice.layer}
        return [posted for digest, posted in before.items() if digest not in self._posted]

    def notice(self, campaign_id: bytes) -> CachedCampaign | None:
        """A campaign, if it is on the board."""
        return self._notices.get(campaign_id)

    def answering(self, campaign_id: bytes, tag: bytes) -> ServedLayer | None:
        """The open layer of a running campaign that a report with this tag answers."""
        notice = self._notices.get(campaign_id)
        if notice is None or notice.layer is None or notice.layer.digest[:TAG_BYTES] != tag:
            return None
        return notice.layer

    @property
    def longest_report(self) -> int:
        """The most bytes that are read of a report: those of the open layers, or of one that has just been closed."""
        return max((LATE_REPORT, *(posted.served.decoder.longest for posted in self._posted.values())))

    @property
    def longest_message(self) -> int:
        """The most bytes that are read of a message to a group, likewise."""
        return max((LATE_MESSAGE, *(posted.gathers.longest for posted in self._posted.values() if posted.gathers)))

    def check_in(self, credential: Credential) -> CheckInReply:
        """What a device is told; or a CredentialError if no issuer of the campaign vouches for it."""
        notice = self._notices.get(credential.campaign_id)
        if notice is None:
            raise CredentialError("the credential is for a campaign that this service does not have; get another")
        if not any(credential.issued_by(issuer) for issuer in notice.issuers):
            raise CredentialError("no issuer of the campaign has signed this credential; get another from the app")
        entry, layer = notice.entry, notice.layer
        if entry.state in campaign_store.OVER:
            return Over()
        wait = Wait(entry.definition.check_in_seconds)
        if entry.state != campaign_store.RUNNING or layer is None:
            return wait
        layer_index = slot(entry.slot_secret, credential.serial)
        # Who was asked before and found no group has made no votes, and is asked again. Who has made some knows.
        if layer_index < layer.round.low and not layer.gathers:
            return Over()
        if layer_index >= layer.round.high:
            rounds = rounds_ahead(layer_index, layer.round, entry.definition.devices)
            return Wait(entry.definition.check_in_seconds * max(1, rounds))
        if layer.full:
            return wait
        return Invited(
            layer=layer.digest.hex(),
            operator=self._keys.public.hex(),
            signature=layer.signature.hex(),
            ticket=ticket(self._keys.ticket, entry.id, layer.digest, credential.serial).hex(),
            masked=bytes(layer.gathers.rules.promise).hex() if layer.gathers else None,
        )

    def _post(self, entry: CampaignRow, asked: LayerRow) -> ServedLayer:
        before = self._posted.get(asked.digest)
        if before and before.campaign_id == entry.id:
            return replace(before, round=asked.round)
        layer, definition = self._layer(asked.digest), entry.definition
        rules = definition.groups
        invitation = invite(entry.id, layer, self._keys.operator, rules.promise if rules else None)
        served = IntakeLayer(asked.layer_index, layer, definition.batch)
        gathers = (
            GatheringLayer(
                entry.id, asked.layer_index, layer, rules, definition.gather_seconds, definition.stage_seconds
            )
            if rules
            else None
        )
        return ServedLayer(
            entry.id, asked.layer_index, asked.digest, asked.round, invitation.signature, served, gathers
        )

    def _layer(self, digest: bytes) -> Layer | ClosedLayer:
        """The layer itself, read from the very document that its devices read."""
        with self._database.reading() as db:
            document = zlib.decompress(campaign_store.document_of(db, digest) or b"")
            known = known_digest(document)
            if known not in self._known:
                words = zlib.decompress(campaign_store.known_of(db, bytes.fromhex(known)) or b"")
                self._known = {known: read_known(words)}
        return read_layer(document, self._known[known])


def _full(db: Connection, entry: CampaignRow, layer: LayerRow, now: float) -> bool:
    """Whether groups under way leave a layer no room for another."""
    groups = entry.definition.groups
    if groups is None:
        return False
    return layer.round.missing - under_way(db, entry.id, layer.layer_index, now) < groups.fewest


def _open(layers: Sequence[LayerRow]) -> LayerRow | None:
    """The layer that waits for reports: the last one, if any."""
    return layers[-1] if layers and layers[-1].state == campaign_store.OPEN else None
