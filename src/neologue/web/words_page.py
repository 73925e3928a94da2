"""The released words of a campaign: to search, to sort, to page through, and as files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.responses import Response

from neologue.discovery.open_prefixes import open_prefixes
from neologue.discovery.result import ReleasedWord
from neologue.errors import CampaignError
from neologue.release.layer_archive import pack_documents
from neologue.release.word_lists import hunspell_dic, prefixes_csv, words_csv
from neologue.reporting.sentences import PREFIX_NOTE, interval_note
from neologue.service.api import operator_api
from neologue.service.api.schemas import CampaignView
from neologue.service.collect.stored_layers import documents_of
from neologue.service.review import reviewed_words
from neologue.service.review.released import read_release
from neologue.service.review.reviewed_words import WordFilter
from neologue.web.campaign_pages import download
from neologue.web.page import ALL_ROLES, Page, PageRequest, render_page
from neologue.web.paging import SEARCH_LENGTH, WORDS_PER_PAGE, page_number

ORDERS: Final = {
    "estimate": "Most users first",
    "rarest": "Fewest users first",
    "word": "By spelling",
    "length": "Longest first",
}
SHOWN_PREFIXES = 20


@dataclass(frozen=True)
class IntervalBar:
    """An estimate with its interval, on a logarithmic scale from 0 to 100."""

    low: float
    high: float
    estimate: float


@dataclass(frozen=True)
class Scale:
    """The logarithmic scale that all bars have, with room for all words."""

    least: float
    most: float

    @classmethod
    def of(cls, words: Sequence[ReleasedWord]) -> "Scale":
        """The scale of these words."""
        least = max(1.0, min((word.low for word in words), default=1.0))
        return cls(least, max(2.0, max((word.high for word in words), default=2.0)))

    def position(self, users: float) -> float:
        """Where a number of users is, from 0 to 100."""
        first, last = math.log(self.least), math.log(self.most)
        return round(100 * (math.log(max(1.0, users)) - first) / max(1e-9, last - first), 2)

    def bar(self, word: ReleasedWord) -> IntervalBar:
        """The bar of a word."""
        return IntervalBar(self.position(word.low), self.position(word.high), self.position(word.estimate))

    @property
    def ticks(self) -> dict[int, float]:
        """The powers of ten on it, and where they are."""
        powers = range(math.ceil(math.log10(self.least)), math.floor(math.log10(self.most)) + 1)
        return {10**power: self.position(10.0**power) for power in powers}


def show_words(request: PageRequest) -> Response:
    """One page of the words that a search finds."""
    entry = request.campaign()
    search = request.query.get("q", "").strip()[:SEARCH_LENGTH]
    sort: Any = request.query.get("sort", "")
    words = reviewed_words.unflagged_words(request.service.database, entry)
    shown = reviewed_words.find_words(words, WordFilter())
    wanted = WordFilter(search, sort=sort if sort in ORDERS else "estimate", limit=WORDS_PER_PAGE)
    found = reviewed_words.find_words(shown, wanted)
    pages = max(1, math.ceil(len(found) / WORDS_PER_PAGE))
    page = min(pages, page_number(request.query))
    listed = reviewed_words.page_of(found, msgspec.structs.replace(wanted, offset=(page - 1) * WORDS_PER_PAGE))
    scale = Scale.of([one.released for one in shown])
    release = read_release(request.service.database, entry)
    measurement = release.measurement
    behind = [
        each
        for each in open_prefixes(reviewed_words.shown_prefixes(request.service.database, entry), release.words)
        if each.left
    ]
    return render_page(
        request,
        "words.html",
        campaign=CampaignView.of(entry),
        tab="words",
        rows=[(one.released, scale.bar(one.released)) for one in listed],
        scale=scale,
        measured={word.word: word for word in measurement.words} if measurement else {},
        interval_note=interval_note(measurement),
        open_prefixes=behind[:SHOWN_PREFIXES],
        behind=len(behind),
        users=release.users,
        prefix_note=PREFIX_NOTE,
        total=len(shown),
        found=len(found),
        search=search,
        sort=wanted.sort,
        orders=ORDERS,
        page=page,
        pages=pages,
    )


def download_file(request: PageRequest) -> Response:
    """The words, or the release, as a file."""
    entry = request.campaign()
    words = reviewed_words.shown_words(request.service.database, entry)
    match request.names["file"]:
        case "words.csv":
            text, media = words_csv(words), "text/csv; charset=utf-8"
        case "prefixes.csv":
            text = prefixes_csv(reviewed_words.shown_prefixes(request.service.database, entry))
            media = "text/csv; charset=utf-8"
        case "words.dic":
            text, media = hunspell_dic(word.word for word in words), "text/plain; charset=utf-8"
        case "words.aff":
            text, media = "SET UTF-8\n", "text/plain; charset=utf-8"
        case "release.json":
            text, media = operator_api.release(request.service.context, request.call()).content, "application/json"
        case "layers.zip":
            read_release(request.service.database, entry)  # before that, devices alone are told what is asked
            archive = pack_documents(documents_of(request.service.database, entry.id))
            return download(archive, "application/zip", f"{entry.name}-layers.zip")
        case other:
            raise CampaignError(f"no file of a campaign is called {other[:100]!r}")
    return download(text, media, f"{entry.name}-{request.names['file']}")


PAGES = (
    Page("GET", "/campaigns/{name}/words", show_words, ALL_ROLES),
    Page("GET", "/campaigns/{name}/files/{file}", download_file, ALL_ROLES),
)
