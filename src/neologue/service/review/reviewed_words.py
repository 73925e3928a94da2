"""Released words as reviewers see them: with their flags and verdicts, and of these the ones that were asked for."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from neologue.discovery.result import ReleasedWord
from neologue.errors import CampaignError, ParameterError
from neologue.language.near_words import folded
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.review.flags import Flag, flags
from neologue.service.review.verdicts import HIDDEN, OPEN, Ruling, Verdict, rulings
from neologue.service.storage.database import Database
from neologue.service.storage.states import CampaignState

KEPT = 4
"""How many releases are kept in memory, with their flags; one may have tens of thousands of words."""
MOST_AT_ONCE = 1000
ANY, NONE = "any", "none"


@dataclass(frozen=True)
class Reviewed:
    """A released word, what there is to be said about it, and what was made of it."""

    released: ReleasedWord
    flags: tuple[Flag, ...]
    ruling: Ruling | None

    @property
    def word(self) -> str:
        """The word itself."""
        return self.released.word

    @property
    def verdict(self) -> Verdict:
        """What was made of it; it is open until somebody has ruled."""
        return self.ruling.verdict if self.ruling else OPEN


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which words are asked for, and in which order; what is hidden comes only if it is asked for by name."""

    search: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """A part of the word, whatever its case and accents."""
    verdict: Literal["", "open", "accepted", "rejected", "hidden", "any"] = ""
    """Nothing stands for all but the hidden ones, `any` for these too."""
    flag: Literal["", "personal", "profanity", "near", "any", "none"] = ""
    sort: Literal["estimate", "rarest", "word", "flags", "latest"] = "estimate"
    offset: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)] = 100


_ORDER: dict[str, Callable[[Reviewed], Any]] = {
    "estimate": lambda one: (-one.released.estimate, one.word),
    "rarest": lambda one: (one.released.estimate, one.word),
    "word": lambda one: (folded(one.word), one.word),
    "flags": lambda one: (-len(one.flags), -one.released.estimate, one.word),
    "latest": lambda one: (-one.ruling.at if one.ruling else 0.0, -one.released.estimate, one.word),
}


def reviewed(database: Database, entry: CampaignRow) -> list[Reviewed]:
    """All words of a campaign that was released, the most widely held first."""
    if entry.state != CampaignState.RELEASED:
        raise CampaignError(f"the campaign {entry.name!r} is {entry.state}, and nothing of it is released")
    words, flagged = _flagged(database, entry.name)
    with database.reading() as db:
        ruled = rulings(db, entry.id)
    return [Reviewed(word, flagged.get(word.word, ()), ruled.get(word.word)) for word in words]


def chosen(words: Iterable[Reviewed], choice: Choice) -> list[Reviewed]:
    """All words that are asked for, in order, not only those of one page."""
    part = folded(choice.search)
    found = [
        one
        for one in words
        if _has_verdict(one, choice.verdict) and _has_flag(one, choice.flag) and part in folded(one.word)
    ]
    return sorted(found, key=_ORDER[choice.sort])


def page(words: list[Reviewed], choice: Choice) -> list[Reviewed]:
    """Those of one page."""
    return words[choice.offset : choice.offset + choice.limit]


def check_released(words: Iterable[str], released: Iterable[Reviewed]) -> None:
    """Refuse words that the campaign has not released."""
    there = {one.word for one in released}
    strange = [word for word in words if word not in there]
    if strange:
        more = f" and {len(strange) - 1:,} more" if len(strange) > 1 else ""
        raise ParameterError(f"{strange[0][:100]!r}{more} is not among the released words; look them up in the list")


def released_words(release: str) -> list[ReleasedWord]:
    """The words of a release.json."""
    found = json.loads(release)["words"]
    named = [{("pass_number" if name == "pass" else name): value for name, value in word.items()} for word in found]
    return msgspec.convert(named, list[ReleasedWord])


@lru_cache(KEPT)
def _flagged(database: Database, name: str) -> tuple[list[ReleasedWord], dict[str, tuple[Flag, ...]]]:
    """The words of a release and their flags: a release never changes."""
    with database.reading() as db:
        entry = campaign_store.named(db, name)
        text = campaign_store.release_of(db, entry.id)
    assert text is not None
    words = released_words(text)
    definition = entry.definition
    return words, flags([word.word for word in words], definition.campaign.known, definition.language)


def _has_verdict(one: Reviewed, verdict: str) -> bool:
    if not verdict:
        return one.verdict != HIDDEN
    return verdict in (ANY, one.verdict)


def _has_flag(one: Reviewed, kind: str) -> bool:
    if kind in (ANY, NONE):
        return bool(one.flags) == (kind == ANY)
    return not kind or any(flag.kind == kind for flag in one.flags)
