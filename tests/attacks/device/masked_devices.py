"""Devices of a masked campaign that speak to the real service over HTTP, some of them hostile."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from neologue.device.library import Library
from neologue.device.masked import Ballot, Identity, Member
from neologue.entropy import SeededEntropy
from neologue.masking.agreement import ShareRequest, Survivors
from neologue.masking.messages import Delivery
from neologue.masking.roster import Roster
from neologue.masking.terms import Promise, Terms
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.layer import Layer
from neologue.protocol.report import make_report, read_report
from service.masked_crowd import invited, started
from service.serving import Reply, Served, fetch_layer

Counts = NDArray[np.int64]
GROUP = 12
LASTING: dict[str, Any] = {"devices": 100_000, "layer_seconds": 1e6, "cohort_size": GROUP, "smallest_cohort": 6}


@dataclass
class Device:
    """A device with a credential, which votes as it is told."""

    credential: Credential
    ticket: bytes
    votes: Counts
    leaves: int | None = None
    """Before which of its messages it falls silent."""
    member: Member | None = None
    """Its own code in its next group, if that is not the usual one."""

    @property
    def serial(self) -> bytes:
        return self.credential.serial


@dataclass
class MaskedCampaign:
    """A running campaign, and the devices that its open layer asks."""

    service: Served
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.id = started(self.service, name=self.name, **{**LASTING, **self.settings})
        _, self.digest = invited(self.service, 1, self.name)
        self.layer: Layer | ClosedLayer = fetch_layer(self.service, Library(), self.digest)

    def devices(self, count: int) -> list[Device]:
        """Devices that are invited, with votes that honest ones make."""
        credentials = map(Credential.parse, invited(self.service, count, self.name)[0])
        return [self._device(credential, number) for number, credential in enumerate(credentials)]

    def _device(self, credential: Credential, number: int) -> Device:
        told = self.check_in(credential)
        self.promise = Promise.parse(bytes.fromhex(told["masked"]))
        report = make_report(self.layer, np.array([number % 7, 100]), SeededEntropy(number))
        votes = np.bincount(read_report(self.layer, report), minlength=self.entries)
        return Device(credential, bytes.fromhex(told["ticket"]), votes)

    @property
    def entries(self) -> int:
        return self.layer.randomizer.candidates

    def check_in(self, credential: Credential) -> dict[str, Any]:
        """What the service tells a device that checks in."""
        told: dict[str, Any] = self.service.ask("POST", "/v1/check-in", {"credential": credential.text}).json
        return told

    def join(self, device: Device) -> Reply:
        """What a device is told that wants to join a group."""
        return self.send(device, "/v1/cohorts", b"")

    def send(self, device: Device, path: str, message: bytes) -> Reply:
        """The answer to a message, or to a wish to join."""
        body = self.id + device.serial + device.ticket + self.digest + message
        reply = self.service.ask("POST", path, body)
        while reply.status == 202:
            reply = self.service.ask("POST", path, body)
        return reply

    def member(self, device: Device, terms: Terms) -> Member:
        """The device's own code, as it begins to take part in a group."""
        if device.member is not None:
            return device.member
        key = Ed25519PrivateKey.from_private_bytes(device.credential.signing_key)
        ballot = Ballot.of_votes(self.layer.digest, device.votes, self.layer.randomizer.channel.contributions)
        return Member(terms, ballot, self.promise, Identity(self.id, key, device.credential.voucher))

    def joined(self, device: Device) -> Terms:
        """The terms of a group that a device joins."""
        return Terms.parse(bytes.fromhex(self.join(device).json["terms"]))

    def take_part(self, device: Device, terms: Terms) -> Reply | None:
        """How a group ends for a device that joined it; None if it has left."""
        member = self.member(device, terms)
        steps = {
            Roster.number: member.share,
            Delivery.number: member.mask,
            Survivors.number: member.confirm,
            ShareRequest.number: member.unmask,
        }
        message = member.advertise()
        while True:
            if message[1] == device.leaves:
                return None
            reply = self.send(device, f"/v1/cohorts/{terms.group_id.hex()}", message)
            if reply.status != 200 or reply.body[:1] == b"{":
                return reply
            message = steps[reply.body[1]](reply.body)

    def group(self, devices: Sequence[Device], terms: Sequence[Terms] = ()) -> list[Reply | None]:
        """How a group of these devices ends for each of them."""
        terms = terms or [self.joined(device) for device in devices]
        assert len({each.group_id for each in terms}) == 1
        with ThreadPoolExecutor(len(devices)) as pool:
            return list(pool.map(self.take_part, devices, terms))

    def warnings(self) -> list[str]:
        """What an operator is warned of in the first layer."""
        layers = self.service.ask("GET", f"/v1/campaigns/{self.name}/layers").json
        return [str(warning) for warning in layers[0]["warnings"]]


def statuses(replies: Sequence[Reply | None]) -> list[int | None]:
    return [None if reply is None else reply.status for reply in replies]
