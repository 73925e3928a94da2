"""The spending record: which campaigns this device answered, what it was told, and the ε spent. It holds no words.

A report leaves the device only after it and its cost are on the disk. A device that is killed or loses power has either
spent and sent nothing, or sends the same bytes again. It never draws randomness on the same words a second time, which
would spend the ε twice.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from neologue.clock import Clock, system_days
from neologue.device.contribution import contribute
from neologue.device.policy import Policy, epsilon_of, round_up
from neologue.entropy import Entropy
from neologue.errors import AnsweredError, SpendingRecordError
from neologue.masking.terms import GROUP_BYTES, TERMS_BYTES, Promise, Terms
from neologue.protocol.invitation import Invitation
from neologue.sqlite_file import FileKind, VersionedFile

_PATIENCE: Final = 60.0  # seconds to wait for another process that makes its report

_MASKINGS: Final = """
    CREATE TABLE maskings (
        campaign BLOB PRIMARY KEY,      -- answers.campaign, if its votes are for groups
        times    INTEGER NOT NULL,      -- 1 if its votes were masked; earlier versions masked them again
        terms    BLOB                   -- of the group that may have them in its sum
    ) WITHOUT ROWID
    """

_TOLD: Final = ("operator BLOB", "stated REAL", "bound INTEGER", "masked BLOB")

_KIND: Final = FileKind(
    name="spending record",
    error=SpendingRecordError,
    version=3,
    schema=(
        """
        CREATE TABLE answers (
            campaign BLOB PRIMARY KEY,                                      -- its identity, 16 bytes
            layer    BLOB NOT NULL,                                         -- the digest of the layer answered
            epsilon  REAL NOT NULL CHECK (epsilon > 0 AND epsilon < 1000),  -- the local ε that it cost
            day      INTEGER NOT NULL,                                      -- days since 1970-01-01, by the clock
            operator BLOB,                                                  -- what it was told: who asked,
            stated   REAL,                                                  -- the ε of the layer's document,
            bound    INTEGER,                                               -- its B,
            masked   BLOB                                                   -- and the promise of masks, if one was made
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE reports (
            campaign BLOB NOT NULL UNIQUE,  -- answers.campaign
            report   BLOB NOT NULL          -- the bytes, until they are confirmed
        )
        """,
        _MASKINGS,
    ),
    migrations={
        1: (_MASKINGS,),
        2: tuple(f"ALTER TABLE answers ADD COLUMN {column}" for column in _TOLD),
    },
    pragmas=(
        # FULL would not do: it leaves the end of the journal, which is the commit, to the file system, and after a
        # loss of power the journal may be back and undo what was sent already. EXTRA waits for the folder as well.
        "PRAGMA synchronous = EXTRA",
        # Confirmed reports are overwritten with zeros, not merely unlinked.
        "PRAGMA secure_delete = ON",
    ),
    damaged=(
        "is damaged or not a spending record, so it is unknown what this device has spent: answer no more campaigns;"
        " a new spending record would start from zero and could answer a campaign a second time"
    ),
    foreign="name another file if it is no spending record",
)


@dataclass(frozen=True)
class AnsweredCampaign:
    """One campaign that this device took part in."""

    campaign_id: bytes
    layer: bytes
    """The digest of the layer."""
    epsilon: float
    """The local ε that it cost."""
    day: int
    """When, in days since 1970-01-01."""
    confirmed: bool
    """Whether the report is no longer kept: it has arrived, or will not be sent again."""
    operator: bytes | None = None
    """Who asked; None if an earlier version recorded the answer, which did not note what it was told."""
    stated_epsilon: float | None = None
    """The ε of the layer's document, which its thresholds may exceed a little."""
    bound: int | None = None
    masked: Promise | None = None


class SpendingRecord:
    """What this device has answered and spent, in a file of its own that several processes and threads may share."""

    def __init__(self, path: Path | str, clock: Clock = system_days) -> None:
        self._clock = clock
        self._file = VersionedFile(_KIND, path, _PATIENCE)
        with self._file.transaction() as db:
            self._file.prepare(db)

    def answer(
        self, invitation: Invitation, words: Mapping[str, int], policy: Policy, entropy: Entropy | None = None
    ) -> bytes:
        """The report of this device in a campaign, recorded before it is returned.

        A device takes part in a campaign once. Asked again about the same layer, it returns the same bytes until they
        are confirmed, if its policy still allows it; everything else is refused with a PolicyError.
        """
        campaign, layer = invitation.campaign_id, invitation.layer
        with self._file.transaction() as db:
            policy.check(invitation, _spent_epsilon(db, besides=campaign))
            report = _stored_report(db, invitation)
            if report is None:
                report = contribute(words, layer, entropy)
                cost = epsilon_of(layer)
                masked = None if invitation.masked is None else bytes(invitation.masked)
                told = (invitation.operator, layer.epsilon, layer.bound, masked)
                db.execute(
                    "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (campaign, layer.digest, cost, self._clock(), *told),
                )
                db.execute("INSERT INTO reports VALUES (?, ?)", (campaign, report))
                if invitation.masked is not None:
                    # Recorded with the votes, so that they never leave without a mask.
                    db.execute("INSERT INTO maskings VALUES (?, 0, NULL)", (campaign,))
        # Returned only after the commit.
        return report

    def check(self, invitation: Invitation, policy: Policy) -> None:
        """Refuse what `answer` would refuse, and record nothing."""
        with self._file.transaction() as db:
            policy.check(invitation, _spent_epsilon(db, besides=invitation.campaign_id))
            _stored_report(db, invitation)

    def confirm(self, campaign_id: bytes) -> None:
        """Erase the report of a campaign, because it has arrived or will not be sent again.

        What it cost stays: the bytes may have been seen. A second time changes nothing.
        """
        with self._file.transaction() as db:
            self._require_answer(db, campaign_id)
            waiting = db.execute("SELECT campaign, report FROM reports WHERE campaign <> ?", (campaign_id,)).fetchall()
            # A deleted row may leave a copy where SQLite once had it; a table emptied as a whole leaves nothing.
            db.execute("DELETE FROM reports")
            db.executemany("INSERT INTO reports VALUES (?, ?)", waiting)

    def masking_group(self, campaign_id: bytes) -> bytes | None:
        """The identity of the group that the votes of a campaign were masked for, if they were."""
        with self._file.transaction() as db:
            row = db.execute("SELECT terms FROM maskings WHERE campaign = ? AND times > 0", (campaign_id,)).fetchone()
        # Terms of any version begin alike. An earlier version has erased those of a group that yielded nothing.
        return None if row is None else bytes(row[0] or bytes(TERMS_BYTES))[1 : 1 + GROUP_BYTES]

    def record_masking(self, campaign_id: bytes, terms: Terms) -> None:
        """Record that the votes are masked for a group: they may leave the device as soon as this returns."""
        with self._file.transaction() as db:
            self._require_answer(db, campaign_id)
            held = db.execute(
                "INSERT INTO maskings VALUES (?, 1, ?) ON CONFLICT DO UPDATE"
                " SET times = 1, terms = excluded.terms WHERE times = 0 RETURNING 1",
                (campaign_id, bytes(terms)),
            ).fetchone()
            if not held:
                raise AnsweredError(
                    f"the votes for the campaign {campaign_id.hex()} were masked for a group, and no other gets them"
                )

    def spent_besides(self, campaign_id: bytes) -> Fraction:
        """The exact sum of the local ε of all other campaigns."""
        with self._file.transaction() as db:
            return _spent_epsilon(db, besides=campaign_id)

    @property
    def spent(self) -> float:
        """The sum of the local ε of all campaigns answered, rounded up."""
        with self._file.transaction() as db:
            return round_up(_spent_epsilon(db))

    def answers(self) -> list[AnsweredCampaign]:
        """All campaigns that this device took part in, by day."""
        with self._file.transaction() as db:
            rows = db.execute(
                "SELECT campaign, layer, epsilon, day, campaign NOT IN (SELECT campaign FROM reports), operator,"
                " stated, bound, masked FROM answers ORDER BY day, campaign"
            ).fetchall()
        return [_answer(*row) for row in rows]

    def answer_to(self, campaign_id: bytes) -> AnsweredCampaign | None:
        """The answer to a campaign, if this device has answered it."""
        return next((answer for answer in self.answers() if answer.campaign_id == campaign_id), None)

    def __repr__(self) -> str:
        return f"SpendingRecord({self._file.path!r})"

    def _require_answer(self, db: sqlite3.Connection, campaign_id: bytes) -> None:
        if not db.execute("SELECT 1 FROM answers WHERE campaign = ?", (campaign_id,)).fetchone():
            raise SpendingRecordError(
                f"the spending record {self._file.path} has no answer to the campaign {campaign_id.hex()}: "
                "confirm one that it has"
            )


def _answer(
    campaign: bytes,
    layer: bytes,
    epsilon: float,
    day: int,
    confirmed: int,
    operator: bytes | None,
    stated: float | None,
    bound: int | None,
    masked: bytes | None,
) -> AnsweredCampaign:
    promise = None if masked is None else Promise.parse(masked)
    return AnsweredCampaign(campaign, layer, epsilon, day, bool(confirmed), operator, stated, bound, promise)


def _spent_epsilon(db: sqlite3.Connection, besides: bytes = b"") -> Fraction:
    """The ε of all campaigns but one, as the exact sum of the numbers recorded."""
    rows = db.execute("SELECT epsilon FROM answers WHERE campaign <> ?", (besides,))
    return sum((Fraction(epsilon) for (epsilon,) in rows), Fraction(0))


def _stored_report(db: sqlite3.Connection, invitation: Invitation) -> bytes | None:
    """The report that answered this very layer before; None if the campaign is new to this device."""
    campaign = invitation.campaign_id
    answer = db.execute("SELECT layer FROM answers WHERE campaign = ?", (campaign,)).fetchone()
    if answer is None:
        return None
    if answer != (invitation.layer.digest,):
        raise AnsweredError(
            f"this device has answered another layer of the campaign {campaign.hex()}, and takes part once: "
            "invite it to the next campaign"
        )
    stored = db.execute("SELECT report FROM reports WHERE campaign = ?", (campaign,)).fetchone()
    if stored is None:
        raise AnsweredError(
            f"this device's report for the campaign {campaign.hex()} was confirmed and erased, and it makes no second: "
            "invite it to the next campaign"
        )
    (to_mask,) = db.execute("SELECT COUNT(*) FROM maskings WHERE campaign = ?", (campaign,)).fetchone()
    if bool(to_mask) != (invitation.masked is not None):
        how = "under masks" if to_mask else "without masks"
        raise AnsweredError(
            f"this device's votes for the campaign {campaign.hex()} were made to leave {how}, and don't leave otherwise"
        )
    report: bytes = stored[0]
    return report
