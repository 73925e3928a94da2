"""Reviewed words as files: for spreadsheets, spell checkers, keyboards and programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import msgspec

from neologue.release.word_lists import aosp_combined, hunspell_dic, words_csv
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.review.reviewed_words import ReviewedWord

ENDINGS: Mapping[str, str] = {"csv": "csv", "dic": "dic", "aosp": "combined", "json": "json"}
"""What a file of each format is called."""
MEDIA: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "dic": "text/plain; charset=utf-8",
    "aosp": "text/plain; charset=utf-8",
    "json": "application/json",
}


def export_text(words: Sequence[ReviewedWord], kind: str, entry: CampaignRow) -> str:
    """The text of a file of one of the formats."""
    return _WRITERS[kind](words, entry)


def _csv(words: Sequence[ReviewedWord], entry: CampaignRow) -> str:
    return words_csv(one.released for one in words)


def _dic(words: Sequence[ReviewedWord], entry: CampaignRow) -> str:
    return hunspell_dic(one.word for one in words)


def _aosp(words: Sequence[ReviewedWord], entry: CampaignRow) -> str:
    definition = entry.definition
    # AOSP has no name for "any language" but this one of ISO 639.
    locale = definition.language or "zz"
    return aosp_combined([one.released for one in words], definition.campaign.users, locale, int(entry.changed))


def _json(words: Sequence[ReviewedWord], entry: CampaignRow) -> str:
    shown = [
        {
            "word": one.word,
            "estimate": one.released.estimate,
            "low": one.released.low,
            "high": one.released.high,
            "verdict": one.verdict,
            "ruling": one.ruling and asdict(one.ruling),
            "flags": [asdict(flag) for flag in one.flags],
        }
        for one in words
    ]
    return msgspec.json.format(msgspec.json.encode({"campaign": entry.name, "words": shown}), indent=1).decode() + "\n"


_WRITERS: Mapping[str, Callable[[Sequence[ReviewedWord], CampaignRow], str]] = {
    "csv": _csv,
    "dic": _dic,
    "aosp": _aosp,
    "json": _json,
}
