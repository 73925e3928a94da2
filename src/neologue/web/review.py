"""The review of released words: to look them through by flag and verdict, to rule on them, and to take them along."""

import re
from typing import Any, Final, get_args
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from neologue.errors import ParameterError
from neologue.service.api import operator_api
from neologue.service.api.responses import answer
from neologue.service.api.schemas import CampaignView, Decide, Export, HistoryOf
from neologue.service.review import reviewed_words
from neologue.service.review.export import ENDINGS
from neologue.service.review.reviewed_words import Choice, Reviewed
from neologue.service.review.verdicts import LONGEST_NOTE, Verdict
from neologue.web.campaigns import download
from neologue.web.page import BOTH, Page, Visit, rendered, seen, to_campaign

AT_ONCE: Final = 50
VERDICTS: Final = {
    "": "All but hidden",
    "open": "Open",
    "accepted": "Accepted",
    "rejected": "Rejected",
    "hidden": "Hidden",
    "any": "All, hidden too",
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
    "latest": "Ruled on last",
}
FORMATS: Final = {"csv": "CSV", "dic": "Hunspell .dic", "aosp": "AOSP word list", "json": "JSON"}
ACTIONS: Final = {"accepted": "Accept", "rejected": "Reject", "hidden": "Hide", "open": "Reopen"}


def listed(visit: Visit) -> Response:
    """Some of the words, by what is asked for."""
    entry = visit.entry()
    choice = _choice(visit.query)
    words = reviewed_words.reviewed(visit.service.database, entry)
    found = reviewed_words.chosen(words, choice)
    return rendered(
        visit,
        "review.html",
        campaign=CampaignView.of(entry),
        here="review",
        choice=choice,
        rows=reviewed_words.page(found, choice),
        found=len(found),
        counts={name: sum(one.verdict == name for one in words) for name in get_args(Verdict)},
        asked=_asked(choice),
        leaves=_leaves(choice, len(found)),
        verdicts=VERDICTS,
        flags=FLAGS,
        orders=ORDERS,
        formats=FORMATS,
        actions=ACTIONS,
        longest_note=LONGEST_NOTE,
    )


def ruled(visit: Visit) -> Response:
    """Rule on the words of a form: one of them, those ticked, or all that its filter finds; then show the same list."""
    choice = _choice(visit.form)
    verdict, _, meant = visit.form.get("rule", "").partition(" ")
    words = [meant] if meant else visit.form.getlist("word")
    if visit.form.get("all"):
        verdict, words = visit.form.get("all", ""), [one.word for one in _found(visit, choice)]
        if str(len(words)) != visit.form.get("found"):
            raise ParameterError("the words that the filter finds have changed meanwhile: look at the list once more")
    if not words:
        raise ParameterError("no word is ticked: tick those that are meant, or take all that the filter finds")
    operator_api.decide(visit.service.context, visit.call(_decided(words, verdict, visit.form.get("note", ""))))
    return seen(f"{to_campaign(visit.names['name'], 'review')}?{urlencode(_asked(choice))}")


def ruled_on_one(visit: Visit) -> Response:
    """Rule on a word, for the keyboard."""
    form = visit.form
    decided = _decided([form.get("word", "")], form.get("verdict", ""), form.get("note", ""))
    return answer(operator_api.decide(visit.service.context, visit.call(decided)))


def history(visit: Visit) -> Response:
    """Every verdict on a word."""
    word = visit.query.get("word", "")
    rulings = operator_api.history(visit.service.context, visit.call(query=HistoryOf(word)))
    campaign = CampaignView.of(visit.entry())
    return rendered(visit, "review_history.html", campaign=campaign, here="review", word=word, rulings=rulings)


def export(visit: Visit) -> Response:
    """The accepted words as a file."""
    kind = visit.query.get("format", "")
    if kind not in FORMATS:
        raise ParameterError(f"words are exported as one of {', '.join(FORMATS)}, not {kind[:100]!r}")
    text = operator_api.export(visit.service.context, visit.call(query=msgspec.convert({"format": kind}, Export)))
    return download(text.content, text.media, f"{visit.names['name']}-accepted.{ENDINGS[kind]}")


_REVIEW: Final = "/campaigns/{name}/review"
PAGES = (
    Page("GET", _REVIEW, listed, BOTH),
    Page("POST", _REVIEW, ruled, BOTH),
    Page("POST", f"{_REVIEW}/one", ruled_on_one, BOTH, for_script=True),
    Page("GET", f"{_REVIEW}/history", history, BOTH),
    Page("GET", f"{_REVIEW}/export", export, BOTH),
)


def _found(visit: Visit, choice: Choice) -> list[Reviewed]:
    return reviewed_words.chosen(reviewed_words.reviewed(visit.service.database, visit.entry()), choice)


def _choice(given: QueryParams) -> Choice:
    """What is asked for; what makes no sense is not asked for."""
    page = given.get("page", "1")
    number = int(page) if re.fullmatch("[1-9][0-9]{0,5}", page, re.ASCII) else 1
    known: dict[str, dict[str, str]] = {"verdict": VERDICTS, "flag": FLAGS, "sort": ORDERS}
    named: dict[str, Any] = {name: given[name] for name, values in known.items() if given.get(name) in values}
    return Choice(given.get("search", "").strip()[:100], offset=(number - 1) * AT_ONCE, limit=AT_ONCE, **named)


def _asked(choice: Choice, page: int | None = None) -> dict[str, str | int]:
    """The same, as an address says it."""
    return {
        "search": choice.search,
        "verdict": choice.verdict,
        "flag": choice.flag,
        "sort": choice.sort,
        "page": page or choice.offset // AT_ONCE + 1,
    }


def _leaves(choice: Choice, found: int) -> dict[str, str]:
    """The addresses of the pages before and after this one, where there are any."""
    page, pages = choice.offset // AT_ONCE + 1, -(-found // AT_ONCE)
    around = {"Before": page - 1, "Next": page + 1}
    return {name: f"?{urlencode(_asked(choice, at))}" for name, at in around.items() if 1 <= at <= pages}


def _decided(words: list[str], verdict: str, note: str) -> Decide:
    try:
        return msgspec.convert({"words": words, "verdict": verdict, "note": note.strip()}, Decide)
    except msgspec.ValidationError as error:
        raise ParameterError(f"the verdict can't be used: {error}") from error
