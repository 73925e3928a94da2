"""The house has rooms: which may import which is declared here once, and every import of the source is held to it."""

import ast
import json
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import neologue

SOURCE = Path(neologue.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# The rooms in the direction that data flows, each with the rooms it may import. Every room may import the ground floor.
GROUND = {"errors", "entropy", "clock", "compiled", "sqlite_file", "table", "binom", "ed25519", "one_address"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "entropy": set(),
    "clock": set(),
    "compiled": set(),
    "binom": set(),
    "sqlite_file": {"errors"},
    "table": {"errors"},
    "ed25519": set(),
    "one_address": set(),
    "language": set(),
    "randomizers": set(),
    "masking": set(),
    "transparency": set(),
    "witness": {"transparency"},
    "privacy": {"randomizers", "masking"},
    "protocol": {"language", "randomizers", "masking"},
    "device": {"language", "randomizers", "masking", "transparency", "protocol"},
    "testing": {"language", "protocol", "device"},
    "campaign": {"language", "randomizers", "masking", "privacy", "protocol"},
    "ledger": {"randomizers", "privacy"},
    "layout": {"language", "randomizers", "privacy", "campaign"},
    "discovery": {"language", "randomizers", "privacy", "protocol", "campaign", "layout"},
    "release": {
        "language", "randomizers", "masking", "transparency", "privacy", "protocol", "campaign", "layout", "discovery",
    },
    "aggregation": {"randomizers", "masking", "privacy", "protocol"},
    "populations": {"language", "randomizers", "protocol", "campaign"},
    "simulation": {"language", "randomizers", "protocol", "device", "campaign", "discovery", "populations"},
    "planning": {
        "language", "randomizers", "masking", "privacy", "protocol", "device", "campaign", "layout", "discovery",
        "release", "aggregation", "populations",
    },
    "audit": {"language", "randomizers", "protocol", "device"},
    "fleet": {"masking", "device", "populations"},
    "conformance": {"language", "transparency", "protocol", "device"},
    "service.storage": {"discovery", "aggregation"},
    "service.log": {"transparency", "service.storage"},
    "service.ops": {"transparency", "protocol", "service.storage", "service.log"},
    "service.masked": {"masking", "aggregation", "service.storage", "service.ops"},
    "service.campaigns": {
        "language", "masking", "transparency", "privacy", "protocol", "campaign", "ledger", "layout", "discovery",
        "release", "aggregation", "service.storage", "service.log", "service.masked", "service.ops",
    },
    "service.collect": {
        "language", "protocol", "aggregation", "service.storage", "service.log", "service.masked", "service.ops",
        "service.campaigns",
    },
    "service.review": {"language", "discovery", "release", "service.storage", "service.ops", "service.campaigns"},
    "service.api": {
        "masking", "transparency", "protocol", "ledger", "discovery", "release", "aggregation", "service.storage",
        "service.log", "service.masked", "service.ops", "service.campaigns", "service.collect", "service.review",
    },
    "service": {
        "ledger", "service.storage", "service.log", "service.masked", "service.ops", "service.campaigns",
        "service.collect", "service.api",
    },
    "studies": {
        "language", "randomizers", "privacy", "protocol", "campaign", "layout", "discovery", "release", "populations",
        "simulation",
    },
    "reporting": {"language", "privacy", "campaign", "discovery", "release", "simulation", "planning"},
    "workbench": {"language", "privacy", "campaign", "release", "populations", "simulation", "planning", "reporting"},
    "web": {
        "language", "transparency", "privacy", "protocol", "campaign", "ledger", "discovery", "release", "planning",
        "service.storage", "service.log", "service.ops", "service.campaigns", "service.collect", "service.review",
        "service.api", "service", "reporting",
    },
    "cli": {
        "language", "randomizers", "masking", "transparency", "witness", "privacy", "protocol", "device", "campaign",
        "ledger", "discovery", "release", "populations", "simulation", "planning", "audit", "fleet", "conformance",
        "service.storage", "service.log", "service.ops", "service", "studies", "reporting", "web",
    },
}  # fmt: skip
DOORS = ("neologue", "neologue.__main__")
"""Modules outside all rooms: what users import or start, which leads into every room."""

NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}
LARGEST_ROOM = 20
LONGEST_MODULE = 400
"""Lines."""
HEAVY = {"duckdb", "numba", "numpy", "rich", "scipy", "spylls", "wordfreq"}


def module_name(path: Path, source: Path = SOURCE) -> str:
    """The dotted name under which a file of the source is imported."""
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """The room that a module of neologue is in, if it is in any: the longest declared name that its own begins with."""
    first, *rest = module.split(".")
    if first != "neologue" or module in DOORS or not rest:
        return None
    inner = ".".join(rest[:2])
    return inner if inner in MAY_IMPORT else rest[0]


def imports(text: str, package: str) -> Iterator[str]:
    """Every module of neologue that a text imports: at the top, inside functions, relatively or by name."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                # What `from neologue import …` gives has a home of its own, or is a room.
                yield from (_home(alias.name) if base == "neologue" else f"{base}.{alias.name}" for alias in names)
            case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(name)), *_]):
                yield name
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name


def _home(name: str) -> str:
    if name in MAY_IMPORT:
        return f"neologue.{name}"
    return neologue._HOMES.get(name, "neologue")


def violations(text: str, module: str, *, is_package: bool = False) -> list[str]:
    """The imports of a module that its room does not permit."""
    here = room_of(module)
    if here is None:
        return []
    package = module if is_package else module.rpartition(".")[0]
    there = {room for imported in imports(text, package) if (room := room_of(imported))}
    return [
        f"{module} imports {room}"
        for room in sorted(there - {here})
        if room not in MAY_IMPORT.get(here, set()) | (set() if here in GROUND else GROUND)
    ]


def test_imports_go_one_way() -> None:
    found = [
        broken
        for path in MODULES
        for broken in violations(path.read_text("utf-8"), module_name(path), is_package=path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def test_rooms_may_import_earlier_rooms_alone() -> None:
    rooms = list(MAY_IMPORT)
    back = [
        (room, later) for room, allowed in MAY_IMPORT.items() for later in allowed - set(rooms[: rooms.index(room)])
    ]
    assert not back


def test_every_module_is_in_a_room_that_is_declared() -> None:
    homeless = [name for name in map(module_name, MODULES) if name not in DOORS and room_of(name) not in MAY_IMPORT]
    assert not homeless


@pytest.mark.parametrize(
    ("module", "text", "broken"),
    [
        ("neologue.device.storage.diary", "from neologue.discovery.tally import Tally", "discovery"),
        ("neologue.discovery.tally", "import neologue.device.storage.diary", "device"),
        ("neologue.language.alphabet", "def f():\n    from neologue.protocol.layer import Layer", "protocol"),
        ("neologue.layout.schedule", "from ..simulation import engine", "simulation"),
        ("neologue.protocol.layer", "from .. import cli", "cli"),
        ("neologue.protocol.layer", "from neologue import discover", "workbench"),
        ("neologue.protocol.layer", "from neologue import service", "service"),
        ("neologue.protocol.layer", "from importlib import import_module\nimport_module('neologue.cli')", "cli"),
        ("neologue.reporting.files", "from neologue.studies import sweep", "studies"),
        ("neologue.errors", "if TYPE_CHECKING:\n    from neologue.language.alphabet import Alphabet", "language"),
        ("neologue.cli.main", "import neologue.attic", "attic"),
    ],
)
def test_a_wrong_import_is_caught_wherever_it_hides(module: str, text: str, broken: str) -> None:
    assert violations(text, module) == [f"{module} imports {broken}"]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("neologue.device.sampling", "from neologue.entropy import Entropy\nfrom . import diary"),
        ("neologue.reporting.simulated_release", "from neologue.simulation.discovery_run import DiscoveryRun"),
        ("neologue.cli.main", "from neologue import __version__\nimport neologue.web.pages"),
        ("neologue.__main__", "from neologue.cli import main"),
    ],
)
def test_a_right_import_is_left_in_peace(module: str, text: str) -> None:
    assert violations(text, module) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [path for path in MODULES if NAMELESS & set(path.relative_to(SOURCE).with_suffix("").parts)]


def test_no_room_has_more_modules_than_a_reader_takes_in() -> None:
    sizes = Counter(path.parent.relative_to(SOURCE).as_posix() for path in MODULES if path.name != "__init__.py")
    assert not {room: size for room, size in sizes.items() if size > LARGEST_ROOM}


def test_no_module_is_longer_than_a_reader_takes_in() -> None:
    lines = {module_name(path): path.read_text("utf-8").count("\n") for path in MODULES}
    assert not {module: long for module, long in lines.items() if long > LONGEST_MODULE}


def test_no_class_has_the_name_of_another() -> None:
    classes = Counter(
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert not [name for name, times in classes.items() if times > 1]


def undocumented(tree: ast.Module) -> Iterator[str]:
    """What is public in a module, the module itself included, and lacks a docstring."""
    if not ast.get_docstring(tree):
        yield "the module"
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = [node for node in tree.body if isinstance(node, definitions) and not node.name.startswith("_")]
    for node in public:
        if isinstance(node, ast.ClassDef):
            public.extend(d for d in node.body if isinstance(d, definitions) and not d.name.startswith("_"))
        if not ast.get_docstring(node):
            yield f"{node.name} in line {node.lineno}"


def test_everything_public_has_a_docstring() -> None:
    missing = [
        f"{module_name(path)}: {what}" for path in MODULES for what in undocumented(ast.parse(path.read_text("utf-8")))
    ]
    assert not missing, "\n".join(missing)


def test_a_missing_docstring_is_noticed() -> None:
    text = "class A:\n    'Has one.'\n    def b(self): ...\n    def _c(self): ...\ndef d(): ..."
    assert list(undocumented(ast.parse(text))) == ["the module", "d in line 5", "b in line 3"]


def run_script(text: str, *arguments: str | Path) -> str:
    """What a script prints in a Python of its own."""
    command = [sys.executable, "-c", textwrap.dedent(text), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_device_needs_numpy_cryptography_and_the_standard_library_alone(tmp_path: Path) -> None:
    reports = run_script(
        """
        import json
        import sys

        ALLOWED = sys.stdlib_module_names | {"neologue", "numpy", "cryptography", "cffi", "_cffi_backend"}

        class Customs:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] not in ALLOWED:
                    raise ModuleNotFoundError(f"{name} is refused", name=name)

        # Editable installations put finders of their own into the process before us.
        for name in [name for name in sys.modules if name.partition(".")[0] not in ALLOWED | {"__main__"}]:
            del sys.modules[name]
        sys.meta_path.insert(0, Customs())

        refused = []
        for name in ("scipy", "numba", "duckdb", "click", "rich", "wordfreq", "spylls", "msgspec"):
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                refused.append(str(error))

        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        import neologue.device.masked
        from neologue.device import SpendingRecord, Policy, contribute
        from neologue.entropy import SeededEntropy
        from neologue.language.alphabet import Alphabet
        from neologue.language.candidates import root
        from neologue.language.vocabulary import Vocabulary
        from neologue.protocol.invitation import invite
        from neologue.protocol.layer import ExtendingLayer
        from neologue.protocol.report import read_report

        key = Ed25519PrivateKey.generate()
        account = SpendingRecord(sys.argv[1])
        operators = frozenset({key.public_key().public_bytes_raw()})
        policy = Policy(
            operators=operators, largest_epsilon=20.0, lifetime_epsilon=40.0,
            largest_vote_ratio=1e9, largest_silence_ratio=1e9, fewest_noise_votes=0.0,
        )
        alphabet = Alphabet("abc")
        answers = {}
        for mechanism in ("unary", "subset-selection"):
            layer = ExtendingLayer(
                pass_number=1, number=1, layer_size=100, alphabet=alphabet, frontier=root(alphabet), extension=2,
                depth=5,
                mechanism=mechanism, epsilon=20.0, bound=2, sampler="greedy", known=Vocabulary(["cab"]),
            )
            invitation = invite(mechanism.encode().ljust(16), layer, key)
            secure = account.answer(invitation, {"abba": 3, "cab": 9}, policy)
            seeded = contribute({"abba": 3, "cab": 9}, layer, SeededEntropy(0))
            votes = read_report(layer, seeded).tolist()
            held = layer.candidates.index(__import__("numpy").array(["abba", "cab"])).tolist()
            answers[mechanism] = {"same size": len(secure) == len(seeded), "held": held, "votes": votes}
        print(json.dumps({"refused": refused, "answers": answers}))
        """,
        tmp_path / "account.db",
    )
    seen = json.loads(reports)
    assert len(seen["refused"]) == 8
    for answer in seen["answers"].values():
        new, known = answer["held"]
        assert answer["same size"]
        assert new in answer["votes"], "with ε = 20 the word held is voted for"
        assert known not in answer["votes"], "and a known word is not"


@pytest.mark.parametrize("arguments", [["--help"], ["discover", "--help"], ["--version"]], ids=" ".join)
def test_nothing_heavy_is_loaded_for_help(arguments: list[str]) -> None:
    printed = run_script(
        f"""
        import runpy, sys
        sys.argv = ["neologue", *{arguments!r}]
        try:
            runpy.run_module("neologue", run_name="__main__")
        except SystemExit as end:
            assert not end.code
        print("loaded:", *sorted({HEAVY!r} & set(sys.modules)))
        """
    )
    assert printed.splitlines()[-1] == "loaded:"


def test_nothing_heavy_is_loaded_by_importing_the_package() -> None:
    assert run_script(f"import sys, neologue; print(*sorted({HEAVY!r} & set(sys.modules)))") == "\n"


def test_a_worker_starts_without_what_only_decisions_and_statements_need() -> None:
    """These imports take longer than all others of a worker, and every start and every restart would wait for them."""
    unneeded = {"dp_accounting", "scipy.optimize", "scipy.special", "scipy.stats"}
    script = f"import sys, neologue.service.worker; print(*sorted({unneeded!r} & set(sys.modules)))"
    assert run_script(script) == "\n"
