"""What devices of secure aggregation send and are answered over HTTP; docs/protocol.md specifies it.

The body of every request is that of a report, with the layer's whole digest and a message of the group in its place:

    bytes 0–47     campaign, serial and ticket, as in a submission
    bytes 48–79    the digest of the layer
    bytes 80–      the message; nothing to join a group, or to ask how one fares
"""

import re
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.aggregation.masked_aggregator import GatheringLayer
from neologue.errors import MaskingError, ReportError
from neologue.masking.terms import GROUP_BYTES, LAYER_BYTES
from neologue.protocol.report import TAG_BYTES
from neologue.protocol.submission import HEAD_BYTES, Submission
from neologue.service.api.rate_limit import Standing
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import answer, failure
from neologue.service.collect.late_reports import VOUCHED, LateReports, SenderStatus
from neologue.service.collect.layer_cache import LayerCache, ServedLayer
from neologue.service.collect.replies import Final as FinalAnswer
from neologue.service.collect.replies import GroupOffer, Received
from neologue.service.masked.group_answer import GroupAnswer, GroupReply
from neologue.service.masked.groups import MaskingGroups
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.states import CampaignState

OCTETS: Final = "application/octet-stream"
_FORGED: Final = "this is not the ticket of an invitation"
_HEAD: Final = HEAD_BYTES + LAYER_BYTES
_LATE_MESSAGE: Final = 1 << 20
"""Bytes enough for a message to a layer that is not in the cache any more, of about a million candidates."""
_GROUP: Final = re.compile(f"[0-9a-f]{{{2 * GROUP_BYTES}}}", re.ASCII)
_AGAIN: Final = 1.0
"""After how many seconds a device that waits for others asks again."""


@dataclass(frozen=True)
class GroupRoutes:
    """Serves devices of secure aggregation."""

    groups: MaskingGroups
    layer_cache: LayerCache
    bodies: RequestBodies
    keys: Keys
    late_reports: LateReports

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/v1/cohorts", self._join, methods=["POST"]),
            Route("/v1/cohorts/{group}", self._message, methods=["POST"]),
        ]

    async def _join(self, request: Request) -> Response:
        sent = await self._read(request)
        if isinstance(sent, Response):
            return sent
        submission, _, layer = sent
        campaign = self.layer_cache.campaign(submission.campaign_id)
        if campaign is None or campaign.entry.state != CampaignState.RUNNING:
            return failure(503, "busy", "the campaign is held; join later", 60)
        reply = await self.groups.join(layer, submission.serial)
        return answer(GroupOffer(reply.hex())) if isinstance(reply, bytes) else _respond(reply)

    async def _message(self, request: Request) -> Response:
        name = request.path_params["group"]
        if not _GROUP.fullmatch(name):
            return failure(404, "unknown", "a group has a name of 32 hexadecimal digits")
        sent = await self._read(request)
        if isinstance(sent, Response):
            return sent
        submission, message, _ = sent
        try:
            reply = await self.groups.receive(submission.campaign_id, submission.serial, bytes.fromhex(name), message)
        except MaskingError as error:
            # These name numbers of devices in the group and of bytes, and nothing that a device holds.
            return failure(400, "malformed", f"the message can't be used: {error}")
        return _respond(reply)

    async def _read(self, request: Request) -> tuple[Submission, bytes, GatheringLayer] | Response:
        """What a device of an open layer has sent; or the answer to anything else."""
        most = _HEAD + self.layer_cache.longest(_LATE_MESSAGE)
        body = await self.bodies.body(request.receive, most, _HEAD, self._is_invited)
        if body is None:
            return failure(413, "too_large", "no group has messages as long")
        submission = Submission.parse(body)
        digest, message = submission.report[:LAYER_BYTES], submission.report[LAYER_BYTES:]
        if len(digest) < LAYER_BYTES:
            raise ReportError(f"{len(body)} bytes are too few for a message of a group")
        served = self._served(submission, digest)
        standing: Standing = request.scope["standing"]
        if served is None:
            return await self._answer_late(submission, digest, standing)
        if not self._has_ticket(submission, digest):
            return failure(401, "forged", _FORGED)
        standing.vouch()
        if not isinstance(served.collecting, GatheringLayer):
            return failure(404, "unknown", "the campaign has no groups: it takes reports as they are")
        return submission, message, served.collecting

    def _is_invited(self, shown: bytes) -> bool:
        """Whether the beginning of a body is of a device that is invited to an open layer."""
        submission = Submission.parse(shown)
        return self._served(submission, submission.report) is not None and self._has_ticket(
            submission, submission.report
        )

    def _served(self, submission: Submission, digest: bytes) -> ServedLayer | None:
        served = self.layer_cache.open_layer_for(submission.campaign_id, digest[:TAG_BYTES])
        return served if served and served.digest == digest else None

    def _has_ticket(self, submission: Submission, digest: bytes) -> bool:
        return self.keys.is_ticket(submission.ticket, submission.campaign_id, digest, submission.serial)

    async def _answer_late(self, submission: Submission, digest: bytes, standing: Standing) -> Response:
        """Answer for a layer that is not in the cache: its votes may be counted, closed, or it is newer."""
        status = await self.late_reports.status(
            submission.campaign_id, submission.serial, submission.ticket, digest, suspect=standing.suspect
        )
        if status in VOUCHED:
            standing.vouch()
        match status:
            case SenderStatus.COUNTED:
                return _respond(GroupAnswer.FINAL)
            case SenderStatus.CLOSED:
                return _respond(GroupAnswer.CLOSED)
            case SenderStatus.EARLY:
                return failure(503, "busy", "the layer has just begun; send the same again", 1)
            case SenderStatus.UNKNOWN:
                return failure(404, "unknown", "the campaign has no such layer")
            case SenderStatus.FORGED:
                return failure(401, "forged", _FORGED)


def _respond(reply: GroupReply) -> Response:
    """A reply to a device as HTTP."""
    match reply:
        case bytes():
            return Response(reply, media_type=OCTETS)
        case GroupAnswer.FINAL:
            return answer(FinalAnswer())
        case GroupAnswer.WAIT:
            return answer(Received(_AGAIN), 202)
        case GroupAnswer.OUT:
            return failure(409, "out", "the group goes on without this device; join another")
        case GroupAnswer.CLOSED:
            return failure(410, "closed", "the votes are not in a sum that is counted, and never will be; erase them")
    busy = failure(503, "busy", "there is no group here for this device now; try again", _AGAIN)
    # Another worker may have it, which a new connection may reach.
    busy.headers["Connection"] = "close"
    return busy
