"""Merkle trees: the vectors that implementations of RFC 6962 share, and that no tampering passes."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import LogError
from neologue.transparency.merkle import (
    EMPTY_ROOT,
    check_consistency,
    completed_by,
    leaf_hash,
    path_length,
    prove_consistency,
    prove_inclusion,
    root_of_inclusion,
    tree_root,
)
from neologue.transparency.tiles import subtrees_of_entries, subtrees_of_leaves

LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
SIZES = st.integers(1, 70)


def entries(count: int) -> list[bytes]:
    return [f"entry {number}".encode() for number in range(count)]


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """The definition of RFC 6962, section 2.1, word by word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + plain_root(leaves[:split]) + plain_root(leaves[split:])).digest()


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    assert tree_root(size, subtrees_of_entries(LEAVES)).hex() == ROOTS[size - 1]


def test_a_proof_of_certificate_transparency_is_made_and_verified() -> None:
    """Leaf 5 of 8: RFC 6962 implementations give these three hashes."""
    subtrees = subtrees_of_entries(LEAVES)
    path = prove_inclusion(5, 8, subtrees)
    assert [each.hex() for each in path] == [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]
    assert root_of_inclusion(leaf_hash(LEAVES[5]), 5, 8, path).hex() == ROOTS[7]


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    assert tree_root(0, subtrees_of_leaves([])) == EMPTY_ROOT == plain_root([])


@given(SIZES)
def test_roots_follow_the_definition(size: int) -> None:
    leaves = entries(70)
    assert tree_root(size, subtrees_of_entries(leaves)) == plain_root(leaves[:size])


@given(SIZES)
def test_a_tree_that_grows_leaf_by_leaf_has_the_same_subtrees(size: int) -> None:
    kept: dict[tuple[int, int], bytes] = {}
    for index, entry in enumerate(entries(size)):
        for level, found in enumerate(completed_by(index, leaf_hash(entry), lambda *where: kept[where])):
            kept[level, index >> level] = found
    assert tree_root(size, lambda *where: kept[where]) == plain_root(entries(size))


@given(st.data())
def test_every_entry_is_proved_and_nothing_else(data: st.DataObject) -> None:
    size = data.draw(SIZES)
    index = data.draw(st.integers(0, size - 1))
    leaves = entries(size)
    path = prove_inclusion(index, size, subtrees_of_entries(leaves))
    root = plain_root(leaves)
    assert len(path) == path_length(index, size)
    assert root_of_inclusion(leaf_hash(leaves[index]), index, size, path) == root
    assert root_of_inclusion(leaf_hash(b"another"), index, size, path) != root
    other = data.draw(st.integers(0, size - 1).filter(lambda other: other != index)) if size > 1 else None
    if other is not None:
        assert not proves(leaf_hash(leaves[index]), other, size, path, root)
    for place in range(len(path)):
        tampered = [*path[:place], bytes(32), *path[place + 1 :]]
        assert not proves(leaf_hash(leaves[index]), index, size, tampered, root)
        assert not proves(leaf_hash(leaves[index]), index, size, path[:place] + path[place + 1 :], root)
    assert not proves(leaf_hash(leaves[index]), index, size, [*path, bytes(32)], root)


@given(st.data())
def test_growth_is_proved_and_nothing_else(data: st.DataObject) -> None:
    new = data.draw(SIZES)
    old = data.draw(st.integers(0, new))
    leaves = entries(new)
    path = prove_consistency(old, new, subtrees_of_entries(leaves))
    old_root, new_root = plain_root(leaves[:old]), plain_root(leaves)
    check_consistency(old, old_root, new, new_root, path)
    forged = [entry if place else b"forged" for place, entry in enumerate(leaves)]
    if old > 0:
        refuse(old, plain_root(forged[:old]), new, new_root, path)
        refuse(old, old_root, new, plain_root(forged), path)
        # A fork has no proof at all, not even its own.
        refuse(old, old_root, new, plain_root(forged), prove_consistency(old, new, subtrees_of_entries(forged)))
        refuse(new, new_root, old, old_root, path) if old < new else None
    for place in range(len(path)):
        refuse(old, old_root, new, new_root, [*path[:place], bytes(32), *path[place + 1 :]])
        refuse(old, old_root, new, new_root, path[:place] + path[place + 1 :])
    refuse(old, old_root, new, new_root, [*path, bytes(32)])


def proves(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    try:
        return root_of_inclusion(leaf, index, size, path) == root
    except LogError:
        return False


def refuse(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> None:
    with pytest.raises(LogError):
        check_consistency(old, old_root, new, new_root, path)


def test_a_leaf_that_a_tree_does_not_have_is_refused() -> None:
    with pytest.raises(LogError, match="no entry 3"):
        root_of_inclusion(bytes(32), 3, 3, [])
