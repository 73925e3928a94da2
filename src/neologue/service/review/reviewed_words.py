"""Released words with their flags and verdicts, and the one way to search, sort and page through them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from neologue.discovery.result import ReleasedPrefix, ReleasedWord
from neologue.errors import ParameterError
from neologue.language.near_words import fold
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.review.flags import Flag, flags
from neologue.service.review.released import CACHED_RELEASES, read_release
from neologue.service.review.verdicts import HIDDEN, OPEN, Ruling, Verdict, rulings
from neologue.service.storage.database import Database

MOST_AT_ONCE = 1000
ANY, NONE = "any", "none"


@dataclass(frozen=True)
class ReviewedWord:
    """A released word, its flags, and the last ruling on it."""

    released: ReleasedWord
    flags: tuple[Flag, ...]
    ruling: Ruling | None

    @property
    def word(self) -> str:
        """The word itself."""
        return self.released.word

    @property
    def verdict(self) -> Verdict:
        """The verdict that counts; open until somebody has ruled."""
        return self.ruling.verdict if self.ruling else OPEN


class WordFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which words are listed, and in which order; hidden words only where `verdict` asks for them."""

    search: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """A part of the word; case and accents don't matter."""
    verdict: Literal["", "open", "accepted", "rejected", "hidden", "any"] = ""
    """Empty means all but the hidden ones, `any` includes these."""
    flag: Literal["", "personal", "profanity", "near", "any", "none"] = ""
    sort: Literal["estimate", "rarest", "word", "length", "flags", "latest"] = "estimate"
    offset: Annotated[int, msgspec.Meta(ge=0, le=100_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)] = 100


_ORDERS: dict[str, Callable[[ReviewedWord], Any]] = {
    "estimate": lambda one: (-one.released.estimate, one.word),
    "rarest": lambda one: (one.released.estimate, one.word),
    "word": lambda one: (fold(one.word), one.word),
    "length": lambda one: (-len(one.word), one.word),
    "flags": lambda one: (-len(one.flags), -one.released.estimate, one.word),
    "latest": lambda one: (-one.ruling.at if one.ruling else 0.0, -one.released.estimate, one.word),
}


def flagged_words(database: Database, entry: CampaignRow) -> list[ReviewedWord]:
    """All words of a released campaign, the most widely held first, with flags and rulings."""
    flagged = _release_flags(database, entry.name)
    return [
        ReviewedWord(one.released, flagged.get(one.word, ()), one.ruling) for one in unflagged_words(database, entry)
    ]


def unflagged_words(database: Database, entry: CampaignRow) -> list[ReviewedWord]:
    """The same without flags, which take seconds to find in a large release."""
    words = read_release(database, entry).words
    with database.reading() as db:
        ruled = rulings(db, entry.id)
    return [ReviewedWord(word, (), ruled.get(word.word)) for word in words]


def shown_words(database: Database, entry: CampaignRow) -> list[ReleasedWord]:
    """The words of a release without those that a reviewer has hidden."""
    return [one.released for one in unflagged_words(database, entry) if one.verdict != HIDDEN]


def shown_prefixes(database: Database, entry: CampaignRow) -> list[ReleasedPrefix]:
    """The prefixes of a release without those that tell how a hidden word begins."""
    hidden = [one.word for one in unflagged_words(database, entry) if one.verdict == HIDDEN]
    prefixes = read_release(database, entry).prefixes
    return [kept for kept in prefixes if not any(word.startswith(kept.prefix) for word in hidden)]


def find_words(words: Iterable[ReviewedWord], wanted: WordFilter) -> list[ReviewedWord]:
    """All words that pass a filter, in its order; `page_of` takes one page of them."""
    part = fold(wanted.search)
    found = [
        one
        for one in words
        if _has_verdict(one, wanted.verdict) and _has_flag(one, wanted.flag) and part in fold(one.word)
    ]
    return sorted(found, key=_ORDERS[wanted.sort])


def page_of(words: list[ReviewedWord], wanted: WordFilter) -> list[ReviewedWord]:
    """The part of the found words that one page shows."""
    return words[wanted.offset : wanted.offset + wanted.limit]


def check_released(database: Database, entry: CampaignRow, words: Iterable[str]) -> None:
    """Refuse words that the campaign has not released."""
    released = {word.word for word in read_release(database, entry).words}
    unknown = [word for word in words if word not in released]
    if unknown:
        more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        raise ParameterError(f"{unknown[0][:100]!r}{more} is not among the released words; look them up in the list")


@lru_cache(CACHED_RELEASES)
def _release_flags(database: Database, name: str) -> dict[str, tuple[Flag, ...]]:
    """The flags of a release, by its campaign's name: a release never changes."""
    with database.reading() as db:
        entry = campaign_store.campaign_named(db, name)
    words = [word.word for word in read_release(database, entry).words]
    return flags(words, entry.definition.campaign.known, entry.definition.language)


def _has_verdict(one: ReviewedWord, verdict: str) -> bool:
    if not verdict:
        return one.verdict != HIDDEN
    return verdict in (ANY, one.verdict)


def _has_flag(one: ReviewedWord, kind: str) -> bool:
    if kind in (ANY, NONE):
        return bool(one.flags) == (kind == ANY)
    return not kind or any(flag.kind == kind for flag in one.flags)
