"""The pages of campaigns: all of them, one of them, its trie, and what an operator can do to it."""

import re
from typing import Final

from starlette.responses import Response

from neologue.errors import ParameterError
from neologue.service.api import operator_api
from neologue.service.api.operator_api import Text
from neologue.service.api.responses import answer
from neologue.service.api.schemas import CampaignView, Wanted
from neologue.service.campaigns import campaign_store
from neologue.service.storage.states import OVER, CampaignState
from neologue.web.campaign_trie import campaign_trie
from neologue.web.page import ALL_ROLES, Page, PageRequest, campaign_path, redirect, render_page
from neologue.web.progress_stream import campaign_progress

MOST_CREDENTIALS: Final = 100_000
"""In one file; for more, ask again or use the command line."""
DEFAULT_HOSTILE: Final = 100
"""How many hostile devices the page calculates with, unless it is asked about another number."""
REFUSAL_REASONS: Final = {
    "malformed": "not a report of its layer",
    "overfull": "more votes than an honest device sends",
    "repeated": "a copy of another device's report",
    "forged": "no valid ticket of an invitation",
    "too_large": "longer than any report",
    "unknown": "for a layer that its campaign does not have",
    "closed": "too late: the layer was closed",
    "busy": "to be sent again: too many were waiting, or the campaign was paused",
    "cut": "did not arrive in time",
}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def show_campaigns(request: PageRequest) -> Response:
    """All campaigns, the latest first, and what each is doing."""
    with request.service.database.reading() as db:
        entries = campaign_store.all_campaigns(db)
    person = request.session.person
    seen = [entry for entry in reversed(entries) if operator_api.may_see(person, entry)]
    rows = [(CampaignView.of(entry), _summary(request, entry)) for entry in seen]
    return render_page(request, "campaigns.html", rows=rows, keys=request.service.context.keys)


def show_campaign(request: PageRequest) -> Response:
    """One campaign, as operators see it."""
    entry = request.campaign()
    progress = campaign_progress(request.service, entry)
    hostile = request.query.get("hostile", str(DEFAULT_HOSTILE))
    released = entry.state == CampaignState.RELEASED
    context = request.service.context
    influence = operator_api.influence(context, request.call(hostile=hostile)).sentences if released else []
    return render_page(
        request,
        "campaign.html",
        campaign=progress.campaign,
        tab="progress",
        progress=progress,
        definition=entry.definition,
        hostile=hostile,
        influence=influence,
        refused=_count_refused(request),
        most_credentials=MOST_CREDENTIALS,
    )


def start(request: PageRequest) -> Response:
    """Start a campaign, or resume it."""
    return redirect(campaign_path(operator_api.start(request.service.context, request.call()).name))


def pause(request: PageRequest) -> Response:
    """Pause a campaign."""
    return redirect(campaign_path(operator_api.pause(request.service.context, request.call()).name))


def confirm_abort(request: PageRequest) -> Response:
    """Ask whether a campaign is really to be aborted."""
    return render_page(request, "confirm_abort.html", campaign=CampaignView.of(request.campaign()), tab="progress")


def abort(request: PageRequest) -> Response:
    """End a campaign without a release."""
    return redirect(campaign_path(operator_api.abort(request.service.context, request.call()).name))


def delete(request: PageRequest) -> Response:
    """Delete a draft."""
    operator_api.delete(request.service.context, request.call())
    return redirect("/")


def issue_credentials(request: PageRequest) -> Response:
    """New credentials as a file; the service keeps no copy."""
    count = request.form.get("count", "").strip().replace(",", "")
    if not re.fullmatch("[0-9]{1,6}", count, re.ASCII) or not 1 <= int(count) <= MOST_CREDENTIALS:
        raise ParameterError(f"credentials are issued 1 to {MOST_CREDENTIALS:,} at once, not {count[:20]!r}")
    issued: Text = operator_api.credentials(request.service.context, request.call(Wanted(int(count))))
    return download(issued.content, issued.media, f"credentials-{request.names['name']}.txt")


def show_trie(request: PageRequest) -> Response:
    """The trie, to be opened prefix by prefix."""
    entry = request.campaign()
    asks_likely = entry.definition.campaign.parameters.layers is not None
    return render_page(request, "trie.html", campaign=CampaignView.of(entry), tab="trie", asks_likely=asks_likely)


def list_branches(request: PageRequest) -> Response:
    """The continuations of one prefix of the trie."""
    start = request.query.get("start", "0")
    if not re.fullmatch("[0-9]{1,9}", start, re.ASCII):
        raise ParameterError(f"start must be a whole number, not {start[:20]!r}")
    trie = campaign_trie(request.service.database, request.campaign())
    return answer(trie.branches(request.query.get("prefix", ""), int(start)))


def download(content: str | bytes, media: str, name: str) -> Response:
    """A file to save, under a name that is safe in a header and on any file system."""
    safe = _UNSAFE.sub("-", name)
    return Response(content, media_type=media, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


_CAMPAIGN: Final = "/campaigns/{name}"
PAGES = (
    Page("GET", "/", show_campaigns, ALL_ROLES),
    Page("GET", _CAMPAIGN, show_campaign),
    Page("POST", f"{_CAMPAIGN}/start", start),
    Page("POST", f"{_CAMPAIGN}/pause", pause),
    Page("GET", f"{_CAMPAIGN}/abort", confirm_abort),
    Page("POST", f"{_CAMPAIGN}/abort", abort),
    Page("POST", f"{_CAMPAIGN}/delete", delete),
    Page("POST", f"{_CAMPAIGN}/credentials", issue_credentials),
    Page("GET", f"{_CAMPAIGN}/trie", show_trie),
    Page("GET", f"{_CAMPAIGN}/trie/branches", list_branches, for_script=True),
)


def _summary(request: PageRequest, entry: campaign_store.CampaignRow) -> str:
    """What a campaign is doing; analysts learn nothing of how many take part in one that is not released."""
    if request.session.is_operator or entry.state == CampaignState.RELEASED:
        return campaign_progress(request.service, entry).summary
    return "Not released yet." if entry.state not in OVER else "Ended without a release."


def _count_refused(request: PageRequest) -> list[tuple[str, int]]:
    """How many reports this worker has not counted, by the reason."""
    counted = {str(outcome): count for (outcome,), count in request.service.metrics.reports.counted.items()}
    return [(reason, counted[outcome]) for outcome, reason in REFUSAL_REASONS.items() if counted.get(outcome)]
