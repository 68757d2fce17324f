"""A host that is not there: a tree below a temporary root and a systemd double over it.

The double (named so: it is none) reads unit files from the tree as systemd would: a guard's
condition, Restart=, and words in the fragment say how a unit behaves. CrashDisk loses power at its
k-th durable step and drops what was not synced, as a disk may.
"""

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from headway.runner import resources
from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.runner.machine import Machine, machine_of
from headway.runner.work import Question
from headway.wire.gate import Report
from headway.wire.tools import Ran
from headway.wire.verdict import Fate, Verdict

UNITS = "/etc/systemd/system"
WANTS = UNITS + "/multi-user.target.wants"


class PowerCut(BaseException):
    """The host is off; nothing after this line happened."""


class CrashDisk(Disk):
    """A disk that is cut at its k-th step; what no fsync covered is lost with it."""

    def __init__(self, root: str, tag: str, cut_at: int = 0) -> None:
        """Start with all that lies there being durable."""
        super().__init__(root, tag)
        self.cut_at = cut_at
        self.steps = 0
        self.durable = root + ".durable"
        if not os.path.exists(self.durable):
            shutil.copytree(root, self.durable, symlinks=True)

    def step(self) -> None:
        """Do one durable step, or be cut."""
        self.steps += 1
        if self.steps == self.cut_at:
            raise PowerCut

    def _fill(self, real: str, data: bytes, mode: int, uid: int, gid: int) -> None:
        self.step()
        super()._fill(real, data, mode, uid, gid)

    def _rename(self, temporary: str, real: str) -> None:
        self.step()
        super()._rename(temporary, real)

    def _unlink(self, real: str) -> None:
        self.step()
        super()._unlink(real)

    def _mkdir(self, real: str) -> None:
        self.step()
        super()._mkdir(real)

    def _rmdir(self, real: str) -> None:
        self.step()
        super()._rmdir(real)

    def _sync_file(self, fd: int) -> None:
        """What was written whole counts as synced; only names are lost."""

    def _sync_dir(self, real: str) -> None:
        self.step()
        self.mirror(real)

    def mirror(self, real: str) -> None:
        """Make a folder's entries durable as they are now; what lies deeper is not its own."""
        copy = self.durable + real[len(self.root) :]
        os.makedirs(copy, exist_ok=True)
        for name in set(os.listdir(copy)) - set(os.listdir(real)):
            path = os.path.join(copy, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for name in os.listdir(real):
            self._copy(os.path.join(real, name), os.path.join(copy, name))

    def _copy(self, real: str, copy: str) -> None:
        found = os.lstat(real)
        if stat.S_ISDIR(found.st_mode):
            os.makedirs(copy, exist_ok=True)
            os.chmod(copy, stat.S_IMODE(found.st_mode))
        elif not stat.S_ISSOCK(found.st_mode):  # Docker's, in /run
            if os.path.lexists(copy):
                os.unlink(copy)
            shutil.copy2(real, copy, follow_symlinks=False)

    def lose(self) -> None:
        """Be switched off: only what was durable is left, and /run is empty."""
        shutil.rmtree(self.root)
        shutil.copytree(self.durable, self.root, symlinks=True)
        shutil.rmtree(self.root + "/run", ignore_errors=True)
        os.makedirs(self.root + "/run")


class Systemd:
    """The double: it starts, stops and lists units of the tree."""

    def __init__(self, disk: CrashDisk) -> None:
        """Begin with nothing running."""
        self.disk = disk
        self.up: dict[str, str] = {}
        self.launches = 0
        self.log: list[str] = []
        self.stubborn: set[str] = set()  # units whose stop takes SIGKILL

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Answer as systemctl does; any other program succeeds in silence."""
        del stdin, env, deadline_s
        if argv[0] != "systemctl":
            return Ran(tuple(argv), 0, b"", b"", 0)
        verb, *names = [word for word in argv[1:] if not word.startswith("-")]
        self.log.append(" ".join([verb, *names]))
        known = ("show", "start", "stop", "enable", "disable", "is_enabled")
        method = verb.replace("-", "_")
        if method not in known:
            return Ran(tuple(argv), 0, b"", b"", 0)
        code, out = getattr(self, method)(*names)
        return Ran(tuple(argv), code, out.encode(), b"" if code == 0 else b"no", 0)

    def text(self, unit: str) -> str:
        """Read a unit as systemd merges it: fragment, then drop-ins."""
        texts = [self.disk.read(f"{UNITS}/{unit}") or b""]
        folder = f"{UNITS}/{unit}.d"
        texts += [self.disk.read(f"{folder}/{name}") or b"" for name in self.disk.names(folder)]
        return b"\n".join(texts).decode()

    def _held_down(self, unit: str) -> bool:
        rows = [
            row.partition("=")[2] for row in self.text(unit).splitlines() if "PathExists" in row
        ]
        return any(self.disk.seen(path) is None for path in rows)

    def start(self, unit: str) -> tuple[int, str]:
        """Start a unit unless a condition holds it down or it cannot."""
        if "CANNOT-START" in self.text(unit) or self.disk.seen(f"{UNITS}/{unit}") is None:
            return 1, ""
        if not self._held_down(unit) and unit not in self.up:
            self.launches += 1
            self.up[unit] = f"launch{self.launches}"
        return 0, ""

    def stop(self, unit: str) -> tuple[int, str]:
        """Stop a unit."""
        self.up.pop(unit, None)
        return 0, ""

    def show(self, unit: str) -> tuple[int, str]:
        """Show what the runner asks for, of one unit."""
        launch = self.up.get(unit)
        exists = self.disk.seen(f"{UNITS}/{unit}") is not None
        shown = {
            "ActiveState": "active" if launch else "inactive",
            "LoadState": "loaded" if exists else "not-found",
            "ConditionResult": "no" if self._held_down(unit) else "yes",
            "InvocationID": launch or "",
            "MainPID": "1" if launch else "0",
            "NRestarts": "0",
            "SubState": "running" if launch else "dead",
            "Result": "timeout" if unit in self.stubborn and not launch else "success",
            "ExecMainStartTimestampMonotonic": "1",
            "Id": unit,
        }
        return 0, "".join(f"{name}={value}\n" for name, value in shown.items())

    def enable(self, *units: str) -> tuple[int, str]:
        """Link units to the boot target, durably."""
        self.disk.mkdirs(WANTS)
        for unit in units:
            path = self.disk.real(f"{WANTS}/{unit}")
            if not os.path.lexists(path):
                os.symlink(f"{UNITS}/{unit}", path)
                self.disk.mirror(self.disk.real(WANTS))
        return 0, ""

    def disable(self, *units: str) -> tuple[int, str]:
        """Unlink units from the boot target, durably."""
        for unit in units:
            path = self.disk.real(f"{WANTS}/{unit}")
            if os.path.lexists(path):
                os.unlink(path)
                self.disk.mirror(self.disk.real(WANTS))
        return 0, ""

    def is_enabled(self, unit: str) -> tuple[int, str]:
        """Say whether a unit is linked."""
        linked = self.disk.seen(f"{WANTS}/{unit}") is not None
        return (0, "enabled\n") if linked else (1, "disabled\n")

    def boot(self) -> None:
        """Come up: start what is linked, as far as conditions let it."""
        self.up.clear()
        for unit in self.disk.names(WANTS):
            self.start(unit)


class StillClock(Clock):
    """A clock that only moves when somebody sleeps; `boot` names the boot."""

    def __init__(self, boot: str = "boot-1") -> None:
        """Begin at zero."""
        self.ms = 1_000_000
        self.boot = boot

    def now_ms(self) -> int:
        """Read the time."""
        return self.ms

    def boot_ms(self) -> int:
        """Read the time."""
        return self.ms

    def sleep(self, seconds: float) -> None:
        """Pass time at once."""
        self.ms += int(seconds * 1000) + 1

    def boot_id(self) -> str:
        """Name the boot."""
        return self.boot


class World:
    """A host with a disk, a systemd and a judge; `verdicts` scripts gates by kind."""

    def __init__(self, root: Path, tag: str = "t") -> None:
        """Make the root's folders."""
        self.root = root
        for name in ("etc/systemd/system", "run", "var/lib", "opt", "proc/sys"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self.disk = CrashDisk(str(root), tag)
        self.systemd = Systemd(self.disk)
        self.machine: Machine = machine_of(self.disk, self.systemd)
        self.clock = StillClock()
        self.judged: list[tuple[str, str]] = []
        self.after_kill: set[str] = set()  # parts that were judged after a kill
        self.watched: set[str] = set()  # kinds of gates that others were asked beside
        self.verdicts: dict[str, Verdict] = {}
        self.on_judge: Callable[[], object] = lambda: None

    def judge(self, question: Question) -> Report:
        """Judge as the words in a unit say: in_place truly, health by what runs.

        Between stop and start a gate wants the part's unit down and in its new words.
        """
        gate, part, between = question.gate, question.part, question.between
        self.on_judge()
        self.judged.append((gate.kind, part.name))
        self.after_kill.update({part.name} if question.killed else ())
        self.watched.update({gate.kind} if question.beside else ())
        verdict, why = Verdict.PASS, "as it should be"
        if gate.kind == "in_place":
            wrong = [
                diff
                for diff in (resources.diff(r, self.machine, enabled=False) for r in part.resources)
                if diff
            ]
            verdict, why = (Verdict.FAIL, wrong[0]) if wrong else (verdict, why)
        elif part.subject is not None:
            unit = part.subject.unit
            text = self.systemd.text(unit)
            if (unit in self.systemd.up) is between or f"WRONG-{gate.kind}" in text:
                verdict, why = Verdict.FAIL, f"{unit} is wrong"
            elif f"MUTE-{gate.kind}" in text:
                verdict, why = Verdict.INVALID, f"{unit} cannot be judged"
        verdict = self.verdicts.get(gate.kind, verdict)
        return Report(gate.name, gate.kind, part.name, verdict, Fate.SAME, None, None, (why,))

    def cut_at(self, step: int) -> None:
        """Lose power at the step-th durable step from now on; 0 is never."""
        self.disk.steps = 0
        self.disk.cut_at = step

    def power_back(self) -> None:
        """Lose what was not synced, and boot."""
        self.cut_at(0)
        self.disk.lose()
        self.clock.boot = self.clock.boot + "+"
        self.systemd.boot()

    def tree(self) -> dict[str, tuple[str, int, bytes]]:
        """Read all that lies outside headway's own record and /run: kind, mode, bytes."""
        found: dict[str, tuple[str, int, bytes]] = {}
        for folder, folders, files in os.walk(self.root):
            for name in [*folders, *files]:
                path = Path(folder, name)
                relative = "/" + str(path.relative_to(self.root))
                if relative.startswith(("/var/lib/headway", "/run", "/proc")):
                    continue
                if path.is_symlink():
                    found[relative] = ("link", 0, os.readlink(path).encode())
                elif path.is_dir():
                    found[relative] = ("dir", stat.S_IMODE(path.stat().st_mode), b"")
                else:
                    mode = stat.S_IMODE(path.stat().st_mode)
                    found[relative] = ("file", mode, path.read_bytes())
        return found
