"""The privacy page of a campaign: what is promised and to whom, every bound, and the budget that pays for it."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from neologue.reporting.sentences import privacy_lines
from neologue.service.api.schemas import CampaignView
from neologue.service.storage.states import CampaignState
from neologue.web.page import BOTH, Page, Visit, rendered
from neologue.web.price import account, stated
from neologue.web.released import release_of

_UNITS: Final = {"item_central": "a word", "user_central": "a whole user"}


def privacy(visit: Visit) -> Response:
    """What holds for the release; before there is one, what will hold at least, to operators alone."""
    entry = visit.entry()
    foreseen = visit.session.operates and entry.state != CampaignState.RELEASED
    statement: Mapping[str, Any] = (
        stated(entry.definition) if foreseen else release_of(visit.service.database, entry).privacy
    )
    return rendered(
        visit,
        "privacy.html",
        campaign=CampaignView.of(entry),
        here="privacy",
        foreseen=foreseen,
        lines=privacy_lines(statement),
        statement=statement,
        bounds=_bounds(statement),
        account=account(visit.service.ledger, entry.definition),
    )


PAGES = (Page("GET", "/campaigns/{name}/privacy", privacy, BOTH),)


def _bounds(statement: Mapping[str, Any]) -> list[tuple[str, str, float | None, str]]:
    """Whom each central bound is for, its name, its ε, and its theorem or why it says nothing."""
    return [
        (whom, name, central[name], central["reasons"].get(name) or theorem)
        for part, whom in _UNITS.items()
        for central in (statement[part],)
        for name, theorem in central["theorems"].items()
    ]
