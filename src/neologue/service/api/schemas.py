"""The requests and responses of operators and analysts."""

from typing import Annotated, Literal

import msgspec

from neologue.discovery.result import LayerFacts
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.review.flags import Flag
from neologue.service.review.reviewed_words import ReviewedWord
from neologue.service.review.verdicts import LONGEST_NOTE, Ruling, Verdict

Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
UNREADABLE = (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises for a request that is not JSON, or not of the expected shape."""


class Problem(msgspec.Struct, frozen=True):
    """What was wrong with a request."""

    code: str
    message: str


class Failure(msgspec.Struct, frozen=True):
    """The one shape of all errors."""

    error: Problem


class LayerView(msgspec.Struct, frozen=True):
    """A layer as operators see it: how many reported, never who, and no votes."""

    layer_index: int = msgspec.field(name="place")
    state: str
    layer_size: int = msgspec.field(name="cohort")
    candidates: int
    reports: int
    made_up: int
    """Where slots are drawn: how many reports were made up, as those of devices that hold nothing. Keep it secret."""
    invited: float
    """The share of all devices that it invites."""
    opened: float
    deadline: float
    extensions: int
    facts: LayerFacts | None
    warnings: list[str]

    @classmethod
    def of(cls, asked: LayerRow, slots: int) -> "LayerView":
        """The view of a layer, in a space of so many slots."""
        round_ = asked.round
        return cls(
            layer_index=asked.layer_index,
            state=asked.state,
            layer_size=round_.layer_size,
            candidates=asked.candidates,
            reports=round_.reports,
            made_up=asked.made_up,
            invited=(round_.high - round_.low) / slots,
            opened=round_.opened,
            deadline=round_.deadline,
            extensions=round_.extensions,
            facts=asked.facts.layer if asked.facts else None,
            warnings=[*_refused_groups(asked), *(asked.facts.all_warnings if asked.facts else [])],
        )


def _refused_groups(asked: LayerRow) -> list[str]:
    if not asked.groups_refused:
        return []
    groups = "1 group" if asked.groups_refused == 1 else f"{asked.groups_refused:,} groups"
    return [
        f"The votes of {groups} were refused, and are not counted: no honest devices have such a sum, so that at least "
        "one device of each is hostile or broken. It cost the others their votes, and can't do it again."
    ]


class CampaignView(msgspec.Struct, frozen=True):
    """A campaign as operators and analysts see it."""

    id: str
    name: str
    state: str
    profile: str
    population: str | None
    rehearsal: bool
    """Whether the operator runs the devices, with simulated or recorded words."""
    devices: int
    users: int
    epsilon: float
    aggregation: str
    created: float
    changed: float
    note: str

    @classmethod
    def of(cls, entry: CampaignRow) -> "CampaignView":
        """The view of a campaign."""
        definition, campaign = entry.definition, entry.definition.campaign
        return cls(
            id=entry.id.hex(),
            name=entry.name,
            state=entry.state,
            profile=definition.profile,
            population=definition.population,
            rehearsal=definition.rehearsal,
            devices=definition.devices,
            users=campaign.users,
            epsilon=campaign.epsilon,
            aggregation=definition.aggregation,
            created=entry.created,
            changed=entry.changed,
            note=entry.note,
        )


class Prefixes(msgspec.Struct, frozen=True):
    """The prefixes that the last layer asks about, as all of its devices know them."""

    layer_index: int = msgspec.field(name="place")
    prefixes: list[str]


class WordView(msgspec.Struct, frozen=True):
    """A released word."""

    word: str
    estimate: float
    low: float
    high: float


class Hidden(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether words that a reviewer has hidden are shown too."""

    hidden: bool = False


class ReviewedView(msgspec.Struct, frozen=True):
    """A released word with its flags and the verdict on it."""

    word: str
    estimate: float
    low: float
    high: float
    flags: list[Flag]
    verdict: Verdict
    ruling: Ruling | None

    @classmethod
    def of(cls, one: ReviewedWord) -> "ReviewedView":
        """The view of a word."""
        word = one.released
        return cls(word.word, word.estimate, word.low, word.high, list(one.flags), one.verdict, one.ruling)


class ReviewView(msgspec.Struct, frozen=True):
    """One page of matching words, and how many there are in all."""

    total: int
    words: list[ReviewedView]


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict on words, and why."""

    words: Annotated[list[str], msgspec.Meta(min_length=1, max_length=100_000)]
    verdict: Verdict
    note: Annotated[str, msgspec.Meta(max_length=LONGEST_NOTE)] = ""


class VerdictCount(msgspec.Struct, frozen=True):
    """How many words got a verdict."""

    verdict: Verdict
    words: int


class HistoryOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The word whose verdicts are asked for."""

    word: str


class Export(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which words to export, and how; hidden words never are."""

    format: Literal["csv", "dic", "aosp", "json"]
    verdict: Literal["accepted", "rejected", "open"] = "accepted"


class InfluenceView(msgspec.Struct, frozen=True):
    """What hostile devices could have done, in sentences."""

    hostile: int
    sentences: list[str]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many credentials to issue."""

    count: Count


class NewToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The holder and the role of a new token."""

    name: str
    role: Literal["operator", "analyst"]


class Token(msgspec.Struct, frozen=True):
    """A new token, shown only this once."""

    name: str
    role: str
    token: str


class Health(msgspec.Struct, frozen=True):
    """Whether the service works."""

    status: str
