"""What the log is told of campaigns: digests of what was decided and asked, and of nothing that was answered."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from neologue.ledger.budget import Budget
from neologue.protocol.signed_document import canonical_json
from neologue.service.campaigns.definition import Definition
from neologue.service.log import log_store
from neologue.service.storage.database import Connection
from neologue.service.storage.states import CampaignState
from neologue.transparency.log_entry import Deed, LogEntry

_DEEDS: Final[Mapping[CampaignState, Deed]] = {
    CampaignState.RUNNING: Deed.STARTED,
    CampaignState.ABORTED: Deed.ABORTED,
    CampaignState.REFUSED: Deed.REFUSED,
}
"""What a new state of a campaign means; the log is told of a release with its digest, and not of pauses."""
_INTERNAL: Final = ("name", "population")
"""Names that are the operator's own."""


def log_definition(db: Connection, campaign: bytes, definition: Definition) -> None:
    """Tell the log of a draft: the digest of its definition, which nobody can read before it is started."""
    digest = hashlib.sha256(definition_document(campaign, definition)).digest()
    log_store.append(db, LogEntry(Deed.CREATED, digest, campaign))


def publish_definition(db: Connection, campaign: bytes, definition: Definition) -> None:
    """Keep the definition of a campaign that is started for those who read the log."""
    document = definition_document(campaign, definition)
    log_store.keep_document(db, hashlib.sha256(document).digest(), document)


def log_move(db: Connection, campaign: bytes, before: Collection[CampaignState], state: CampaignState) -> None:
    """Tell the log of a campaign that was in one of the states before, and is in another one now."""
    resumed = state is CampaignState.RUNNING and CampaignState.PAUSED in before
    if state in _DEEDS and not resumed:
        log_store.append(db, LogEntry(_DEEDS[state], campaign=campaign))


def log_budget(db: Connection, population: str, budget: Budget) -> None:
    """Tell the log of the budget of a population."""
    said = {"population": population, "unit": budget.unit, "epsilon": budget.epsilon, "delta": budget.delta}
    log_store.append(db, LogEntry(Deed.BUDGET, hashlib.sha256(canonical_json(said)).digest()))


def opened_entry(campaign: bytes, layer_index: int, digest: bytes, promise: bytes | None) -> LogEntry:
    """The entry that opens a layer."""
    promised = None if promise is None else hashlib.sha256(promise).digest()
    return LogEntry(Deed.OPENED, digest, campaign, layer_index, promised)


def definition_document(campaign: bytes, definition: Definition) -> bytes:
    """The definition of a campaign as it is published: lists of words by their digests, and no names of the operator's.

    The campaign's identity is in it, so that two campaigns never have the same.
    """
    said: dict[str, Any] = msgspec.to_builtins(definition)
    for name in _INTERNAL:
        del said[name]
    said["parameters"] = definition.campaign.parameters.as_dict()
    said["layer_seconds"] = definition.seconds
    said["known"] = definition.campaign.known.digest
    del said["also_known"]  # in the digest, too
    said["targets"] = None if definition.targets is None else _digest_of_words(definition.targets)
    return canonical_json({"campaign": campaign.hex(), **said})


def _digest_of_words(words: Collection[str]) -> str:
    return hashlib.sha256("".join(f"{word}\n" for word in sorted(set(words))).encode()).hexdigest()
