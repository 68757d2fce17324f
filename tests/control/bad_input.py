"""Bad input as data: cases of tests/cases/bad_input/, and what every one of them has to keep."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "cases" / "bad_input"
CANARY = "canary-5e1f-value"


@dataclass(frozen=True)
class Case:
    """One thing that is wrong: what is typed in which fleet, and how it has to end.

    `says` matches the line from its beginning, `hint` what to do next; where `out` is given the
    line stands on stdout. Of a host in the lab, `vars` and `engine` are variables of the host and
    of its instance, `broken` and `mended` shell lines for the host, and `first` and `last` what is
    typed, before and after.
    """

    name: str
    says: str = ""
    hint: str = ""
    out: str = ""
    exit: int = 2
    verb: str = ""
    role: str = ""
    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    host: str = "sick1"
    vars: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""
    broken: str = ""
    mended: str = ""
    last: str = ""


def cases(*groups: str) -> list[Case]:
    """Read the cases of these files, in their order; an unknown key is a TypeError."""
    found = []
    for group in groups:
        raw = yaml.safe_load((FOLDER / f"{group}.yaml").read_text())
        found += [Case(name, **fields) for name, fields in raw.items()]
    return found


def written(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Write a fleet's files; None takes one away, and its folder when that is empty."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def is_one_line(case: Case, code: object, out: str, err: str) -> None:
    """Judge what was printed: the line once, what to do next, no internals, no secret.

    A verb that acts tells its story on stderr; the line is then the host's last one.
    """
    said = f"{case.name}: exit {code}\n{out}{err}"
    assert code == case.exit, said
    assert not re.search("Traceback|fault in headway|Errno|Error\\(", said), said
    assert CANARY not in said, said
    told = (out if case.out else err).splitlines()
    start = case.out or f"(headway: ({case.host}: )?|{case.host} +[a-z ]+? {{2,}}){case.says}"
    (found,) = [n for n, line in enumerate(told) if re.match(start, line)] or [-1]
    assert found >= 0, said
    assert not case.out or err.strip() == "", said
    if told[0].startswith("headway: "):
        assert len(told) <= 2, said
    assert re.search(case.hint, " ".join(told[found : found + 2])), said
