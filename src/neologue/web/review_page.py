"""The review of released words: to filter them by flag and verdict, to rule on them, and to download them."""

from typing import Any, Final, get_args
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from neologue.errors import ParameterError
from neologue.reporting.sentences import interval_note
from neologue.service.api import operator_api
from neologue.service.api.responses import answer
from neologue.service.api.schemas import CampaignView, Decide, Export, HistoryOf
from neologue.service.review import reviewed_words
from neologue.service.review.export import ENDINGS
from neologue.service.review.released import read_release
from neologue.service.review.reviewed_words import ReviewedWord, WordFilter
from neologue.service.review.verdicts import LONGEST_NOTE, Verdict
from neologue.web.campaign_pages import download
from neologue.web.page import ALL_ROLES, Page, PageRequest, campaign_path, redirect, render_page
from neologue.web.paging import SEARCH_LENGTH, WORDS_PER_PAGE, page_number

VERDICTS: Final = {
    "": "All but hidden",
    "open": "Open",
    "accepted": "Accepted",
    "rejected": "Rejected",
    "hidden": "Hidden",
    "any": "All, including hidden",
}
FLAGS: Final = {
    "": "Any or none",
    "none": "None",
    "any": "Any",
    "personal": "Personal data",
    "profanity": "Profanity",
    "near": "Near a known word",
}
ORDERS: Final = {
    "estimate": "Most users first",
    "rarest": "Fewest users first",
    "word": "By spelling",
    "flags": "Most flags first",
    "latest": "Latest verdict first",
}
FORMATS: Final = {"csv": "CSV", "dic": "Hunspell .dic", "aosp": "AOSP word list", "json": "JSON"}
ACTIONS: Final = {"accepted": "Accept", "rejected": "Reject", "hidden": "Hide", "open": "Reopen"}


def show_review(request: PageRequest) -> Response:
    """One page of the words that pass the filter."""
    entry = request.campaign()
    wanted = _parse_filter(request.query)
    words = reviewed_words.flagged_words(request.service.database, entry)
    found = reviewed_words.find_words(words, wanted)
    return render_page(
        request,
        "review.html",
        campaign=CampaignView.of(entry),
        tab="review",
        wanted=wanted,
        rows=reviewed_words.page_of(found, wanted),
        found=len(found),
        counts={name: sum(one.verdict == name for one in words) for name in get_args(Verdict)},
        query=_query(wanted),
        page_links=_page_links(wanted, len(found)),
        verdicts=VERDICTS,
        flags=FLAGS,
        orders=ORDERS,
        formats=FORMATS,
        actions=ACTIONS,
        longest_note=LONGEST_NOTE,
        interval_note=interval_note(read_release(request.service.database, entry).measurement),
    )


def rule_on_words(request: PageRequest) -> Response:
    """Rule on one word of a form, on the selected ones or on all that its filter finds; then show the list again."""
    wanted = _parse_filter(request.form)
    verdict, _, word = request.form.get("rule", "").partition(" ")
    words = [word] if word else request.form.getlist("word")
    if request.form.get("all"):
        verdict, words = request.form.get("all", ""), [one.word for one in _find_words(request, wanted)]
        if str(len(words)) != request.form.get("found"):
            raise ParameterError("the words that the filter finds have changed meanwhile: look at the list again")
    if not words:
        raise ParameterError("no word is selected: select some, or rule on all that the filter finds")
    decision = _parse_decision(words, verdict, request.form.get("note", ""))
    operator_api.decide(request.service.context, request.call(decision))
    return redirect(f"{campaign_path(request.names['name'], 'review')}?{urlencode(_query(wanted))}")


def rule_on_word(request: PageRequest) -> Response:
    """Rule on one word, for the script of the page."""
    form = request.form
    decision = _parse_decision([form.get("word", "")], form.get("verdict", ""), form.get("note", ""))
    return answer(operator_api.decide(request.service.context, request.call(decision)))


def show_history(request: PageRequest) -> Response:
    """Every verdict on a word."""
    word = request.query.get("word", "")
    rulings = operator_api.history(request.service.context, request.call(query=HistoryOf(word)))
    campaign = CampaignView.of(request.campaign())
    return render_page(request, "review_history.html", campaign=campaign, tab="review", word=word, rulings=rulings)


def export_words(request: PageRequest) -> Response:
    """The accepted words as a file."""
    kind = request.query.get("format", "")
    if kind not in FORMATS:
        raise ParameterError(f"words are exported as one of {', '.join(FORMATS)}, not {kind[:100]!r}")
    text = operator_api.export(request.service.context, request.call(query=msgspec.convert({"format": kind}, Export)))
    return download(text.content, text.media, f"{request.names['name']}-accepted.{ENDINGS[kind]}")


_REVIEW: Final = "/campaigns/{name}/review"
PAGES = (
    Page("GET", _REVIEW, show_review, ALL_ROLES),
    Page("POST", _REVIEW, rule_on_words, ALL_ROLES),
    Page("POST", f"{_REVIEW}/one", rule_on_word, ALL_ROLES, for_script=True),
    Page("GET", f"{_REVIEW}/history", show_history, ALL_ROLES),
    Page("GET", f"{_REVIEW}/export", export_words, ALL_ROLES),
)


def _find_words(request: PageRequest, wanted: WordFilter) -> list[ReviewedWord]:
    words = reviewed_words.flagged_words(request.service.database, request.campaign())
    return reviewed_words.find_words(words, wanted)


def _parse_filter(given: QueryParams) -> WordFilter:
    """The filter that an address or a form states; whatever makes no sense is ignored."""
    known: dict[str, dict[str, str]] = {"verdict": VERDICTS, "flag": FLAGS, "sort": ORDERS}
    named: dict[str, Any] = {name: given[name] for name, values in known.items() if given.get(name) in values}
    search = given.get("search", "").strip()[:SEARCH_LENGTH]
    offset = (page_number(given) - 1) * WORDS_PER_PAGE
    return WordFilter(search, offset=offset, limit=WORDS_PER_PAGE, **named)


def _query(wanted: WordFilter, page: int | None = None) -> dict[str, str | int]:
    """A filter as the query string of an address."""
    return {
        "search": wanted.search,
        "verdict": wanted.verdict,
        "flag": wanted.flag,
        "sort": wanted.sort,
        "page": page or wanted.offset // WORDS_PER_PAGE + 1,
    }


def _page_links(wanted: WordFilter, found: int) -> dict[str, str]:
    """Links to the previous and the next page, where there are any."""
    page, pages = wanted.offset // WORDS_PER_PAGE + 1, -(-found // WORDS_PER_PAGE)
    around = {"Previous": page - 1, "Next": page + 1}
    return {name: f"?{urlencode(_query(wanted, at))}" for name, at in around.items() if 1 <= at <= pages}


def _parse_decision(words: list[str], verdict: str, note: str) -> Decide:
    try:
        return msgspec.convert({"words": words, "verdict": verdict, "note": note.strip()}, Decide)
    except msgspec.ValidationError as error:
        raise ParameterError(f"the verdict can't be used: {error}") from error
