"""Run what travels to hosts under the interpreter that runs this file: `python3.9 -I -S oldest.py`.

Every module of wire, runner and checks is imported, every record makes a round trip through the
strict loader, every engine's table is read and a command is run. Standard library only: a host has
no pytest. Ends with 0 and one line, or with an assertion.
"""

import dataclasses
import importlib
import sys
import types
import typing
import warnings
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def modules() -> list[str]:
    """Name every module that travels."""
    found = []
    for folder in ("headway/wire", "headway/runner"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] != "__main__":
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    for path in sorted((ROOT / "checks").rglob("*.py")):
        parts = path.relative_to(ROOT / "checks").with_suffix("").parts
        found.append(".".join(("headway_checks", *(part for part in parts if part != "__init__"))))
    return found


def records(loaded: dict[str, Any]) -> Iterator[type]:
    """Give every dataclass that crosses the wire: the vocabulary, and each check's Params.

    What tools show to checks stays on the host.
    """
    for name, module in loaded.items():
        wire = name.startswith("headway.wire.") and name != "headway.wire.tools"
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == name:
                sent = wire or kind.__name__ == "Params"
                if sent and hasattr(kind, "__dataclass_fields__"):
                    yield kind


def sample(kind: Any, *, full: bool) -> Any:  # noqa: PLR0911 # one rule a kind of type
    """Make a value of a type: its optional parts there or not."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {"a": [1, "b", None, True]}
    if kind in (str, int, bool):
        return {str: "\u00fc", int: 7, bool: True}[kind]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        make: Any = kind
        return make(**{name: sample(hint, full=full) for name, hint in hints.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if origin is tuple:
        return (sample(args[0], full=full),) if full else ()
    if origin is dict:
        return {"k": sample(args[1], full=full)} if full else {}
    if type(None) in args and not full:
        return None
    return sample(next(one for one in args if one is not type(None)), full=full)


def main() -> str:
    """Do it all; say what failed, or what was done."""
    warnings.simplefilter("error")
    sys.path.insert(0, str(ROOT))
    checks = types.ModuleType("headway_checks")
    checks.__path__ = [str(ROOT / "checks")]
    sys.modules["headway_checks"] = checks
    loaded = {name: importlib.import_module(name) for name in modules()}
    loader = loaded["headway.wire.loader"]
    kinds = list(records(loaded))
    for kind in kinds:
        for full in (True, False):
            value = sample(kind, full=full)
            again = loader.loads(kind, loader.dumps(value))
            assert again == value, f"{kind.__name__} did not come back: {again}"
    engines = loaded["headway.wire.engines"]
    tables = [engines.engine(name) for name in engines.names()]
    assert loaded["headway.wire.findings"].findings(), "no findings"
    ran = loaded["headway.runner.process"].Processes()(["sh", "-c", "cat; exit 3"], stdin=b"x")
    assert (ran.code, ran.stdout) == (3, b"x"), f"a command did not run: {ran}"
    version = sys.version.split()[0]
    told = f"{len(loaded)} modules, {len(kinds)} records there and back, {len(tables)} engines"
    return f"Python {version}: {told}"


if __name__ == "__main__":
    sys.stdout.write(main() + "\n")
