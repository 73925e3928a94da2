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
from neologue.web.campaign_trie import trie_of
from neologue.web.page import BOTH, Page, Visit, rendered, seen, to_campaign
from neologue.web.progress import standing

MOST_CREDENTIALS: Final = 100_000
"""In one file; more are had by one more, or by the command line."""
HOSTILE: Final = 100
"""How many hostile devices the page reckons with, unless it is asked about others."""
REFUSED: Final = {
    "malformed": "not a report of its layer",
    "forged": "no ticket of an invitation",
    "too_large": "longer than any report",
    "unknown": "of no layer of its campaign",
    "closed": "too late: the layer was closed",
    "busy": "put off: too much was waiting, or the campaign was held",
    "cut": "did not arrive in time",
}
_FILE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def overview(visit: Visit) -> Response:
    """All campaigns, the latest first, and what each is doing."""
    with visit.service.database.reading() as db:
        entries = campaign_store.entries(db)
    rows = [(CampaignView.of(entry), _doing(visit, entry)) for entry in reversed(entries)]
    return rendered(visit, "campaigns.html", rows=rows)


def one(visit: Visit) -> Response:
    """One campaign, as operators see it."""
    entry = visit.entry()
    stands = standing(visit.service, entry)
    hostile = visit.query.get("hostile", str(HOSTILE))
    released = entry.state == CampaignState.RELEASED
    bounds = operator_api.influence(visit.service.context, visit.call(hostile=hostile)).sentences if released else []
    return rendered(
        visit,
        "campaign.html",
        campaign=stands.campaign,
        here="progress",
        standing=stands,
        definition=entry.definition,
        hostile=hostile,
        influence=bounds,
        refused=_refused(visit),
        most=MOST_CREDENTIALS,
    )


def start(visit: Visit) -> Response:
    """Begin a campaign, or go on with it."""
    return seen(to_campaign(operator_api.start(visit.service.context, visit.call()).name))


def pause(visit: Visit) -> Response:
    """Hold a campaign."""
    return seen(to_campaign(operator_api.pause(visit.service.context, visit.call()).name))


def ask_abort(visit: Visit) -> Response:
    """Ask whether a campaign is really to be ended."""
    return rendered(visit, "abort.html", campaign=CampaignView.of(visit.entry()), here="progress")


def abort(visit: Visit) -> Response:
    """End a campaign without a release."""
    return seen(to_campaign(operator_api.abort(visit.service.context, visit.call()).name))


def credentials(visit: Visit) -> Response:
    """New credentials as a file, which the service keeps no copy of."""
    count = visit.form.get("count", "").strip().replace(",", "")
    if not re.fullmatch("[0-9]{1,6}", count, re.ASCII) or not 1 <= int(count) <= MOST_CREDENTIALS:
        raise ParameterError(f"credentials are issued 1 to {MOST_CREDENTIALS:,} at once, not {count[:20]!r}")
    issued: Text = operator_api.credentials(visit.service.context, visit.call(Wanted(int(count))))
    return download(issued.content, issued.media, f"credentials-{visit.names['name']}.txt")


def trie(visit: Visit) -> Response:
    """The trie, to be opened prefix by prefix."""
    stands = standing(visit.service, visit.entry())
    return rendered(visit, "trie.html", campaign=stands.campaign, here="trie", standing=stands)


def branches(visit: Visit) -> Response:
    """How one prefix of the trie goes on."""
    start = visit.query.get("start", "0")
    if not re.fullmatch("[0-9]{1,9}", start, re.ASCII):
        raise ParameterError(f"start is a whole number, not {start[:20]!r}")
    grown = trie_of(visit.service.database, visit.entry())
    return answer(grown.branches(visit.query.get("prefix", ""), int(start)))


def download(content: str, media: str, name: str) -> Response:
    """A file to keep; its name has nothing in it that a file system or a header could mind."""
    safe = _FILE.sub("-", name)
    return Response(content, media_type=media, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


_ONE: Final = "/campaigns/{name}"
PAGES = (
    Page("GET", "/", overview, BOTH),
    Page("GET", _ONE, one),
    Page("POST", f"{_ONE}/start", start),
    Page("POST", f"{_ONE}/pause", pause),
    Page("GET", f"{_ONE}/abort", ask_abort),
    Page("POST", f"{_ONE}/abort", abort),
    Page("POST", f"{_ONE}/credentials", credentials),
    Page("GET", f"{_ONE}/trie", trie),
    Page("GET", f"{_ONE}/trie/branches", branches, for_script=True),
)


def _doing(visit: Visit, entry: campaign_store.CampaignRow) -> str:
    """What a campaign is doing; to those who read releases alone, nothing of who takes part."""
    if visit.session.operates or entry.state == CampaignState.RELEASED:
        return standing(visit.service, entry).doing
    return "Is not released yet." if entry.state not in OVER else "Ended without a release."


def _refused(visit: Visit) -> list[tuple[str, int]]:
    """How many reports this worker did not count, by why."""
    counted = {str(outcome): count for (outcome,), count in visit.service.metrics.reports.counted.items()}
    return [(why, counted[outcome]) for outcome, why in REFUSED.items() if counted.get(outcome)]
