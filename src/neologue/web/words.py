"""The released words of a campaign: to search, to sort, to leaf through, and as files."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from neologue.discovery.result import ReleasedWord
from neologue.errors import CampaignError
from neologue.release.word_lists import hunspell_dic, words_csv
from neologue.service.api import operator_api
from neologue.service.api.schemas import CampaignView
from neologue.web.campaigns import download
from neologue.web.page import BOTH, Page, Visit, rendered
from neologue.web.released import shown_words

AT_ONCE: Final = 50
ORDERS: Final[dict[str, tuple[str, Callable[[ReleasedWord], Any]]]] = {
    "estimate": ("Most users first", lambda word: (-word.estimate, word.word)),
    "fewest": ("Fewest users first", lambda word: (word.estimate, word.word)),
    "word": ("By spelling", lambda word: (word.word.casefold(), word.word)),
    "length": ("Longest first", lambda word: (-len(word.word), word.word)),
}


@dataclass(frozen=True)
class Bar:
    """An estimate with its interval on a scale from 0 to 100, on which ten times as many are as far everywhere."""

    low: float
    high: float
    estimate: float


def words(visit: Visit) -> Response:
    """Some of the words, by what is asked for."""
    entry = visit.entry()
    found = shown_words(visit.service.database, entry)
    sought = visit.query.get("q", "").strip()
    order = visit.query.get("sort", "")
    order = order if order in ORDERS else "estimate"
    chosen = sorted((word for word in found if sought.casefold() in word.word.casefold()), key=ORDERS[order][1])
    pages = max(1, math.ceil(len(chosen) / AT_ONCE))
    given = visit.query.get("page", "1")
    page = min(pages, max(1, int(given) if given.isascii() and given.isdigit() and len(given) < 9 else 1))
    scale = _scale(found)
    rows = [(word, scale(word)) for word in chosen[(page - 1) * AT_ONCE : page * AT_ONCE]]
    return rendered(
        visit,
        "words.html",
        campaign=CampaignView.of(entry),
        here="words",
        rows=rows,
        all=len(found),
        chosen=len(chosen),
        sought=sought,
        order=order,
        orders={name: label for name, (label, _) in ORDERS.items()},
        page=page,
        pages=pages,
    )


def file(visit: Visit) -> Response:
    """The words, or the release, as a file."""
    entry = visit.entry()
    found = shown_words(visit.service.database, entry)
    match visit.names["file"]:
        case "words.csv":
            text, media = words_csv(found), "text/csv; charset=utf-8"
        case "words.dic":
            text, media = hunspell_dic(word.word for word in found), "text/plain; charset=utf-8"
        case "words.aff":
            text, media = "SET UTF-8\n", "text/plain; charset=utf-8"
        case "release.json":
            text, media = operator_api.release(visit.service.context, visit.call()).content, "application/json"
        case other:
            raise CampaignError(f"no file of a campaign is called {other[:100]!r}")
    return download(text, media, f"{entry.name}-{visit.names['file']}")


PAGES = (
    Page("GET", "/campaigns/{name}/words", words, BOTH),
    Page("GET", "/campaigns/{name}/files/{file}", file, BOTH),
)


def _scale(found: tuple[ReleasedWord, ...]) -> Callable[[ReleasedWord], Bar]:
    """Where the figures of each word stand, if all words are to find room."""
    least = math.log(max(1.0, min((word.low for word in found), default=1.0)))
    most = math.log(max(2.0, max((word.high for word in found), default=2.0)))

    def layer_index(users: float) -> float:
        return round(100 * (math.log(max(1.0, users)) - least) / max(1e-9, most - least), 2)

    return lambda word: Bar(layer_index(word.low), layer_index(word.high), layer_index(word.estimate))
