"""The votes so far of words that are asked about again, from the decision on one layer to that on the next.

They are sums of whole layers. Nothing else of a decided layer's votes is kept but what the decision keeps, and no
earlier ones are needed: a discovery adds them up as it goes on.
"""

import numpy as np

from neologue.aggregation.packed_sum import add_packed, pack_sum
from neologue.discovery.selection.selected import Integers
from neologue.service.storage.database import Connection


def keep_carried(db: Connection, campaign: bytes, layer_index: int, votes: Integers) -> None:
    """Keep the votes that are carried over from a layer, in the place of those that were carried over to it."""
    erase_carried(db, campaign)
    if len(votes):
        db.execute(
            "INSERT INTO carried_votes (campaign, layer_index, words, votes) VALUES (?, ?, ?, ?)",
            (campaign, layer_index, len(votes), pack_sum(votes.astype(np.uint32))),
        )


def carried_from(db: Connection, campaign: bytes, layer_index: int) -> Integers:
    """The votes that are carried over from a layer, as long as it is the last that is decided."""
    rows = db.execute(
        "SELECT words, votes FROM carried_votes WHERE campaign = ? AND layer_index = ?", (campaign, layer_index)
    )
    votes = np.zeros(rows[0][0] if rows else 0, np.uint32)
    for _, packed in rows:
        add_packed(packed, votes)
    return votes.astype(np.int64)


def erase_carried(db: Connection, campaign: bytes) -> None:
    """Erase the votes that a campaign carries over."""
    db.execute("DELETE FROM carried_votes WHERE campaign = ?", (campaign,))
