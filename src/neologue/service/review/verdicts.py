"""Verdicts on released words: who gave which, when and why. All rulings are kept; the last one counts."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from neologue.errors import ParameterError
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.ops import access
from neologue.service.storage.database import Connection

Verdict = Literal["open", "accepted", "rejected", "hidden"]
OPEN: Final = "open"
HIDDEN: Final = "hidden"
LONGEST_NOTE = 500


@dataclass(frozen=True)
class Ruling:
    """One verdict on a word."""

    verdict: Verdict
    note: str
    by: str
    at: float


def rule(
    db: Connection, entry: CampaignRow, words: Collection[str], verdict: Verdict, note: str, by: str, now: float
) -> None:
    """Record a verdict on released words of a campaign, and who gave it."""
    if len(note) > LONGEST_NOTE or not note.isprintable():
        raise ParameterError(f"a note is one line of at most {LONGEST_NOTE} characters that can be shown")
    ((number,),) = db.execute(
        "INSERT INTO rulings (campaign, verdict, note, actor, at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (entry.id, verdict, note, by, now),
    )
    rows = [(entry.id, word, number) for word in sorted(set(words))]
    db.executemany("INSERT INTO ruled_words (campaign, word, ruling) VALUES (?, ?, ?)", rows)
    access.audit(db, by, f"review {len(rows)} words as {verdict}", entry.name, now)


def rulings(db: Connection, campaign: bytes) -> dict[str, Ruling]:
    """The last ruling on each word that has one."""
    rows = db.execute(
        "SELECT last.word, verdict, note, actor, at FROM rulings JOIN"
        " (SELECT word, MAX(ruling) AS ruling FROM ruled_words WHERE campaign = ? GROUP BY word) AS last"
        " ON rulings.id = last.ruling",
        (campaign,),
    )
    return {str(word): Ruling(*ruling) for word, *ruling in rows}


def history(db: Connection, campaign: bytes, word: str) -> list[Ruling]:
    """Every ruling on a word, the latest first."""
    rows = db.execute(
        "SELECT verdict, note, actor, at FROM rulings JOIN ruled_words ON rulings.id = ruled_words.ruling"
        " WHERE ruled_words.campaign = ? AND word = ? ORDER BY id DESC",
        (campaign, word),
    )
    return [Ruling(*row) for row in rows]
