"""`page`: the fleet as one file that a browser opens from a folder; no server, no request."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.page.data import Given, page_data
from headway.control.status import HostStatus, machines, statuses
from headway.control.telling import history
from headway.control.telling.amounts import size
from headway.control.telling.redaction import redacted
from headway.wire.loader import Json
from headway.wire.phase import Exit
from headway.wire.talk import Look, Looked

HERE = Path(__file__).parent
PARTS = {"/* style */": "page.css", "/* script */": "page.js"}
"""What is put into page.html, and where."""

_DATA = "{data}"
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What would end the script element that the data stands in, or a line of it."""


@dataclass(frozen=True)
class PageWritten:
    """Where the page was written, its size in bytes, and how many of the hosts answered."""

    path: str
    size: int
    hosts: int
    answered: int


def page(desk: Desk, out: str, within_s: int) -> Exit:
    """Ask the hosts how they stand, read the fleet's history, and write DIR/index.html."""
    from headway.control.reaching.looks import as_they_come

    order = Look(engines=True, facts=True)
    came = dict(as_they_come(desk.hosts, desk.reach, order, within_s))
    answers = {host.name: came[host.name] for host in desk.hosts}
    looked = {host: one for host, one in answers.items() if isinstance(one, Looked)}
    path = history.path_of(desk.fleet)
    try:
        past = history.past(path, 1_000_000), history.gates(path), history.samples(path)
    except OSError as error:
        raise HeadwayError(str(error)) from None
    classes = machines(desk)
    shown: tuple[HostStatus, ...] = tuple(statuses(answers, classes))
    given = Given(desk.fleet.root.name, int(time.time()), shown, looked, classes, *past)
    text = written(redacted(page_data(given), desk.fleet.secrets.redactor))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / ".index.html.new"
    new.write_text(text, encoding="utf-8")
    new.replace(folder / "index.html")
    made = PageWritten(str(folder / "index.html"), len(text.encode()), len(answers), len(looked))
    if desk.json:
        desk.rows((made,))
    else:
        said = f"{made.answered} of {made.hosts} hosts answered"
        desk.print(f"wrote {made.path}, {size(made.size)}: {said}")
    return Exit.ACCEPTED


def written(data: Json) -> str:
    """Put data, style and script into one file of HTML."""
    text = (HERE / "page.html").read_text(encoding="utf-8")
    for mark, name in PARTS.items():
        text = text.replace(mark, (HERE / name).read_text(encoding="utf-8"))
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter, safe in _UNSAFE.items():
        packed = packed.replace(letter, safe)
    return text.replace(_DATA, packed)
