"""Somebody at a terminal with a fleet: edits files, types commands, sees what they print."""

import difflib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.command import LabError

REPO = Path(__file__).parents[1]
_FOREIGN = ("HEADWAY_", "XDG_", "SSH_", "INVOKE_", "PYTHON")  # somebody's own settings


@dataclass(frozen=True)
class Edit:
    """Text in a file of the fleet that gives way to other text."""

    file: str
    old: str
    new: str


class Terminal:
    """A home with ~/.ssh/config, and a copy of a fleet to work in; both lie in `desk`."""

    def __init__(self, desk: Path, fleet: Path, ssh_config: Path) -> None:
        self.fleet = desk / "fleet"
        self._source = fleet
        self._home = desk / "home"
        (self._home / ".ssh").mkdir(parents=True)
        shutil.copy(ssh_config, self._home / ".ssh/config")
        self.edit()

    def edit(self, edits: Sequence[Edit] = ()) -> str:
        """Make the fleet what it was at first but for these edits; return the difference."""
        shutil.rmtree(self.fleet, ignore_errors=True)
        shutil.copytree(self._source, self.fleet)
        return "".join(self._edited(edit) for edit in edits)

    def type(self, line: str, *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        """Run what was typed and wait for its end; `quiet` returns what it prints.

        Ctrl-C is the command's to answer: it is raised here when the command has ended.
        """
        argv = [word.replace("~", str(self._home), 1) for word in shlex.split(line)]
        kept = subprocess.PIPE if quiet else None
        interrupt: KeyboardInterrupt | None = None
        with subprocess.Popen(
            argv, cwd=self.fleet, env=self._environment(), stdout=kept, stderr=kept, text=True
        ) as started:
            while True:
                try:
                    out, err = started.communicate()
                    break
                except KeyboardInterrupt as error:
                    interrupt = error
        if interrupt:
            raise interrupt
        return subprocess.CompletedProcess(argv, started.returncode, out or "", err or "")

    def _environment(self) -> dict[str, str]:
        """Return this checkout's headway on the PATH, and nobody's settings."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(_FOREIGN)}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**kept, "HOME": str(self._home), "PATH": path, "PYTHONPATH": str(REPO)}

    def _edited(self, edit: Edit) -> str:
        path = self.fleet / edit.file
        before = path.read_text()
        if before.count(edit.old) != 1:
            raise LabError(f"{edit.file}: {edit.old!r} should stand there once")
        after = before.replace(edit.old, edit.new)
        path.write_text(after)
        lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(*lines, f"a/{edit.file}", f"b/{edit.file}", n=1))
