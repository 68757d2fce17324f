"""Seals a full look: what it depended on, so that the same order need not look in full again.

A Witness is a disk that remembers every path it was asked about; the health gate's plain GETs are
remembered with their status; the launch of each unit is systemd's own link under /run, that of a
container is Docker's own record of it. quick.py compares all of it. Whatever cannot be sealed is
not: the host is looked at in full each time.
"""

from dataclasses import dataclass
from typing import Dict, List, Optional, Set, Tuple

from headway.runner import quick, supervisor
from headway.runner.changes import has_stack, started_units
from headway.runner.disk import Disk, Seen
from headway.runner.machine import Machine, machine_of
from headway.wire.event import Event, Rested
from headway.wire.gate import Criteria
from headway.wire.loader import dumps, line
from headway.wire.phase import Exit
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.resources import Package
from headway.wire.talk import Done, Said
from headway.wire.tools import Http, HttpAnswer, Streaming
from headway.wire.verdict import Verdict

_LAUNCH = "/run/systemd/units/invocation:"
_BOOT = "/proc/sys/kernel/random/boot_id"
_LIVING = ("/proc/", "/sys/", "/run/")
_DPKG = "/var/lib/dpkg/status"
_LOCAL = ("127.0.0.1", "::1", "localhost")


class Witness(Disk):
    """A disk that remembers what it was asked about, as it was when it was first asked."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk.root, disk.tag)
        self.paths: Dict[str, str] = {}
        self.launches: Set[str] = set()  # containers whose state lies in noted paths

    def note(self, path: str) -> None:
        """Remember a path that a look depends on."""
        if path not in self.paths:
            self.paths[path] = quick.signature(self.real(path))

    def seen(self, path: str) -> Optional[Seen]:
        """Look, and remember."""
        self.note(path)
        return super().seen(path)

    def read(self, path: str) -> Optional[bytes]:
        """Read, and remember."""
        self.note(path)
        return super().read(path)

    def names(self, path: str) -> List[str]:
        """List, and remember."""
        self.note(path)
        return super().names(path)

    def link(self, path: str) -> str:
        """Follow, and remember."""
        self.note(path)
        return super().link(path)


class Overheard:
    """HTTP that remembers its plain GETs and how they were answered."""

    def __init__(self, http: Http) -> None:
        self.http = http
        self.rows: Dict[str, str] = {}

    def ask(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> HttpAnswer:
        """Ask, and remember."""
        answer = self.http.ask(method, url, body, headers, timeout_s)
        if method == "GET" and url.startswith("http://"):
            self._remember(url, headers or {}, answer.status)
        return answer

    def stream(
        self,
        method: str,
        url: str,
        body: Optional[bytes] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout_s: int = 30,
    ) -> Streaming:
        """Hear an answer while it comes: no seal can ask that again."""
        return self.http.stream(method, url, body, headers, timeout_s)

    def _remember(self, url: str, headers: Dict[str, str], status: int) -> None:
        place, _, path = url[len("http://") :].partition("/")
        address, _, port = place.rpartition(":")
        address = address.strip("[]")
        if address in _LOCAL and port.isdigit():
            words = [f"GET /{path} HTTP/1.0", f"Host: {place}"]
            words += [f"{name}: {value}" for name, value in headers.items()]
            numeric = "127.0.0.1" if address == "localhost" else address
            request = "@BREAK@".join([*words, "", ""])
            self.rows[f"{numeric} {port} {request}"] = str(status)


@dataclass(frozen=True)
class Look:
    """A full look that found everything as accepted: by which runner, at what, over what HTTP."""

    runner: str
    state: State
    release: Release
    criteria: Criteria
    heard: Optional[Overheard]


def witnessed(machine: Machine, release: Release) -> Tuple[Machine, Witness]:
    """Give the same machine with a disk that remembers; of containers what Docker keeps of them."""
    witness = Witness(machine.disk)
    if has_stack(release):
        from headway.runner.containers import sealing  # where there are some

        sealing.note(witness, release)
    return machine_of(witness, machine.run), witness


def put(machine: Machine, look: Look) -> None:
    """Write the seal of a look through a machine of `witnessed`; best effort."""
    rows = _rows(machine, look)
    if rows is None or any(_unfit(row) for row in rows):
        return
    begins = '{"rollout":{"release":' + dumps(look.release) + ',"criteria":{'
    head = [quick.VERSION.decode(), look.runner, begins, _answer(look.state, look.release)]
    try:
        text = "\n".join([*head, *rows, ""])
        machine.disk.write(quick.SEAL, text.encode(), 0o600, *machine.disk.me())
    except OSError:
        return


def _rows(machine: Machine, look: Look) -> Optional[List[str]]:
    """List what the look depended on; None where something cannot be compared cheaply."""
    asked = look.heard.rows if look.heard else {}
    if not asked and any(gate.kind == "health" for gate in look.criteria.gates):
        return None
    witness = machine.disk
    if not isinstance(witness, Witness) or not _note_programs(witness, look.release):
        return None
    rows = [f"text\t{_BOOT}\t{_read(witness, _BOOT)}"]
    names = [name for part in look.release.parts for name in started_units(part)]
    if not witness.launches.issuperset(supervisor.containers(names)):
        return None
    for unit in supervisor.units(names):
        path = _LAUNCH + unit
        if witness.seen(path) is None:
            return None
        rows.append(f"link\t{path}\t{witness.link(path)}")
    for path, signature in sorted(witness.paths.items()):
        if path.startswith("/proc/sys/"):
            rows.append(f"text\t{path}\t{_read(witness, path)}")
        elif not path.startswith(_LIVING):
            rows.append(f"path\t{path}\t{signature}")
    return rows + [f"http\t{name}\t{status}" for name, status in asked.items()]


def _note_programs(witness: Witness, release: Release) -> bool:
    """Note what programs were asked for instead: users by name, and the packages' own record."""
    for path in ("/etc/passwd", "/etc/group"):
        witness.note(path)
    if any(isinstance(res, Package) for part in release.parts for res in part.resources):
        witness.note(_DPKG)
        return witness.paths[_DPKG] != "absent"
    return True


def _unfit(row: str) -> bool:
    kind_name_value = 3
    return "\n" in row or len(row.split("\t")) != kind_name_value


def _answer(state: State, release: Release) -> str:
    sentence = f"{release.id} runs here, in place and healthy"
    rested = Rested(
        state.phase, release.id, Verdict.PASS, int(Exit.ACCEPTED), "unchanged", sentence
    )
    said = line(Said(Event(1, 0, "", rested))).decode().replace('"at_ms":0', '"at_ms":@NOW@', 1)
    return said.strip() + "@BREAK@" + line(Done(int(Exit.ACCEPTED), sentence)).decode().strip()


def _read(disk: Disk, path: str) -> str:
    data = disk.read(path)
    return "absent" if data is None else " ".join(data.decode(errors="replace").split())
