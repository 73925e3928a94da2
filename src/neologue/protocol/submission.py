"""A submission: the body in which a device sends its report.

bytes 0–15     the identity of the campaign
bytes 16–31    the serial of the device's credential
bytes 32–47    the ticket of its invitation
bytes 48–      the report
"""

from dataclasses import dataclass
from typing import Self

from neologue.errors import ReportError
from neologue.protocol.credential import SERIAL_BYTES
from neologue.protocol.invitation import CAMPAIGN_BYTES
from neologue.protocol.ticket import TICKET_BYTES

_TICKET = CAMPAIGN_BYTES + SERIAL_BYTES
HEAD_BYTES = _TICKET + TICKET_BYTES
"""How many bytes there are before the report."""


@dataclass(frozen=True)
class Submission:
    """A report, and which device it is from."""

    campaign_id: bytes
    serial: bytes
    ticket: bytes
    report: bytes

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """The parts of a body; or a ReportError if it is too short to have them."""
        if len(body) <= HEAD_BYTES:
            raise ReportError(f"{len(body)} bytes are too few for a submission")
        return cls(body[:CAMPAIGN_BYTES], body[CAMPAIGN_BYTES:_TICKET], body[_TICKET:HEAD_BYTES], body[HEAD_BYTES:])

    def __bytes__(self) -> bytes:
        return self.campaign_id + self.serial + self.ticket + self.report
