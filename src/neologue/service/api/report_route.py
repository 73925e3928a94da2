"""What devices send as reports and are answered over HTTP; docs/protocol.md specifies it.

It does without a framework, because there are millions of them.
"""

from collections.abc import Callable
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive

from neologue.errors import ReportError, StorageError
from neologue.protocol.report import HEADER_BYTES
from neologue.protocol.submission import HEAD_BYTES, Submission
from neologue.protocol.ticket import is_ticket
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import BUSY_SECONDS, SHARED, Prepared, answer, failure, failure_of
from neologue.service.campaigns import campaign_store
from neologue.service.collect.intake import Intake, Receipt
from neologue.service.collect.late_reports import LateReports, SenderStatus
from neologue.service.collect.layer_cache import LayerCache, ServedLayer
from neologue.service.collect.replies import Final as FinalAnswer
from neologue.service.collect.replies import Received
from neologue.service.ops.metrics import Counts

PATH: Final = "/v1/reports"


class ReportRoute:
    """Serves devices that send a report."""

    def __init__(
        self,
        intake: Callable[[], Intake],
        layer_cache: LayerCache,
        bodies: RequestBodies,
        ticket_secret: bytes,
        late_reports: LateReports,
        outcomes: Counts,
        patience: float,
    ) -> None:
        """A device whose report is not durable after `patience` seconds is told to ask again after as many."""
        self._intake, self._layer_cache, self._bodies = intake, layer_cache, bodies
        self._ticket_secret, self._latecomers, self._outcomes = ticket_secret, late_reports, outcomes
        self._said = _said(patience)

    async def answer(self, method: str, receive: Receive) -> Response | Prepared:
        """The answer to one request, whose body is received as ASGI has it."""
        response = await self._taken(receive) if method == "POST" else _only_post()
        if isinstance(response, Response):  # those that are prepared have it
            response.headers.update(SHARED)
        return response

    async def _taken(self, receive: Receive) -> Response | Prepared:
        """Take a report; nothing of it is said to anybody but its device."""
        try:
            body = await self._bodies.body(receive, HEAD_BYTES + self._layer_cache.longest_report)
            if body is None:
                return self._noted("too_large", failure(413, "too_large", "no layer that is open has reports as long"))
            submission = Submission.parse(body)
            posted = self._layer_cache.answering(submission.campaign_id, submission.report[1:HEADER_BYTES])
            if posted is None:
                return await self._late(submission)
            if not is_ticket(
                submission.ticket, self._ticket_secret, posted.campaign_id, posted.digest, submission.serial
            ):
                return self._noted("forged", failure(401, "forged", "this is not the ticket of an invitation"))
            if posted.gathers:
                return self._noted("malformed", failure(400, "malformed", "the campaign takes votes under masks alone"))
            return await self._counted(posted, submission)
        except ReportError as error:
            return self._noted("malformed", failure_of(error))
        except (TimeoutError, ClientDisconnect):
            return self._noted("cut", failure(408, "cut", "the request did not arrive in time"))
        except StorageError as error:
            return self._noted("busy", failure_of(error))

    async def _counted(self, posted: ServedLayer, submission: Submission) -> Response | Prepared:
        """Wait until the report is counted, or until its device had better ask again."""
        notice = self._layer_cache.notice(posted.campaign_id)
        if notice is None or notice.entry.state != campaign_store.RUNNING:
            return self._noted("busy", failure(503, "busy", "the campaign is held; send the same bytes later", 60))
        receipt = await self._intake().receive(posted.campaign_id, posted.served, submission.serial, submission.report)
        return self._receipted(receipt)

    async def _late(self, submission: Submission) -> Response | Prepared:
        """Answer a report for a layer that is not on the board: it may be counted, closed, or newer than the board."""
        if len(submission.report) < HEADER_BYTES:
            raise ReportError(f"{len(submission.report)} bytes are too few for a report")
        tag = submission.report[1:HEADER_BYTES]
        match await self._latecomers.standing(submission.campaign_id, submission.serial, tag):
            case SenderStatus.COUNTED:
                return self._receipted(Receipt.FINAL)
            case SenderStatus.CLOSED:
                return self._receipted(Receipt.CLOSED)
            case SenderStatus.EARLY:
                begun = "the layer has just begun; send the same bytes again"
                return self._noted("busy", failure(503, "busy", begun, 1))
            case SenderStatus.UNKNOWN:
                nothing = "no layer of the campaign is answered by this report"
                return self._noted("unknown", failure(404, "unknown", nothing))

    def _receipted(self, receipt: Receipt) -> Prepared:
        self._outcomes.add(receipt)
        return self._said[receipt]

    def _noted(self, outcome: str, response: Response) -> Response:
        self._outcomes.add(outcome)
        return response


def _only_post() -> Response:
    response = failure(405, "method", "reports are sent by POST")
    response.headers["Allow"] = "POST"
    return response


def _said(patience: float) -> dict[Receipt, Prepared]:
    """What is answered to each receipt of the intake."""
    said = {
        Receipt.FINAL: answer(FinalAnswer()),
        Receipt.RECEIVED: answer(Received(patience), 202),
        Receipt.CLOSED: failure(410, "closed", "the layer is closed, and the report was not counted; erase it"),
        Receipt.BUSY: failure(503, "busy", "too much is waiting; send the same bytes later", BUSY_SECONDS),
    }
    for response in said.values():
        response.headers.update(SHARED)
    return {receipt: Prepared.of(response) for receipt, response in said.items()}
