"""The proof that a layer is in the log, as its devices are given it."""

from neologue.service.log import log_store
from neologue.service.log.log_store import OPERATOR_TREE, StoredCheckpoint
from neologue.service.storage.database import Connection
from neologue.transparency.inclusion_proof import HINT_BYTES, MOST_COSIGNATURES, InclusionProof, TreeProof
from neologue.transparency.log_entry import LogEntry
from neologue.transparency.merkle import prove_inclusion
from neologue.transparency.signed_note import Cosignature, parse_signatures


def layer_proof(db: Connection, entry: LogEntry, quorum: int) -> InclusionProof | None:
    """The proof of an entry that opens a layer; None until so many witnesses have co-signed both of its trees."""
    assert entry.campaign is not None
    assert entry.layer is not None
    operator = log_store.newest_checkpoint(db, OPERATOR_TREE, quorum)
    campaign = log_store.newest_checkpoint(db, entry.campaign, quorum)
    position = log_store.position_of(db, entry)
    if operator is None or campaign is None or position is None:
        return None
    if position >= operator.size or entry.layer >= campaign.size:
        return None
    return InclusionProof(
        entry.layer, position, _tree_proof(db, operator, position), _tree_proof(db, campaign, entry.layer)
    )


def _tree_proof(db: Connection, checkpoint: StoredCheckpoint, index: int) -> TreeProof:
    path = prove_inclusion(index, checkpoint.size, log_store.stored_subtrees(db, checkpoint.tree))
    cosigned = [
        (witness[:HINT_BYTES], Cosignature.parse(line.value))
        for witness, text in log_store.cosignatures_of(db, checkpoint.tree, checkpoint.size)
        for line in parse_signatures(text)
    ]
    signature = checkpoint.note.signatures[0].value
    return TreeProof(checkpoint.size, tuple(path), signature, tuple(cosigned[:MOST_COSIGNATURES]))
