"""The endpoints for operators and analysts: each route, the roles that may use it, its request and its response.

Those of the ledger are in `ledger_api`; the routes and the OpenAPI description are made from both lists.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neologue.errors import CampaignError, ParameterError
from neologue.ledger.ledger import Ledger
from neologue.protocol.credential import issue, issue_with_key
from neologue.protocol.layer import Layer
from neologue.protocol.slot import SLOTS
from neologue.release.influence import influence as bound_influence
from neologue.release.masked_influence import masked_sentences
from neologue.release.planting import planting_in, planting_lines
from neologue.service.api.addresses import DIRECT, Way
from neologue.service.api.schemas import (
    CampaignView,
    Decide,
    Export,
    Hidden,
    HistoryOf,
    InfluenceView,
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
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.consent import require_consent
from neologue.service.campaigns.coordinator import Coordinator
from neologue.service.campaigns.definition import Definition
from neologue.service.campaigns.expected_end import ExpectedEnd, expected_end
from neologue.service.collect.stored_layers import StoredLayers
from neologue.service.ops import access
from neologue.service.ops.access import ANALYST, OPERATOR, AuditEntry, Person
from neologue.service.ops.service_keys import Keys
from neologue.service.ops.settings import Settings
from neologue.service.review import reviewed_words, verdicts
from neologue.service.review.export import MEDIA, export_text
from neologue.service.review.released import read_release
from neologue.service.review.reviewed_words import WordFilter
from neologue.service.review.verdicts import Ruling
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.states import OVER, CampaignState

MOST_AUDIT_ENTRIES = 1000
"""The most entries of the audit log in one response."""


@dataclass(frozen=True)
class Context:
    """What endpoints work on."""

    database: Database
    coordinator: Coordinator
    ledger: Ledger
    keys: Keys
    clock: Callable[[], float]
    settings: Settings


@dataclass(frozen=True)
class Call:
    """A request that its sender is allowed to make."""

    person: Person
    names: Mapping[str, str]
    """The parameters of the path."""
    body: Any
    """The body, parsed and checked."""
    query: Any = None
    """The query, parsed and checked."""
    way: Way = DIRECT


@dataclass(frozen=True)
class Text:
    """A response that is text, or JSON made elsewhere."""

    content: str
    media: str


@dataclass(frozen=True)
class Endpoint:
    """One operation of the API."""

    method: str
    path: str
    summary: str
    roles: tuple[str, ...]
    """Roles allowed; empty means public."""
    serve: Callable[[Context, Call], object]
    gives: Any
    takes: Any = None
    status: int = 200
    asks: Any = None
    """The type of the query."""


def create(context: Context, call: Call) -> CampaignView:
    """Create a draft."""
    definition: Definition = call.body
    definition.check()
    require_consent(definition)
    entry = context.coordinator.create(definition, context.clock(), call.person.name)
    return CampaignView.of(entry)


def definition(context: Context, call: Call) -> Definition:
    """The definition of a campaign, from which another one can be made."""
    with context.database.reading() as db:
        return _find_campaign(db, call).definition


def replace(context: Context, call: Call) -> CampaignView:
    """Change a draft."""
    wanted: Definition = call.body
    wanted.check()
    require_consent(wanted)
    entry = context.coordinator.replace(call.names["name"], wanted, context.clock(), call.person.name)
    return CampaignView.of(entry)


def delete(context: Context, call: Call) -> CampaignView:
    """Delete a draft."""
    return _change_state(context, call, context.coordinator.delete)


def start(context: Context, call: Call) -> CampaignView:
    """Start a campaign, or resume it."""
    return _change_state(context, call, context.coordinator.start)


def pause(context: Context, call: Call) -> CampaignView:
    """Pause a campaign."""
    return _change_state(context, call, context.coordinator.pause)


def abort(context: Context, call: Call) -> CampaignView:
    """End a campaign without a release."""
    return _change_state(context, call, context.coordinator.abort)


def campaigns(context: Context, call: Call) -> list[CampaignView]:
    """All campaigns that the person may see."""
    with context.database.reading() as db:
        return [CampaignView.of(entry) for entry in campaign_store.all_campaigns(db) if may_see(call.person, entry)]


def campaign(context: Context, call: Call) -> CampaignView:
    """One campaign."""
    with context.database.reading() as db:
        return CampaignView.of(_find_campaign(db, call))


def layers(context: Context, call: Call) -> list[LayerView]:
    """The layers of a campaign; for operators alone, because they show how many devices take part, and when."""
    with context.database.reading() as db:
        return [LayerView.of(asked, SLOTS) for asked in layer_store.layers_of(db, _find_campaign(db, call).id)]


def end(context: Context, call: Call) -> ExpectedEnd:
    """When a campaign is expected to end."""
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
        return expected_end(entry.definition, layer_store.layers_of(db, entry.id), context.clock())


def prefixes(context: Context, call: Call) -> Prefixes:
    """The prefixes that the last layer asks about, which were kept in the one before."""
    with context.database.reading() as db:
        asked = layer_store.layers_of(db, _find_campaign(db, call).id)
    if not asked:
        return Prefixes(layer_index=0, prefixes=[])
    layer = StoredLayers(context.database).read(asked[-1].digest)
    return Prefixes(asked[-1].layer_index, layer.beginnings.tolist() if isinstance(layer, Layer) else [])


def words(context: Context, call: Call) -> list[WordView]:
    """The words of a released campaign, without those that a reviewer has hidden."""
    wanted: Hidden = call.query or Hidden()
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
    database = context.database
    found = read_release(database, entry).words if wanted.hidden else reviewed_words.shown_words(database, entry)
    return [WordView(word.word, word.estimate, word.low, word.high) for word in found]


def release(context: Context, call: Call) -> Text:
    """The signed release with its privacy statement."""
    return Text(_find_release(context, call), "application/json")


def influence(context: Context, call: Call) -> InfluenceView:
    """How far so many hostile devices could have moved a released campaign."""
    hostile = call.names["hostile"]
    if not re.fullmatch("[0-9]{1,9}", hostile, re.ASCII):
        raise ParameterError(f"hostile devices are a whole number below 1,000,000,000, not {hostile[:100]!r}")
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
        facts = [
            asked.facts.layer for asked in layer_store.layers_of(db, entry.id) if asked.facts and asked.facts.layer
        ]
    release = read_release(context.database, entry)
    spoilt = entry.definition.aggregator.spoilt_by_one
    campaign = entry.definition.campaign
    bounded = bound_influence(campaign, facts, release.words, int(hostile), spoilt)
    masked = masked_sentences(campaign, facts, release.words, int(hostile))
    planting = planting_in(release.parameters, release.users, release.layers, release.words, release.exposure)
    planted = (
        f"{int(hostile):,} hostile devices of {release.users:,} could have planted at most "
        f"{planting.most_words(int(hostile)):,} of the {planting.released:,} words."
    )
    stated = planting_lines(release.planting, len(release.words))
    return InfluenceView(int(hostile), [*bounded.sentences, *masked, planted, *stated, *release.warnings])


def review_words(context: Context, call: Call) -> ReviewView:
    """Released words with their flags and verdicts."""
    wanted: WordFilter = call.query or WordFilter()
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
    found = reviewed_words.find_words(reviewed_words.flagged_words(context.database, entry), wanted)
    return ReviewView(len(found), [ReviewedView.of(one) for one in reviewed_words.page_of(found, wanted)])


def decide(context: Context, call: Call) -> VerdictCount:
    """Give a verdict on some words at once."""
    wanted: Decide = call.body
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
    words = set(wanted.words)
    reviewed_words.check_released(context.database, entry, words)
    with context.database.transaction() as db:
        verdicts.rule(db, entry, words, wanted.verdict, wanted.note, call.person.name, context.clock())
    return VerdictCount(wanted.verdict, len(words))


def history(context: Context, call: Call) -> list[Ruling]:
    """Every verdict on a word, latest first."""
    wanted: HistoryOf = call.query
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
    reviewed_words.check_released(context.database, entry, [wanted.word])
    with context.database.reading() as db:
        return verdicts.history(db, entry.id, wanted.word)


def export(context: Context, call: Call) -> Text:
    """The words with a verdict, as a file of some format."""
    wanted: Export = call.query
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
    words = reviewed_words.flagged_words(context.database, entry)
    found = reviewed_words.find_words(words, WordFilter(verdict=wanted.verdict))
    return Text(export_text(found, wanted.format, entry), MEDIA[wanted.format])


def credentials(context: Context, call: Call) -> Text:
    """New credentials, one a line. The service keeps none of them."""
    wanted: Wanted = call.body
    with context.database.transaction() as db:
        entry = _find_campaign(db, call)
        if entry.state in OVER:
            raise CampaignError(f"the campaign {entry.name!r} is {entry.state}: nobody can take part any more")
        masked = entry.definition.aggregator.exposure.masked is not None
        if masked and entry.definition.issuers:
            raise CampaignError(
                f"the devices of the campaign {entry.name!r} are admitted by the issuers that it names, and a "
                "credential of this service would not let anybody take part: ask them for credentials"
            )
        campaign_store.issue_credentials(db, entry, wanted.count)
        access.audit(db, call.person.name, f"issue {wanted.count} credentials", entry.name, context.clock())
    make = issue_with_key if masked else issue
    issuer = context.keys.first_issuer(entry.created) if masked else context.keys.issuer
    issued = (make(entry.id, issuer).joining_text for _ in range(wanted.count))
    return Text("".join(f"{text}\n" for text in issued), "text/plain; charset=utf-8")


def new_token(context: Context, call: Call) -> Token:
    """Make a token; it is shown only this once."""
    wanted: NewToken = call.body
    with context.database.transaction() as db:
        token = access.new_token(db, wanted.name, wanted.role, context.clock())
        access.audit(db, call.person.name, f"make {wanted.role} token", wanted.name, context.clock())
    return Token(wanted.name, wanted.role, token)


def tokens(context: Context, call: Call) -> list[Person]:
    """The holders of tokens."""
    with context.database.reading() as db:
        return access.people(db)


def revoke(context: Context, call: Call) -> list[Person]:
    """Revoke a token."""
    with context.database.transaction() as db:
        access.revoke(db, call.names["name"])
        access.audit(db, call.person.name, "revoke token", call.names["name"], context.clock())
        return access.people(db)


def audit(context: Context, call: Call) -> list[AuditEntry]:
    """What operators did, latest first."""
    with context.database.reading() as db:
        return access.audit_entries(db, MOST_AUDIT_ENTRIES)


_ONE = "/v1/campaigns/{name}"
_BOTH = (OPERATOR, ANALYST)
CAMPAIGN_ENDPOINTS = (
    Endpoint("GET", "/v1/campaigns", "All campaigns", _BOTH, campaigns, list[CampaignView]),
    Endpoint("POST", "/v1/campaigns", "Create a draft", (OPERATOR,), create, CampaignView, Definition, status=201),
    Endpoint("GET", _ONE, "One campaign", _BOTH, campaign, CampaignView),
    Endpoint("PUT", _ONE, "Change a draft", (OPERATOR,), replace, CampaignView, Definition),
    Endpoint("DELETE", _ONE, "Delete a draft", (OPERATOR,), delete, CampaignView),
    Endpoint("GET", f"{_ONE}/definition", "The definition of a campaign", (OPERATOR,), definition, Definition),
    Endpoint("POST", f"{_ONE}/start", "Start or resume a campaign", (OPERATOR,), start, CampaignView),
    Endpoint("POST", f"{_ONE}/pause", "Pause a campaign", (OPERATOR,), pause, CampaignView),
    Endpoint("POST", f"{_ONE}/abort", "End a campaign without a release", (OPERATOR,), abort, CampaignView),
    Endpoint("GET", f"{_ONE}/layers", "The layers of a campaign", (OPERATOR,), layers, list[LayerView]),
    Endpoint("GET", f"{_ONE}/expected-end", "When it is expected to end", (OPERATOR,), end, ExpectedEnd),
    Endpoint("GET", f"{_ONE}/prefixes", "The prefixes of the last layer", (OPERATOR,), prefixes, Prefixes),
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
    Endpoint("GET", "/v1/tokens", "The holders of tokens", (OPERATOR,), tokens, list[Person]),
    Endpoint("POST", "/v1/tokens", "Make a token", (OPERATOR,), new_token, Token, NewToken, status=201),
    Endpoint("DELETE", "/v1/tokens/{name}", "Revoke a token", (OPERATOR,), revoke, list[Person]),
    Endpoint("GET", "/v1/audit", "What operators did", (OPERATOR,), audit, list[AuditEntry]),
)


def _change_state(context: Context, call: Call, move: Callable[[str, float, str], CampaignRow]) -> CampaignView:
    return CampaignView.of(move(call.names["name"], context.clock(), call.person.name))


def may_see(person: Person, entry: CampaignRow) -> bool:
    """Whether a campaign is there for a person: a draft is for operators alone."""
    return person.role == OPERATOR or entry.state != CampaignState.DRAFT


def find_campaign(db: Connection, person: Person, name: str) -> CampaignRow:
    """The campaign of that name; for a person who may not see it, it is not there."""
    entry = campaign_store.campaign_named(db, name)
    if not may_see(person, entry):
        raise campaign_store.unknown(name)
    return entry


def _find_campaign(db: Connection, call: Call) -> CampaignRow:
    return find_campaign(db, call.person, call.names["name"])


def _find_release(context: Context, call: Call) -> str:
    with context.database.reading() as db:
        entry = _find_campaign(db, call)
        document = campaign_store.release_of(db, entry.id)
    if document is None:
        raise CampaignError(f"the campaign {entry.name!r} is {entry.state}, and nothing of it is released")
    return document
