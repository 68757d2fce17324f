"""A machine for tests: a temporary root, and a `run` that answers from a table and remembers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headway.runner.disk import Disk
from headway.runner.machine import Machine, machine_of
from headway.wire.resources import Blob
from headway.wire.tools import Ran

Reply = tuple[int, str, str] | Callable[[Sequence[str]], tuple[int, str, str]]


class Scripted:
    """Answers a command by the longest row of its table that the command line begins with.

    A reply is (code, stdout, stderr) or a function of the argv that gives one; what no row fits
    answers code 0 and nothing. `calls` holds every command line, `environments` what was set.
    """

    def __init__(self, table: Mapping[str, Reply] | None = None) -> None:
        self.table: dict[str, Reply] = dict(table or {})
        self.calls: list[str] = []
        self.environments: list[dict[str, str]] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Answer from the table."""
        assert deadline_s > 0
        assert stdin == b""
        said = " ".join(argv)
        self.calls.append(said)
        self.environments.append(dict(env or {}))
        rows = sorted((row for row in self.table if said.startswith(row)), key=len)
        reply = self.table[rows[-1]] if rows else (0, "", "")
        code, stdout, stderr = reply(argv) if callable(reply) else reply
        return Ran(tuple(argv), code, stdout.encode(), stderr.encode(), 1)


class Unsynced(Disk):
    """A disk that leaves it to the kernel when bytes are durable: no test here cuts the power."""

    def _sync_file(self, fd: int) -> None:
        pass

    def _sync_dir(self, real: str) -> None:
        pass


def machine_at(root: Path, table: Mapping[str, Reply] | None = None) -> tuple[Machine, Scripted]:
    """Make a machine on a temporary root, with the folders every host has."""
    for folder in ("etc/systemd/system", "etc/sysctl.d", "run", "var/lib"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    run = Scripted(table)
    return machine_of(Unsynced(str(root), "t"), run), run


def blob(machine: Machine, data: bytes | str, *, secret: bool = False) -> Blob:
    """Put bytes into the machine's store."""
    raw = data.encode() if isinstance(data, str) else data
    return Blob(machine.blobs.put(raw), len(raw), secret)


def tree(root: Path, leave_out: str = "var/lib/headway") -> dict[str, tuple[str, int, str]]:
    """Say of every path below a root what it is: kind, mode, bytes or target."""
    found: dict[str, tuple[str, int, str]] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(leave_out):
            continue
        mode = path.lstat().st_mode & 0o7777
        if path.is_symlink():
            found[name] = ("link", 0, str(path.readlink()))
        elif path.is_dir():
            found[name] = ("dir", mode, "")
        else:
            found[name] = ("file", mode, path.read_bytes().hex())
    return found
