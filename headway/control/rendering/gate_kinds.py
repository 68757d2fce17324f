"""Which gates there are: a file in checks/ is a kind, the fleet's own before the built-in one.

A check travels to the hosts; here only its Params are read, so that a wrong parameter is an error
before any host is touched.
"""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from headway.control.errors import ConfigError
from headway.control.fleet import Fleet

PACKAGE = "headway_checks"


def kinds(fleet: Fleet) -> dict[str, Path]:
    """Name every gate kind and the file that answers it; `_shared.py` and its like are none."""
    return {
        path.stem: path
        for folder in reversed(fleet.folders("checks"))
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_")
    }


def asked(path: Path, shown: str) -> tuple[type[Any], str]:
    """Give a check's Params, the frozen dataclass that says what may be asked, and its side.

    The side is its WHERE: a gate is judged on the host unless its kind says "outside".
    """
    module = _load(path, shown)
    found = getattr(module, "Params", None)
    if not isinstance(found, type):
        raise ConfigError(shown, "a check wants a class Params")
    return found, str(getattr(module, "WHERE", "host"))


@cache
def _load(path: Path, shown: str) -> ModuleType:
    """Import a check by its file, under the name it has on a host."""
    name = f"{PACKAGE}.{path.stem}"
    _package(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(shown, "is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 # an import runs anything
        del sys.modules[name]
        problem = f"does not import: {type(error).__name__}: {error}"
        raise ConfigError(shown, problem, hint="checks stand on headway.wire alone") from None
    return module


def _package(folder: Path) -> None:
    """Let checks import what lies beside them as headway_checks.NAME, as they do on a host."""
    package = sys.modules.setdefault(PACKAGE, ModuleType(PACKAGE))
    places: list[str] = package.__dict__.setdefault("__path__", [])
    if str(folder) not in places:
        places.append(str(folder))
