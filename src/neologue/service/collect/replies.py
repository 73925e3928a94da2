"""The requests and responses of devices that are JSON."""

from typing import Annotated

import msgspec


class CheckIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device asks whether there is something to do."""

    credential: Annotated[str, msgspec.Meta(min_length=128, max_length=128)]


class Wait(msgspec.Struct, frozen=True, tag_field="state", tag="wait", omit_defaults=True):
    """Nothing to do yet: check in again later."""

    retry_after: int
    succession: str | None = None
    """How the operator's keys have replaced each other, if any has; devices look at it first."""


class Invited(msgspec.Struct, frozen=True, tag_field="state", tag="invited", omit_defaults=True):
    """A layer to answer; all bytes are in hexadecimal."""

    layer: str
    operator: str
    signature: str
    ticket: str
    masked: str | None = None
    """The promise about groups, if votes are masked."""
    proof: str | None = None
    """A proof about the invitation, for devices that know its kind."""
    succession: str | None = None


class Over(msgspec.Struct, frozen=True, tag_field="state", tag="over", omit_defaults=True):
    """Nothing more will be asked of this device in this campaign."""

    succession: str | None = None


class Final(msgspec.Struct, frozen=True, tag_field="state", tag="final"):
    """The report is counted, and the device may erase it."""


class Received(msgspec.Struct, frozen=True, tag_field="state", tag="received"):
    """The report has arrived but may still be lost: send the same bytes again."""

    retry_after: float


class GroupOffer(msgspec.Struct, frozen=True, tag_field="state", tag="cohort"):
    """A group that the device may join, by its terms in hexadecimal."""

    terms: str


CheckInReply = Wait | Invited | Over
