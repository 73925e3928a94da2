"""The privacy page of a campaign: its guarantees, every bound, and the budget that pays for it."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from neologue.privacy.colluders import cost_by_colluders
from neologue.release.facts import privacy_facts
from neologue.reporting.short_facts import privacy_facts as named_facts
from neologue.reporting.short_facts import threshold_facts
from neologue.service.api.schemas import CampaignView
from neologue.service.campaigns.consent import foreseen_facts_of
from neologue.service.review.released import read_release
from neologue.service.storage.states import CampaignState
from neologue.web.page import ALL_ROLES, Page, PageRequest, render_page
from neologue.web.price import budget_view, foreseen_statement

NOT_PROMISED: Final = {"unique_words": None, "thresholds": ()}
"""What releases of formats 1 and 2 do not state."""
_UNITS: Final = {"item_central": "a word", "user_central": "a whole user"}


def show_privacy(request: PageRequest) -> Response:
    """What the release states; before there is one, operators see what it will state if layers go as foreseen."""
    entry = request.campaign()
    foreseen = request.session.is_operator and entry.state != CampaignState.RELEASED
    statement: Mapping[str, Any]
    if foreseen:
        statement, facts = foreseen_statement(entry.definition), foreseen_facts_of(entry.definition)
    else:
        release = read_release(request.service.database, entry)
        statement = NOT_PROMISED | dict(release.privacy)
        facts = privacy_facts(release.parameters, release.layers, release.measurement, release.exposure)
    return render_page(
        request,
        "privacy.html",
        campaign=CampaignView.of(entry),
        tab="privacy",
        foreseen=foreseen,
        named_facts=[*named_facts(statement), *threshold_facts(statement)],
        statement=statement,
        bounds=_bounds(statement),
        colluders=cost_by_colluders(facts),
        budget=budget_view(request.service.ledger, entry.definition),
    )


PAGES = (Page("GET", "/campaigns/{name}/privacy", show_privacy, ALL_ROLES),)


def _bounds(statement: Mapping[str, Any]) -> list[tuple[str, str, float | None, str]]:
    """For each central bound: whom it protects, its name, its ε, and its theorem or why it does not apply."""
    return [
        (whom, name, central[name], central["reasons"].get(name) or theorem)
        for part, whom in _UNITS.items()
        for central in (statement[part],)
        for name, theorem in central["theorems"].items()
    ]
