"""The page about the log: what this service has published about what it asks, for people who are no engineers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from neologue.service.campaigns import campaign_store
from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE
from neologue.transparency.checkpoint import log_verifier
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.web.page import ALL_ROLES, Page, PageRequest, render_page

ENDS: Final = {
    Deed.RELEASED: "Its result is published as well; there is no other result of it.",
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
        names = {entry.id: entry.name for entry in campaign_store.all_campaigns(db)}
        newest = log_store.newest_checkpoint(db, OPERATOR_TREE, trust.quorum)
        cosigned = [
            (server.key.name, log_store.last_cosigned(db, OPERATOR_TREE, server.key.public))
            for server in trust.witnesses
        ]
    return render_page(
        request,
        "log.html",
        campaigns=list(_campaigns(entries, names, witnessed=trust.quorum > 0)),
        size=len(entries),
        published=newest.size if newest else 0,
        cosigned=cosigned,
        quorum=trust.quorum,
        key=str(log_verifier(service.context.keys.log.public_key().public_bytes_raw())),
    )


PAGES = (Page("GET", "/transparency", show_log, ALL_ROLES),)


def _campaigns(entries: Sequence[LogEntry], names: dict[bytes, str], *, witnessed: bool) -> Iterator[LoggedCampaign]:
    """The campaigns in the log, the latest first."""
    for campaign in reversed(list(dict.fromkeys(entry.campaign for entry in entries if entry.campaign))):
        deeds = Counter(entry.deed for entry in entries if entry.campaign == campaign)
        sentences = tuple(_sentences(deeds, witnessed=witnessed))
        yield LoggedCampaign(names.get(campaign, "a deleted draft"), campaign.hex(), sentences)


def _sentences(deeds: Counter[Deed], *, witnessed: bool) -> Iterator[str]:
    if not deeds[Deed.OPENED]:
        yield "Its rules are published. Nobody has been asked anything yet."
    else:
        questions = "question was" if deeds[Deed.OPENED] == 1 else "questions were"
        when = "before any device was asked it" if witnessed else "when it was opened"
        yield f"Its rules were published first. Then {deeds[Deed.OPENED]} {questions} published, each {when}."
        yield f"{deeds[Deed.CLOSED]} of them have been closed."
    for deed, sentence in ENDS.items():
        if deeds[deed]:
            yield sentence
