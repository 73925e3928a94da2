"""Trends: the share of users of each word, release after release, for teams that repeat their campaign."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from starlette.responses import Response

from neologue.language.near_words import fold
from neologue.release.comparison import ChangeKind
from neologue.release.trends import FEWEST_RELEASES, SharePoint, WordTrend, word_trends
from neologue.service.api.schemas import CampaignView
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.review.released import read_release
from neologue.service.review.verdicts import HIDDEN, rulings
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState
from neologue.web.page import ALL_ROLES, Page, PageRequest, render_page
from neologue.web.paging import SEARCH_LENGTH, WORDS_PER_PAGE, page_number

MOST_RELEASES: Final = 6
"""The releases that a page compares, the latest ones; each may have tens of thousands of words."""
CACHED_SERIES: Final = 2
"""How many series are kept in memory."""
SHOWN: Final = {
    "": "Changes",
    ChangeKind.NEW.value: "New",
    ChangeKind.RISEN.value: "Rising",
    ChangeKind.FALLEN.value: "Falling",
    ChangeKind.STEADY.value: "Within chance",
    ChangeKind.GONE.value: "No longer released",
    "all": "All words",
}
LABELS: Final = {
    ChangeKind.NEW: "new",
    ChangeKind.RISEN: "rising",
    ChangeKind.FALLEN: "falling",
    ChangeKind.STEADY: "within chance",
    ChangeKind.GONE: "no longer released",
}
_PART: Final = re.compile(r"(?P<whole>.*) [0-9]+ of [0-9]+")


@dataclass(frozen=True)
class Series:
    """Released campaigns that ask the same people in the same language, the earliest first."""

    name: str
    campaigns: Sequence[CampaignRow]


@dataclass(frozen=True)
class Mark:
    """A point of a small chart and its interval, all in per cent of the chart."""

    x: float
    y: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Sparkline:
    """The small chart of a word, whose height is the upper end of its highest interval."""

    marks: Sequence[Mark]
    lines: Sequence[tuple[Mark, Mark]]
    """Between releases that follow each other."""

    @classmethod
    def of(cls, points: Sequence[SharePoint | None]) -> "Sparkline":
        """The chart of these points."""
        most = max((point.high for point in points if point), default=0.0) or 1.0
        marks = [
            Mark(100 * (index + 0.5) / len(points), *(100 * (1 - each / most) for each in _ends(point)))
            if point
            else None
            for index, point in enumerate(points)
        ]
        lines = [(left, right) for left, right in pairwise(marks) if left and right]
        return cls([mark for mark in marks if mark], lines)


def show_trends(request: PageRequest) -> Response:
    """One page of the words of a series that a filter finds."""
    database = request.service.database
    with database.reading() as db:
        every = campaign_store.all_campaigns(db)
    series = series_of(entry for entry in every if entry.state == CampaignState.RELEASED)
    wanted = request.query.get("series", "")
    chosen = next((each for each in series if each.name == wanted), series[0] if series else None)
    if chosen is None:
        return render_page(request, "trends.html", chosen=None)
    entries = chosen.campaigns[-MOST_RELEASES:]
    hidden, accepted = _ruled(database, entries)
    trends = [each for each in _trends_of(database, tuple(each.name for each in entries)) if each.word not in hidden]
    kind, search = request.query.get("show", ""), request.query.get("q", "").strip()[:SEARCH_LENGTH]
    kind = kind if kind in SHOWN else ""
    part = fold(search)
    found = [each for each in trends if _is_shown(each, kind) and part in fold(each.word)]
    pages = max(1, math.ceil(len(found) / WORDS_PER_PAGE))
    page = min(pages, page_number(request.query))
    listed = found[(page - 1) * WORDS_PER_PAGE : page * WORDS_PER_PAGE]
    return render_page(
        request,
        "trends.html",
        chosen=chosen,
        series=series,
        releases=[(CampaignView.of(entry), len(read_release(database, entry).words)) for entry in entries],
        counts={LABELS[kind]: sum(each.change.kind is kind for each in trends) for kind in ChangeKind},
        rows=[(each, Sparkline.of(each.points), LABELS[each.change.kind], accepted.get(each.word)) for each in listed],
        shown=SHOWN,
        show=kind,
        search=search,
        found=len(found),
        page=page,
        pages=pages,
    )


def series_of(released: Iterable[CampaignRow]) -> list[Series]:
    """The series that have enough releases, the one with the latest release first."""
    grouped: dict[str, list[CampaignRow]] = {}
    for entry in sorted(released, key=lambda entry: entry.changed):
        grouped.setdefault(_series_name(entry), []).append(entry)
    found = [Series(name, entries) for name, entries in grouped.items() if len(entries) >= FEWEST_RELEASES]
    return sorted(found, key=lambda each: -each.campaigns[-1].changed)


def _series_name(entry: CampaignRow) -> str:
    """Whom a campaign asks: all parts of a population are one, and rehearsals are apart from real people."""
    definition = entry.definition
    population = definition.population or ""
    part = _PART.fullmatch(population)
    asked = (part["whole"] if part else population) or "no population"
    return f"{asked}, {definition.language or 'no language'}{' (rehearsals)' if definition.rehearsal else ''}"


@lru_cache(CACHED_SERIES)
def _trends_of(database: Database, names: tuple[str, ...]) -> list[WordTrend]:
    """The trends of released campaigns by their names: a release never changes."""
    with database.reading() as db:
        entries = [campaign_store.campaign_named(db, name) for name in names]
    return word_trends([read_release(database, entry) for entry in entries])


def _ruled(database: Database, entries: Sequence[CampaignRow]) -> tuple[set[str], Mapping[str, str]]:
    """The words that are hidden in any of the campaigns, and in which one a word was accepted."""
    hidden: set[str] = set()
    accepted: dict[str, str] = {}
    with database.reading() as db:
        for entry in entries:
            for word, ruling in rulings(db, entry.id).items():
                if ruling.verdict == HIDDEN:
                    hidden.add(word)
                elif ruling.verdict == "accepted":
                    accepted[word] = entry.name
    return hidden, accepted


def _is_shown(trend: WordTrend, kind: str) -> bool:
    return kind in ("all", trend.change.kind.value) or (not kind and trend.change.kind is not ChangeKind.STEADY)


def _ends(point: SharePoint) -> tuple[float, float, float]:
    return point.share, point.high, point.low


PAGES = (Page("GET", "/trends", show_trends, ALL_ROLES),)
