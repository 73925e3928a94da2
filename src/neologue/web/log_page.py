"""The page about the log: what this service has published about what it asks, for people who are no engineers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from neologue.service.api.operator_api import may_see
from neologue.service.campaigns import campaign_store
from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE
from neologue.transparency.checkpoint import log_verifier
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.web.page import ALL_ROLES, Page, PageRequest, render_page

ENDS: Final = {
    Deed.ABORTED: "It was ended without a result.",
    Deed.REFUSED: "It was ended without a result, because the privacy budget did not cover more.",
}


@dataclass(frozen=True)
class LoggedCampaign:
    """A campaign, as its entries tell of it."""

    name: str
    identity: str
    sentences: tuple[str, ...]


def show_log(request: PageRequest) -> Response:
    """What is in the log, who has co-signed it, and how anybody checks it."""
    service = request.service
    trust = service.trust
    with service.database.reading() as db:
        entries = log_store.all_entries(db)
        person = request.session.person
        names = {
            entry.id: entry.name if may_see(person, entry) else "a draft" for entry in campaign_store.all_campaigns(db)
        }
        newest = log_store.newest_checkpoint(db, OPERATOR_TREE, trust.quorum)
        cosigned = [
            (server.key.name, log_store.last_cosigned(db, OPERATOR_TREE, server.key.public))
            for server in trust.witnesses
        ]
    return render_page(
        request,
        "log.html",
        campaigns=list(_campaigns(entries, names)),
        size=len(entries),
        published=newest.size if newest else 0,
        cosigned=cosigned,
        quorum=trust.quorum,
        key=str(log_verifier(service.context.keys.log.public_key().public_bytes_raw())),
    )


PAGES = (Page("GET", "/transparency", show_log, ALL_ROLES),)


def _campaigns(entries: Sequence[LogEntry], names: dict[bytes, str]) -> Iterator[LoggedCampaign]:
    """The campaigns in the log, the latest first."""
    for campaign in reversed(list(dict.fromkeys(entry.campaign for entry in entries if entry.campaign))):
        deeds = Counter(entry.deed for entry in entries if entry.campaign == campaign)
        yield LoggedCampaign(names.get(campaign, "a deleted draft"), campaign.hex(), tuple(campaign_sentences(deeds)))


def campaign_sentences(deeds: Counter[Deed]) -> Iterator[str]:
    """What the entries of a campaign show."""
    asked = deeds[Deed.OPENED]
    if not asked:
        yield "The log has its rules. Nobody has been asked anything yet."
    else:
        questions = "question" if asked == 1 else "questions"
        yield f"The log has its rules, and {asked} {questions}, of which {deeds[Deed.CLOSED]} are closed."
    if results := deeds[Deed.RELEASED]:
        yield "It has one result." if results == 1 else f"It has {results} results, where there must be one."
    for deed, sentence in ENDS.items():
        if deeds[deed]:
            yield sentence
