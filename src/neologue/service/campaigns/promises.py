"""What the devices of a campaign are promised of the masks of their votes, and who vouches for them."""

from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.ops.service_keys import Keys


def vouching(entry: CampaignRow, keys: Keys) -> tuple[bytes, ...]:
    """The issuers that vouch for the signing keys of a campaign's devices."""
    # Of the service's own the first alone: a promise does not change while devices rely on it.
    return tuple(map(bytes.fromhex, entry.definition.issuers)) or keys.issuers(entry.created)[:1]


def promise_of(entry: CampaignRow, keys: Keys) -> bytes | None:
    """The promise, as devices are told it; None if votes are not masked."""
    promise = entry.definition.aggregator.promise(vouching(entry, keys))
    return None if promise is None else bytes(promise)
