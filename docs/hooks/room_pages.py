"""A page for each room of the code: its modules, what each is about, and its public names with their docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

PACKAGE = Path(__file__).parents[2] / "src" / "neologue"
FOLDER = "reference"
GROUND_FLOOR = "ground floor"
FIRST = "index"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rooms behind all other pages."""
    rooms = [{room: f"{FOLDER}/{_file(room)}"} for room, _ in _rooms()]
    assert config.nav is not None
    config.nav.append({"Reference": [f"{FOLDER}/{FIRST}.md", *rooms]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of all rooms, and the one that lists them."""
    rooms = dict(_rooms())
    files.append(File.generated(config, f"{FOLDER}/{FIRST}.md", content=_first_page(rooms)))
    for room, modules in rooms.items():
        files.append(File.generated(config, f"{FOLDER}/{_file(room)}", content=_room_page(room, modules)))
    return files


def _rooms() -> Iterator[tuple[str, list[Path]]]:
    """Each room with its modules, the ground floor first."""
    yield GROUND_FLOOR, _modules(PACKAGE)
    for folder in sorted(path.parent for path in PACKAGE.rglob("__init__.py")):
        modules = _modules(folder)
        if folder != PACKAGE and modules:
            yield ".".join(folder.relative_to(PACKAGE).parts), modules


def _file(room: str) -> str:
    return room.replace(" ", "-") + ".md"


def _modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("__"))


def _subject(module: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _name(module: Path) -> str:
    return ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)


def _first_page(rooms: dict[str, list[Path]]) -> str:
    names = "\n\n".join(f"::: neologue.{name}" for name in _public_names())
    rows = "\n".join(f"| [{room}]({_file(room)}) | {_room_subject(room)} |" for room in rooms)
    return f"""# Reference

The names on this page are for everybody: `from neologue import …`. What runs on a device is in
[neologue.device](device.md). All other modules may change with any version; they are here because the code is meant to
be read.
[The architecture](../architecture.md) says how the rooms fit together.

| room | subject |
|---|---|
{rows}

{names}
"""


def _public_names() -> list[str]:
    """What `neologue` exports, in order."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(name for name in ast.literal_eval(node.value) if not name.startswith("_"))
    raise PluginError("src/neologue/__init__.py has no __all__; the reference lists its names")


def _room_subject(room: str) -> str:
    if room == GROUND_FLOOR:
        return "What every room may import."
    return _subject(PACKAGE.joinpath(*room.split(".")) / "__init__.py")


def _room_page(room: str, modules: list[Path]) -> str:
    rows = "\n".join(f"| [{path.stem}](#{_name(path)}) | {_subject(path)} |" for path in modules)
    references = "\n\n".join(f"::: {_name(path)}" for path in modules)
    return f"# {room}\n\n{_room_subject(room)}\n\n| module | subject |\n|---|---|\n{rows}\n\n{references}\n"
