"""The files of a log: where they lie, and that a reader gets the tree out of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.conformance.scripted_log import tile_files
from neologue.errors import LogError
from neologue.transparency.merkle import leaf_hash, prove_consistency, prove_inclusion, tree_root
from neologue.transparency.tiles import (
    Tile,
    pack_entries,
    read_entries,
    subtrees_of_entries,
    subtrees_of_tiles,
    tile_in,
    tiles_of,
    unpack_entries,
)


def entries(count: int) -> list[bytes]:
    return [f"entry {number}".encode() for number in range(count)]


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 0, 5), "tile/0/000.p/5"),
        (Tile(1, 1234067), "tile/1/x001/x234/067"),
        (Tile(None, 273, 112), "tile/entries/273.p/112"),
    ],
)
def test_tiles_lie_where_the_specification_says(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert Tile.parse(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/0",
        "tile/00/000",
        "tile/64/000",
        "tile/0/x000/000",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000/",
        "",
    ],
)
def test_no_path_has_a_second_spelling(path: str) -> None:
    assert Tile.parse(path) is None


def test_a_tree_has_the_tiles_of_the_specification() -> None:
    """The example of c2sp.org/tlog-tiles: 70,000 entries."""
    tiles = [tile for tile in tiles_of(70_000) if tile.level is not None]
    assert sum(tile.level == 0 and tile.width == 256 for tile in tiles) == 273
    assert [tile.path for tile in tiles if tile.width < 256] == [
        "tile/0/273.p/112",
        "tile/1/001.p/17",
        "tile/2/000.p/1",
    ]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 600])
def test_a_reader_gets_the_tree_from_its_files(size: int) -> None:
    leaves = entries(size)
    files = tile_files(leaves)
    subtrees, plain = subtrees_of_tiles(size, files.__getitem__), subtrees_of_entries(leaves)
    assert tree_root(size, subtrees) == tree_root(size, plain)
    for index in {0, size // 2, size - 1}:
        assert prove_inclusion(index, size, subtrees) == prove_inclusion(index, size, plain)
    assert prove_consistency(size // 2, size, subtrees) == prove_consistency(size // 2, size, plain)
    assert read_entries(size, files.__getitem__) == leaves


def test_a_tile_that_is_cut_is_refused() -> None:
    files = {path: content[:-1] for path, content in tile_files(entries(5)).items()}
    with pytest.raises(LogError, match="bytes"):
        tree_root(5, subtrees_of_tiles(5, files.__getitem__))
    with pytest.raises(LogError, match="cut"):
        read_entries(5, files.__getitem__)
    with pytest.raises(LogError, match="no tile"):
        tile_in(0, 1, 5)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=20))
def test_bundles_are_packed_and_unpacked(leaves: list[bytes]) -> None:
    packed = pack_entries(leaves)
    assert unpack_entries(packed, len(leaves)) == leaves
    with pytest.raises(LogError, match="longer"):
        unpack_entries(packed + b"\0", len(leaves))
    assert [leaf_hash(leaf) for leaf in leaves] == [
        subtrees_of_entries(leaves)(0, place) for place in range(len(leaves))
    ]
