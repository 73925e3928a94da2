"""Merkle trees over an append-only list, hashed as RFC 6962 says: inclusion and consistency, proved and verified.

The hash of a leaf is SHA-256(0 ‖ leaf), that of an inner node SHA-256(1 ‖ left ‖ right). A tree of n leaves splits
at the largest power of two below n, so that its left side is a complete subtree, which never changes again. Proofs are
made from hashes of complete subtrees alone: `Subtrees` gives the one at a level and an index, that of the leaves
index·2^level to (index + 1)·2^level - 1.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from neologue.errors import LogError

HASH_BYTES: Final = 32
MOST_HASHES: Final = 63
"""No tree that anybody has is higher."""
EMPTY_ROOT: Final = hashlib.sha256().digest()

Subtrees = Callable[[int, int], bytes]
"""The hash of the complete subtree at a level, by its index there."""


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(b"\1" + left + right).digest()


def completed_by(index: int, leaf: bytes, subtrees: Subtrees) -> list[bytes]:
    """The hashes of the subtrees that the leaf with this hash at this index completes, from level 0 upwards."""
    hashes = [leaf]
    while index & 1:
        hashes.append(node_hash(subtrees(len(hashes) - 1, index - 1), hashes[-1]))
        index >>= 1
    return hashes


def tree_root(size: int, subtrees: Subtrees) -> bytes:
    """The root of the first `size` leaves."""
    return _range_hash(0, size, subtrees) if size else EMPTY_ROOT


def prove_inclusion(index: int, size: int, subtrees: Subtrees) -> list[bytes]:
    """The hashes that lead from a leaf to the root of the first `size` leaves, from below."""
    path: list[bytes] = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(_range_hash(middle, high, subtrees))
            high = middle
        else:
            path.append(_range_hash(low, middle, subtrees))
            low = middle
    return path[::-1]


def prove_consistency(old: int, new: int, subtrees: Subtrees) -> list[bytes]:
    """The hashes that show that the first `old` of `new` leaves have the root that they had alone."""
    return [] if old in (0, new) else list(_consistency(0, old, new, subtrees, complete=True))


def root_of_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """The root of a tree of this size that has the leaf with this hash at this index, if the path is right."""
    if not 0 <= index < size:
        raise LogError(f"a log of {size:,} entries has no entry {index:,}; get the proof anew")
    if len(path) != path_length(index, size):
        raise LogError(
            f"the proof of entry {index:,} of {size:,} has {len(path)} hashes, not {path_length(index, size)}; get it "
            "anew"
        )
    found, last = leaf, size - 1
    for sibling in path:
        # At the right edge, levels without a sibling are skipped.
        while not index & 1 and index == last:
            index, last = index >> 1, last >> 1
        found = node_hash(sibling, found) if index & 1 else node_hash(found, sibling)
        index, last = index >> 1, last >> 1
    return found


def path_length(index: int, size: int) -> int:
    """How many hashes prove the inclusion of a leaf."""
    inner = (index ^ (size - 1)).bit_length()
    return inner + (index >> inner).bit_count()


def check_consistency(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> None:
    """Raise a LogError unless the path proves that the new tree has only added leaves to the old one."""
    if not 0 <= old <= new:
        raise LogError(f"a log of {new:,} entries does not go on from one of {old:,}; get the newest checkpoint")
    hashes = list(path)
    if old in (0, new):
        if hashes:
            raise LogError("a proof between equal sizes, or from none, has no hashes; get it anew")
        if old == new and old_root != new_root:
            raise LogError(f"the log has two roots for its first {old:,} entries: it was forked")
        return
    index, last = old - 1, new - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    # An old tree that is complete is where the path begins.
    first = old_root if not index else (hashes.pop(0) if hashes else b"")
    was = now = first
    for sibling in hashes:
        if not last:
            raise LogError("the proof of consistency is too long; get it anew")
        if index & 1 or index == last:
            was, now = node_hash(sibling, was), node_hash(sibling, now)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            now = node_hash(now, sibling)
        index, last = index >> 1, last >> 1
    if last:
        raise LogError("the proof of consistency is too short; get it anew")
    if was != old_root or now != new_root:
        raise LogError(
            f"the log of {new:,} entries does not go on from that of {old:,}: it was forked, or the proof is"
        )


def _split(size: int) -> int:
    """The largest power of two below a size of at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def _range_hash(low: int, high: int, subtrees: Subtrees) -> bytes:
    """The hash over leaves from `low` to below `high`, a range that some tree has as a node."""
    size = high - low
    level = size.bit_length() - 1
    if size == 1 << level:
        return subtrees(level, low >> level)
    middle = low + _split(size)
    return node_hash(_range_hash(low, middle, subtrees), _range_hash(middle, high, subtrees))


def _consistency(low: int, old: int, high: int, subtrees: Subtrees, *, complete: bool) -> Iterator[bytes]:
    """The proof below one node; `complete` as long as the old tree is a node that the verifier knows."""
    if old == high:
        if not complete:
            yield _range_hash(low, high, subtrees)
        return
    middle = low + _split(high - low)
    if old <= middle:
        yield from _consistency(low, old, middle, subtrees, complete=complete)
        yield _range_hash(middle, high, subtrees)
    else:
        yield from _consistency(middle, old, high, subtrees, complete=False)
        yield _range_hash(low, middle, subtrees)
