"""docs/architecture.md is true: its rooms and edges are those that are checked, and every file it names is there."""

import re
from pathlib import Path

from test_architecture import GROUND, MAY_IMPORT, MODULES, module_name, room_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROW = re.compile(r"^\| `([a-z_.]+)` \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9{},]*(?:\.[a-z]+)?)`")


def expanded(name: str) -> list[str]:
    """`a/{b,c}.py` as a/b.py and a/c.py."""
    braces = re.search(r"\{([^}]*)\}", name)
    return [name[: braces.start()] + one + name[braces.end() :] for one in braces[1].split(",")] if braces else [name]


def test_the_table_has_every_room_and_what_it_may_import() -> None:
    stated = {room: set(re.findall(r"`([a-z_.]+)`", imports)) for room, _, imports in ROW.findall(PAGE)}
    assert stated == {room: allowed for room, allowed in MAY_IMPORT.items() if room not in GROUND}


def test_no_edge_is_allowed_that_nobody_uses() -> None:
    from test_architecture import imports

    used: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for path in MODULES:
        module = module_name(path)
        if here := room_of(module):
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            used[here] |= {room for name in imports(path.read_text("utf-8"), package) if (room := room_of(name))}
    unused = {room: sorted(allowed - used[room]) for room, allowed in MAY_IMPORT.items() if allowed - used[room]}
    assert not unused


def test_every_file_that_is_named_is_there() -> None:
    places = (ROOT, ROOT / "src" / "neologue")
    names = [one for name in NAMED.findall(PAGE) for one in expanded(name)]
    assert len(names) > 60
    assert not [name for name in names if not any((place / name).exists() for place in places)]
