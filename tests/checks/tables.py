"""Tools made of tables: what a check sees is what a case says.

A case describes one world: its listeners, processes, HTTP answers, journal, files. Everything a
case leaves out is as on a healthy host.
"""

import hashlib
import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from headway.control.rendering.env_file import env_text
from headway.wire.cards import CardsSeen
from headway.wire.gate import Answered, Baseline, Subject
from headway.wire.loader import load
from headway.wire.release import Part, SubjectSpec
from headway.wire.resources import Blob, File, Pin, Resource, Service, Unit, Weights
from headway.wire.tools import (
    HttpAnswer,
    Journal,
    JournalLine,
    Listener,
    Piece,
    Ran,
    Space,
    Tools,
    Unreached,
)
from tests.checks.spoken import Spoken, tokens_of

CHECKS = Path(__file__).parents[2] / "checks"
UNIT = "web.service"
NO_CUDA = 'headway {"library": "", "trouble": "no libcuda.so.1"}'
ENV_FILE = "/etc/headway/web.env"
CGROUP = "/system.slice/web.service"
MIB = 1024 * 1024


def check(name: str) -> ModuleType:
    """Load a check under the name it has on a host, with what it shares with others."""
    if "headway_checks" not in sys.modules:
        package = ModuleType("headway_checks")
        package.__path__ = [str(CHECKS)]
        sys.modules["headway_checks"] = package
    return importlib.import_module(f"headway_checks.{name}")


def kinds() -> list[str]:
    """Name every check there is."""
    return sorted(path.stem for path in CHECKS.glob("*.py") if not path.stem.startswith("_"))


def subject(**changes: Any) -> Subject:
    """Make the launch that is judged; by default one that was never restarted."""
    facts = {"unit": UNIT, "id": "new", "started_us": 9, "boot_id": "b", "pid": 200}
    return Subject(**{**facts, "cgroup": CGROUP, "restarts": 0, **changes})


def answer(kind: str, params: Mapping[str, Any], judged: Subject | None, tools: Tools) -> Answered:
    """Put the question a gate puts, its parameters read as on the host."""
    module = check(kind)
    found: Answered = module.judge(load(module.Params, dict(params)), judged, tools)
    return found


def tools_of(world: Mapping[str, Any]) -> Tools:
    """Build the tools that show this world."""
    part = Made(world.get("part", {}))
    table = Tables(world, part.kept)
    leaving = tuple(world.get("leaving", ()))
    return Tools(
        http=table,
        run=table.run,
        journal=table,
        proc=table,
        host=table,
        cards=table,
        part=part.part,
        leaving=leaving,
        killed=bool(world.get("killed")),
        between=bool(world.get("between")),
        baseline=load(Baseline, world["baseline"]) if "baseline" in world else None,
    )


class Made:
    """The part that is judged, and the bytes of its files; with `env`, a unit that reads them.

    With `pin` it is a service of a Compose project.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.kept: dict[str, bytes] = {}
        env = {name: str(value) for name, value in facts.get("env", {}).items()}
        unit = f"[Service]\nEnvironmentFile={ENV_FILE}\n{facts.get('service', '')}\n"
        resources: tuple[Resource, ...] = (File("/etc/web.conf", Blob("0" * 64, 1)),)
        if "env" in facts:
            environment = File(ENV_FILE, self._blob(env_text(env)), 0o600)
            resources = (*resources, environment, Unit(UNIT, self._blob(unit)))
        if "pin" in facts:
            resources = (Service("stack", "web", load(Pin, facts["pin"])),)
        weights = [load(Weights, row) for row in facts.get("weights", [])]
        resources = (*resources, *weights)
        self.part = Part(
            name="web",
            role="service",
            resources=resources if facts.get("resources", True) else (),
            argv=tuple(map(tuple, facts.get("argv", [["/bin/web"], ["--port", "8080"]]))),
            env_names=tuple(facts.get("env_names", env or ["HOME"])),
            subject=SubjectSpec(UNIT),
            listens=tuple(facts.get("listens", [8080])),
        )

    def _blob(self, text: str) -> Blob:
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.kept[digest] = text.encode()
        return Blob(digest, len(text.encode()))


@dataclass(frozen=True)
class Told:
    """An answer that comes in one piece."""

    answer: HttpAnswer
    sent_us: int = 0

    @property
    def status(self) -> int:
        """Give its status."""
        return self.answer.status

    @property
    def headers(self) -> dict[str, str]:
        """Give its headers."""
        return self.answer.headers

    def pieces(self) -> Iterator[Piece]:
        """Give it when it took as long as its row says."""
        yield Piece(self.answer.took_ms * 1000, self.answer.body)

    def close(self) -> None:
        """Leave it."""


class Tables:
    """All the tools at once, each a look into the case."""

    def __init__(self, world: Mapping[str, Any], kept: Mapping[str, bytes] | None = None) -> None:
        self.world = world
        self.kept = kept or {}
        self.asked: list[str] = []

    # --- http and run ------------------------------------------------------------------------

    def ask(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: int = 30,
    ) -> HttpAnswer:
        """Give the next answer of this path; the last one stays.

        A row `counts: KEY` counts the tokens of what stands under that key of the body.
        """
        path = "/" + url.split("/", 3)[3]
        row = self._row(method, path)
        if isinstance(row, str):
            raise Unreached(f"{url}: {row} ({timeout_s} s, {len(body or b'')} bytes)", refused=True)
        wanted = row.get("key")
        if wanted and (headers or {}).get("Authorization") != f"Bearer {wanted}":
            return HttpAnswer(401, b"", {}, 1)
        if "counts" in row:
            row = {"json": {"count": tokens_of(json.loads(body or b"{}")[row["counts"]])}}
        text = json.dumps(row["json"]) if "json" in row else row.get("body", "")
        if "quotes" in row:  # what a model does that quotes a part of what it was asked
            found = re.search(row["quotes"], (body or b"").decode())
            text = text.replace("QUOTED", found[1] if found else "")
        status, leads = row.get("status", 200), row.get("headers", {})
        return HttpAnswer(status, text.encode(), leads, row.get("took_ms", 3))

    def stream(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: int = 30,
    ) -> "Told | Spoken":
        """Give the same answer in one piece, or word by word where its row says `spoken`."""
        path = "/" + url.split("/", 3)[3]
        row = self._row(method, path, look=True)
        if isinstance(row, dict) and "spoken" in row:
            return Spoken(json.loads(body or b"{}"), self._row(method, path)["spoken"])
        return Told(self.ask(method, url, body, headers, timeout_s))

    def _row(self, method: str, path: str, table: str = "http", *, look: bool = False) -> Any:
        """Give what comes next under a path; only to `look` leaves it there."""
        rows = self.world.get(table, {}).get(f"{method} {path}", {"status": 404})
        rows = rows if isinstance(rows, list) else [rows]
        row = rows[min(self.asked.count(path + method), len(rows) - 1)]
        if not look:
            self.asked.append(path + method)
        return row

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Give the one command's end; a file that is read is one of `files`.

        `containers` is what Docker says of a container, a row each time it is asked; `images` what
        it says of an image.
        """
        row = self.world.get("run", {})
        if list(argv[:3]) == ["docker", "container", "inspect"]:
            row = self._row("docker", argv[-1], "containers")
        if list(argv[:3]) == ["docker", "image", "inspect"]:
            row = self._row("docker", argv[-1], "images")
        if list(argv[:1]) == ["cat"]:
            text = self.world.get("files", {}).get(argv[1])
            row = {"code": 1} if text is None else {"stdout": text}
        if list(argv[:1]) == ["systemd-run"]:
            row = self.world.get("program", {"stdout": NO_CUDA})
        self.asked.append(f"{list(argv)} {stdin!r} {dict(env or {})} {deadline_s}")
        out, err = (row.get(name, "").encode() for name in ("stdout", "stderr"))
        return Ran(tuple(argv), row.get("code", 0), out, err, row.get("took_ms", 5))

    # --- journal -----------------------------------------------------------------------------

    def of(self, judged: Subject) -> Journal:
        """Give the lines of this launch: those of another are another's."""
        row = self.world.get("journals", {}).get(judged.id, self.world.get("journal", {}))
        told = [(text, False) for text in row.get("systemd", ["Started web."])]
        told += [(text, True) for text in row.get("own", [])]
        lines = tuple(JournalLine(str(n), text, 6, own) for n, (text, own) in enumerate(told))
        return Journal(row.get("complete", True), row.get("why", ""), lines)

    # --- proc --------------------------------------------------------------------------------

    def argv(self, pid: int) -> tuple[bytes, ...]:
        """Give a process's words."""
        words = self.world.get("argv", {}).get(pid, ["/bin/web", "--port", "8080"])
        return tuple(word.encode() for word in words)

    def environ(self, pid: int) -> dict[str, str]:
        """Give a process's environment."""
        found: dict[str, str] = self.world.get("environ", {}).get(pid, {"HOME": "/root"})
        return found

    def listeners(self, port: int) -> tuple[Listener, ...]:
        """Give who listens; by default this launch's main process."""
        rows = self.world.get("listeners", [{}])
        facts = {"address": "0.0.0.0", "pid": 200, "cgroup": CGROUP, "command": "web"}  # noqa: S104
        return tuple(Listener(**{**facts, "port": port, **row}) for row in rows)

    def pids(self, cgroup: str) -> tuple[int, ...]:
        """Give the processes of a cgroup: by default the main process of this launch's."""
        return tuple(self.world.get("pids", {CGROUP: [200]}).get(cgroup, ()))

    def status(self, pid: int) -> dict[str, str]:
        """Give a process's status."""
        found: dict[str, str] = self.world.get("status", {}).get(pid, {"VmSwap": "0 kB"})
        return found

    # --- cards -------------------------------------------------------------------------------

    def look(self, *, pairs: bool = False) -> CardsSeen:
        """Give the cards; without `pairs` nothing of what lies between them."""
        seen = load(CardsSeen, self.world.get("cards", {}))
        return seen if pairs else replace(seen, pairs=())

    # --- host --------------------------------------------------------------------------------

    def differences(self, part: Part) -> tuple[str, ...]:
        """Give what differs."""
        return tuple(f"{part.name}: {one}" for one in self.world.get("differences", []))

    def space(self, path: str) -> Space:
        """Give a path's room."""
        mib, inodes = self.world.get("space", {}).get(path, (100_000, 1_000_000))
        return Space(path, mib * MIB, inodes)

    def memory_available_bytes(self) -> int:
        """Give the memory."""
        return int(self.world.get("memory_mib", 8192)) * MIB

    def content(self, blob: Blob) -> bytes | None:
        """Give the bytes of a file of the part."""
        return self.kept.get(blob.sha256)

    def unit(self, name: str) -> dict[str, str]:
        """Give a unit's properties."""
        return {"Id": name, **self.world.get("unit", {})}
