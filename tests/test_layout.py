"""Who may import what, and where each foreign library has its one home (DESIGN 2)."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.control.fleet import Fleet
from headway.control.reaching.pack import CHECKS, pack

REPO = Path(__file__).parents[1]
SOURCES = [
    *sorted((REPO / "headway").rglob("*.py")),
    *sorted((REPO / "checks").rglob("*.py")),
]
TRAVELS = [
    path for path in SOURCES if "control" not in path.parts and path.parent != REPO / "headway"
]
HOMES = {
    "cryptography": "headway/control/vault.py",
    "fabric": "headway/control/reaching/ssh",
    "httpx2": "headway/control/hub.py",
    "huggingface_hub": "headway/control/hub.py",
    "jinja2": "headway/control/rendering/templates.py",
    "paramiko": "headway/control/reaching/ssh",
    "pynvml": "headway/runner/cards/nvml.py",
    "rich": "headway/control/telling/console.py",
    "sqlite3": "headway/control/telling/history.py",
    "subprocess": "headway/control/local.py headway/runner/process.py",  # one a side
    "urllib.request": "headway/control/pins/web.py headway/runner/fetching/download.py",
    "yaml": "headway/control/yaml_nodes.py",
}
SIDES = {  # what each may import of ours
    "headway/control": ("headway.control.", "headway.wire.", "headway.__version__."),
    "headway/runner": ("headway.runner.", "headway.wire.", CHECKS),
    "headway/wire": ("headway.wire.",),
    "headway/": (),
    "checks/": ("headway.wire.", f"{CHECKS}."),
}
INVOKE = "ending.py program.py verbs.py words.py"  # what verbs are made of


def name_of(path: Path) -> str:
    """Name a file as people do."""
    return path.relative_to(REPO).as_posix()


def imports(path: Path) -> Iterator[str]:
    """Give the full names of the modules a file imports, early or late."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno} imports by a relative path"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def foreign(path: Path) -> set[str]:
    """Name the packages a file imports that are neither Python's nor ours."""
    roots = {name.partition(".")[0] for name in imports(path)}
    return roots - sys.stdlib_module_names - {"headway", CHECKS}


def test_what_travels_needs_nothing_but_python() -> None:
    """A host has a bare Python; pynvml travels along, and one module knows it."""
    needed = {name_of(path): foreign(path) for path in TRAVELS if foreign(path)}
    assert {name: used for name, used in needed.items() if used != {"pynvml"}} == {}


def test_what_travels_is_written_in_the_grammar_of_3_9() -> None:
    """RHEL 9 and Debian 11 have nothing newer; a SyntaxError names file and line."""
    for path in TRAVELS:
        ast.parse(path.read_text(), name_of(path), feature_version=(3, 9))


def test_each_side_imports_what_it_may() -> None:
    """Control and runner meet in wire alone; a check knows the vocabulary and its like."""
    astray = {}
    for path in SOURCES:
        may = next(may for side, may in SIDES.items() if name_of(path).startswith(side))
        ours = {f"{name}." for name in imports(path) if name.startswith("headway")} - {"headway."}
        astray[name_of(path)] = {name for name in ours if not name.startswith(may)}
    assert {name: used for name, used in astray.items() if used} == {}


@pytest.mark.parametrize("library", sorted({*HOMES, "invoke"}))
def test_a_library_has_one_home(library: str) -> None:
    """Its errors are translated there, and the day it changes there is one place to look at."""
    home = HOMES.get(library) or " ".join(f"headway/control/{name}" for name in INVOKE.split())
    users = {
        name_of(path)
        for path in SOURCES
        if any(f"{name}.".startswith(f"{library}.") for name in imports(path))
    }
    assert {user for user in users if not user.startswith(tuple(home.split()))} == set()


def test_everything_foreign_has_a_home() -> None:
    """A new dependency is a decision: it is named here."""
    assert {each for path in SOURCES for each in foreign(path)} <= {*HOMES, "invoke"}


def test_the_runner_travels_whole_and_light() -> None:
    """Every file of the host's side is in it, and it is at most 100 kB."""
    packed = pack(Fleet(REPO / "tests"))
    ours = {name_of(path) for path in TRAVELS}
    sent = {name.replace(f"{CHECKS}/", "checks/") for name in packed.files}
    assert ours <= sent
    assert len(packed.data) <= 100_000
