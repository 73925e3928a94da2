"""The route that devices send reports to; docs/protocol.md specifies it.

It does without a framework, because there are millions of reports.
"""

from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive

from neologue.aggregation.ephemeral import IntakeLayer
from neologue.errors import OverfullError, RepeatedError, ReportError, StorageError
from neologue.protocol.report import HEADER_BYTES
from neologue.protocol.submission import HEAD_BYTES, Submission
from neologue.protocol.ticket import block_of
from neologue.service.api.rate_limit import Standing
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import BUSY_SECONDS, Prepared, answer, failure, failure_of
from neologue.service.collect.intake import Intake, Receipt
from neologue.service.collect.late_reports import VOUCHED, LateReports, SenderStatus
from neologue.service.collect.layer_cache import LayerCache, ServedLayer
from neologue.service.collect.replies import Final as FinalAnswer
from neologue.service.collect.replies import Received
from neologue.service.ops.metrics import Counts
from neologue.service.ops.service_keys import Keys
from neologue.service.storage.states import CampaignState

PATH: Final = "/v1/reports"
_FORGED: Final = "this is not the ticket of an invitation"
_SHOWN: Final = HEAD_BYTES + HEADER_BYTES
"""The bytes by which it is seen whether a device was invited."""
_LATE_REPORT: Final = 1 << 17
"""Bytes enough for a report of a layer that is not in the cache any more."""


class ReportRoute:
    """Serves devices that send a report."""

    def __init__(
        self,
        intake: Intake,
        layer_cache: LayerCache,
        bodies: RequestBodies,
        keys: Keys,
        late_reports: LateReports,
        outcomes: Counts,
        patience: float,
    ) -> None:
        """A device whose report is not durable after `patience` seconds is told to ask again after as many."""
        self._intake, self._layer_cache, self._bodies = intake, layer_cache, bodies
        self._keys, self._late_reports, self._outcomes = keys, late_reports, outcomes
        self._responses = _prepare_responses(patience)

    async def answer(self, method: str, receive: Receive, standing: Standing) -> Response | Prepared:
        """The response to one request, whose body is received by ASGI."""
        return await self._take(receive, standing) if method == "POST" else _only_post()

    async def _take(self, receive: Receive, standing: Standing) -> Response | Prepared:
        """Take a report; nothing of it is disclosed to anybody but its device."""
        try:
            most = HEAD_BYTES + self._layer_cache.longest(_LATE_REPORT)
            body = await self._bodies.body(receive, most, _SHOWN, self._is_invited)
            if body is None:
                return self._refuse("too_large", failure(413, "too_large", "no layer that is open has reports as long"))
            submission = Submission.parse(body)
            served = self._layer_cache.open_layer_for(submission.campaign_id, submission.report[1:HEADER_BYTES])
            if served is None:
                return await self._answer_late(submission, standing)
            if not self._has_ticket(submission, served):
                return self._refuse("forged", failure(401, "forged", _FORGED))
            standing.vouch()
            if not isinstance(served.collecting, IntakeLayer):
                return self._refuse(
                    "malformed", failure(400, "malformed", "the campaign takes votes under masks alone")
                )
            return await self._count(served, served.collecting, submission)
        except OverfullError as error:
            return self._refuse("overfull", failure_of(error))
        except RepeatedError as error:
            return self._refuse("repeated", failure_of(error))
        except ReportError as error:
            return self._refuse("malformed", failure_of(error))
        except (TimeoutError, ClientDisconnect):
            return self._refuse("cut", failure(408, "cut", "the request did not arrive in time"))
        except StorageError as error:
            return self._refuse("busy", failure_of(error))

    async def _count(self, served: ServedLayer, layer: IntakeLayer, submission: Submission) -> Response | Prepared:
        """Wait until the report is counted, or until its device had better ask again."""
        campaign = self._layer_cache.campaign(submission.campaign_id)
        if campaign is None or campaign.entry.state != CampaignState.RUNNING:
            return self._refuse("busy", failure(503, "busy", "the campaign is held; send the same bytes later", 60))
        if layer.planned and not self._layer_cache.is_ended(served):
            # When a report is counted depends on who else came, which is told to nobody before the layer is over.
            kept = self._intake.keep(submission.campaign_id, layer, submission.serial, submission.report)
            again = self._layer_cache.asks_again(served, submission.serial)
            self._outcomes.add(kept)
            return answer(Received(again), 202) if kept is Receipt.RECEIVED else self._responses[kept]
        sent = (submission.campaign_id, layer.layer_index, submission.serial)
        if self._layer_cache.is_ended(served) and not self._intake.is_waiting(*sent):
            # Another worker may be about to count it: soon, when the layer is closed, it is known.
            counted = await self._late_reports.is_counted(submission.campaign_id, submission.serial)
            return self._acknowledge(Receipt.FINAL if counted else Receipt.BUSY)
        block = block_of(submission.ticket)
        receipt = await self._intake.receive(submission.campaign_id, layer, submission.serial, submission.report, block)
        return self._acknowledge(receipt)

    def _is_invited(self, shown: bytes) -> bool:
        """Whether the beginning of a body is of a device that is invited to an open layer."""
        submission = Submission.parse(shown)
        served = self._layer_cache.open_layer_for(submission.campaign_id, submission.report[1:])
        return served is not None and self._has_ticket(submission, served)

    def _has_ticket(self, submission: Submission, served: ServedLayer) -> bool:
        return self._keys.is_ticket(submission.ticket, served.campaign_id, served.digest, submission.serial)

    async def _answer_late(self, submission: Submission, standing: Standing) -> Response | Prepared:
        """Answer a report for a layer that is not in the cache: it may be counted, closed, or newer than the cache."""
        if len(submission.report) < HEADER_BYTES:
            raise ReportError(f"{len(submission.report)} bytes are too few for a report")
        tag = submission.report[1:HEADER_BYTES]
        status = await self._late_reports.status(
            submission.campaign_id, submission.serial, submission.ticket, tag, suspect=standing.suspect
        )
        if status in VOUCHED:
            standing.vouch()
        match status:
            case SenderStatus.COUNTED:
                return self._acknowledge(Receipt.FINAL)
            case SenderStatus.CLOSED:
                return self._acknowledge(Receipt.CLOSED)
            case SenderStatus.EARLY:
                begun = "the layer has just begun; send the same bytes again"
                return self._refuse("busy", failure(503, "busy", begun, 1))
            case SenderStatus.UNKNOWN:
                nothing = "no layer of the campaign is answered by this report"
                return self._refuse("unknown", failure(404, "unknown", nothing))
            case SenderStatus.FORGED:
                return self._refuse("forged", failure(401, "forged", _FORGED))

    def _acknowledge(self, receipt: Receipt) -> Prepared:
        self._outcomes.add(receipt)
        return self._responses[receipt]

    def _refuse(self, outcome: str, response: Response) -> Response:
        self._outcomes.add(outcome)
        return response


def _only_post() -> Response:
    response = failure(405, "method", "reports are sent by POST")
    response.headers["Allow"] = "POST"
    return response


def _prepare_responses(patience: float) -> dict[Receipt, Prepared]:
    """The response to each receipt of the intake."""
    responses = {
        Receipt.FINAL: answer(FinalAnswer()),
        Receipt.RECEIVED: answer(Received(patience), 202),
        Receipt.CLOSED: failure(410, "closed", "the layer is closed, and the report was not counted; erase it"),
        Receipt.BUSY: failure(503, "busy", "too much is waiting; send the same bytes later", BUSY_SECONDS),
    }
    # Another worker may have others that wait for a batch, which a new connection may reach.
    responses[Receipt.RECEIVED].headers["Connection"] = "close"
    return {receipt: Prepared.of(response) for receipt, response in responses.items()}
