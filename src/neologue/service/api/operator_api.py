"""The endpoints for people: every route, who may use it, what it takes and gives, and what it does.

The routes and the OpenAPI description are both made from this one list.
"""

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neologue.errors import CampaignError, ParameterError
from neologue.protocol.credential import issue
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.layer import Layer
from neologue.protocol.slot import SLOTS
from neologue.release.influence import influence as bound_influence
from neologue.service.api.schemas import (
    CampaignView,
    Decide,
    Export,
    Hidden,
    HistoryOf,
    InfluenceView,
    Key,
    LayerView,
    NewToken,
    Prefixes,
    ReviewedView,
    ReviewView,
    Token,
    VerdictCount,
    Wanted,
    WordView,
)
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.campaigns.definition import Definition
from neologue.service.ops import access
from neologue.service.ops.access import ANALYST, OPERATOR, Deed, Person
from neologue.service.ops.service_keys import Keys
from neologue.service.review import reviewed_words, verdicts
from neologue.service.review.export import MEDIA, export_text
from neologue.service.review.released import read_release
from neologue.service.review.reviewed_words import WordFilter
from neologue.service.review.verdicts import Ruling
from neologue.service.storage.database import Connection, Database

DEEDS = 1000
"""The most lines of the audit log that are shown at once."""


@dataclass(frozen=True)
class Context:
    """What it takes to serve people."""

    database: Database
    coordinator: Coordinator
    keys: Keys
    clock: Callable[[], float]


@dataclass(frozen=True)
class Call:
    """A request of somebody who may make it."""

    person: Person
    names: Mapping[str, str]
    """The parts of the path that the route leaves open."""
    body: Any
    """What the endpoint takes, checked."""
    query: Any = None
    """What the address asks for behind its path, checked."""


@dataclass(frozen=True)
class Text:
    """An answer that is no JSON made here."""

    content: str
    media: str


@dataclass(frozen=True)
class Endpoint:
    """One thing that people can ask for."""

    method: str
    path: str
    summary: str
    roles: tuple[str, ...]
    """Who may; nobody has to be anybody if there are none."""
    serve: Callable[[Context, Call], object]
    gives: Any
    takes: Any = None
    status: int = 200
    asks: Any = None
    """What may stand behind the path of the address."""


def create(context: Context, call: Call) -> CampaignView:
    """Write a campaign down."""
    definition: Definition = call.body
    definition.check()
    entry = context.coordinator.create(definition, context.clock(), call.person.name)
    return CampaignView.of(entry)


def start(context: Context, call: Call) -> CampaignView:
    """Begin a campaign, or go on with it."""
    return _moved(context, call, context.coordinator.start)


def pause(context: Context, call: Call) -> CampaignView:
    """Hold a campaign."""
    return _moved(context, call, context.coordinator.pause)


def abort(context: Context, call: Call) -> CampaignView:
    """End a campaign without a release."""
    return _moved(context, call, context.coordinator.abort)


def campaigns(context: Context, call: Call) -> list[CampaignView]:
    """All campaigns."""
    with context.database.reading() as db:
        return [CampaignView.of(entry) for entry in campaign_store.all_campaigns(db)]


def campaign(context: Context, call: Call) -> CampaignView:
    """One campaign."""
    with context.database.reading() as db:
        return CampaignView.of(_named(db, call))


def layers(context: Context, call: Call) -> list[LayerView]:
    """The layers of a campaign, for operators alone: they tell who takes part, if not by name."""
    with context.database.reading() as db:
        return [LayerView.of(asked, SLOTS) for asked in campaign_store.layers_of(db, _named(db, call).id)]


def prefixes(context: Context, call: Call) -> Prefixes:
    """The prefixes that the last layer asks about, which were kept in the one before."""
    with context.database.reading() as db:
        asked = campaign_store.layers_of(db, _named(db, call).id)
        if not asked:
            return Prefixes(layer_index=0, prefixes=[])
        document = zlib.decompress(campaign_store.document_of(db, asked[-1].digest) or b"")
        known = zlib.decompress(campaign_store.known_of(db, bytes.fromhex(known_digest(document))) or b"")
    layer = read_layer(document, read_known(known))
    return Prefixes(asked[-1].layer_index, layer.frontier.tolist() if isinstance(layer, Layer) else [])


def words(context: Context, call: Call) -> list[WordView]:
    """The words of a campaign that was released, but those that a reviewer has hidden."""
    wanted: Hidden = call.query or Hidden()
    with context.database.reading() as db:
        entry = _named(db, call)
    database = context.database
    found = read_release(database, entry).words if wanted.hidden else reviewed_words.shown_words(database, entry)
    return [WordView(word.word, word.estimate, word.low, word.high) for word in found]


def release(context: Context, call: Call) -> Text:
    """The release itself, signed, with its privacy statement."""
    return Text(_released(context, call), "application/json")


def influence(context: Context, call: Call) -> InfluenceView:
    """How far so many hostile devices could have moved a released campaign."""
    hostile = call.names["hostile"]
    if not re.fullmatch("[0-9]{1,9}", hostile, re.ASCII):
        raise ParameterError(f"hostile devices are a whole number below 1,000,000,000, not {hostile[:100]!r}")
    with context.database.reading() as db:
        entry = _named(db, call)
        facts = [
            asked.facts.layer for asked in campaign_store.layers_of(db, entry.id) if asked.facts and asked.facts.layer
        ]
    released = read_release(context.database, entry).words
    groups = entry.definition.groups
    group = groups.size if groups else 1
    bounded = bound_influence(entry.definition.campaign, facts, released, int(hostile), group)
    return InfluenceView(int(hostile), list(bounded.sentences))


def review_words(context: Context, call: Call) -> ReviewView:
    """Released words with their flags and verdicts."""
    wanted: WordFilter = call.query or WordFilter()
    with context.database.reading() as db:
        entry = _named(db, call)
    found = reviewed_words.find_words(reviewed_words.flagged_words(context.database, entry), wanted)
    return ReviewView(len(found), [ReviewedView.of(one) for one in reviewed_words.page_of(found, wanted)])


def decide(context: Context, call: Call) -> VerdictCount:
    """Give a verdict on some words at once."""
    wanted: Decide = call.body
    with context.database.reading() as db:
        entry = _named(db, call)
    words = set(wanted.words)
    reviewed_words.check_released(context.database, entry, words)
    with context.database.transaction() as db:
        verdicts.rule(db, entry, words, wanted.verdict, wanted.note, call.person.name, context.clock())
    return VerdictCount(wanted.verdict, len(words))


def history(context: Context, call: Call) -> list[Ruling]:
    """Every verdict on a word, the latest first."""
    wanted: HistoryOf = call.query
    with context.database.reading() as db:
        entry = _named(db, call)
    reviewed_words.check_released(context.database, entry, [wanted.word])
    with context.database.reading() as db:
        return verdicts.history(db, entry.id, wanted.word)


def export(context: Context, call: Call) -> Text:
    """The words with a verdict, as a file of some format."""
    wanted: Export = call.query
    with context.database.reading() as db:
        entry = _named(db, call)
    words = reviewed_words.flagged_words(context.database, entry)
    found = reviewed_words.find_words(words, WordFilter(verdict=wanted.verdict))
    return Text(export_text(found, wanted.format, entry), MEDIA[wanted.format])


def credentials(context: Context, call: Call) -> Text:
    """New credentials, one a line. The service keeps none of them."""
    wanted: Wanted = call.body
    with context.database.transaction() as db:
        entry = _named(db, call)
        if entry.state in campaign_store.OVER:
            raise CampaignError(f"the campaign {entry.name!r} is {entry.state}: nobody can take part any more")
        access.audit(db, call.person.name, f"issue {wanted.count} credentials", entry.name, context.clock())
    issued = (issue(entry.id, context.keys.issuer).text for _ in range(wanted.count))
    return Text("".join(f"{text}\n" for text in issued), "text/plain; charset=utf-8")


def new_token(context: Context, call: Call) -> Token:
    """A token for somebody, shown this once."""
    wanted: NewToken = call.body
    with context.database.transaction() as db:
        token = access.new_token(db, wanted.name, wanted.role, context.clock())
        access.audit(db, call.person.name, f"make {wanted.role} token", wanted.name, context.clock())
    return Token(wanted.name, wanted.role, token)


def tokens(context: Context, call: Call) -> list[Person]:
    """Who has a token."""
    with context.database.reading() as db:
        return access.people(db)


def revoke(context: Context, call: Call) -> list[Person]:
    """Make a token worthless."""
    with context.database.transaction() as db:
        access.revoke(db, call.names["name"])
        access.audit(db, call.person.name, "revoke token", call.names["name"], context.clock())
        return access.people(db)


def audit(context: Context, call: Call) -> list[Deed]:
    """What operators did, the latest first."""
    with context.database.reading() as db:
        return access.deeds(db, DEEDS)


def key(context: Context, call: Call) -> Key:
    """The public key that devices pin."""
    return Key(context.keys.public.hex())


_ONE = "/v1/campaigns/{name}"
_BOTH = (OPERATOR, ANALYST)
ENDPOINTS = (
    Endpoint("GET", "/v1/key", "The public key that devices pin", (), key, Key),
    Endpoint("GET", "/v1/campaigns", "All campaigns", _BOTH, campaigns, list[CampaignView]),
    Endpoint(
        "POST", "/v1/campaigns", "Write a campaign down", (OPERATOR,), create, CampaignView, Definition, status=201
    ),
    Endpoint("GET", _ONE, "One campaign", _BOTH, campaign, CampaignView),
    Endpoint("POST", f"{_ONE}/start", "Begin a campaign, or go on with it", (OPERATOR,), start, CampaignView),
    Endpoint("POST", f"{_ONE}/pause", "Hold a campaign", (OPERATOR,), pause, CampaignView),
    Endpoint("POST", f"{_ONE}/abort", "End a campaign without a release", (OPERATOR,), abort, CampaignView),
    Endpoint("GET", f"{_ONE}/layers", "The layers of a campaign", (OPERATOR,), layers, list[LayerView]),
    Endpoint("GET", f"{_ONE}/prefixes", "The prefixes that live", (OPERATOR,), prefixes, Prefixes),
    Endpoint("GET", f"{_ONE}/words", "The words that were found", _BOTH, words, list[WordView], asks=Hidden),
    Endpoint(
        "GET", f"{_ONE}/review", "Words with flags and verdicts", _BOTH, review_words, ReviewView, asks=WordFilter
    ),
    Endpoint("POST", f"{_ONE}/review", "Give a verdict on words", _BOTH, decide, VerdictCount, Decide),
    Endpoint("GET", f"{_ONE}/review/history", "Every verdict on a word", _BOTH, history, list[Ruling], asks=HistoryOf),
    Endpoint("GET", f"{_ONE}/review/export", "Words with a verdict, as a file", _BOTH, export, Text, asks=Export),
    Endpoint("GET", f"{_ONE}/release", "The signed release", _BOTH, release, Text),
    Endpoint(
        "GET",
        f"{_ONE}/influence/{{hostile}}",
        "How far so many hostile devices could have moved it",
        _BOTH,
        influence,
        InfluenceView,
    ),
    Endpoint("POST", f"{_ONE}/credentials", "Issue credentials", (OPERATOR,), credentials, Text, Wanted),
    Endpoint("GET", "/v1/tokens", "Who has a token", (OPERATOR,), tokens, list[Person]),
    Endpoint("POST", "/v1/tokens", "Make a token", (OPERATOR,), new_token, Token, NewToken, status=201),
    Endpoint("DELETE", "/v1/tokens/{name}", "Revoke a token", (OPERATOR,), revoke, list[Person]),
    Endpoint("GET", "/v1/audit", "What operators did", (OPERATOR,), audit, list[Deed]),
)


def _moved(context: Context, call: Call, move: Callable[[str, float, str], CampaignRow]) -> CampaignView:
    return CampaignView.of(move(call.names["name"], context.clock(), call.person.name))


def _named(db: Connection, call: Call) -> CampaignRow:
    return campaign_store.campaign_named(db, call.names["name"])


def _released(context: Context, call: Call) -> str:
    with context.database.reading() as db:
        entry = _named(db, call)
        document = campaign_store.release_of(db, entry.id)
    if document is None:
        raise CampaignError(f"the campaign {entry.name!r} is {entry.state}, and nothing of it is released")
    return document
