"""A fleet written to a temporary folder, and cases as data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from headway.control.fleet import Fleet, find

CASES = Path(__file__).parents[2] / "cases"


def fleet(root: Path, files: Mapping[str, str]) -> Fleet:
    """Write a fleet's files below a root and find it there."""
    (root / "inventory").mkdir()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find(root)


def cases(kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Read tests/cases/KIND/*.yaml: name and content."""
    return [
        (path.stem, yaml.safe_load(path.read_text()))
        for path in sorted((CASES / kind).glob("*.yaml"))
    ]
