"""What the checks of cards are handed on a bare machine: real cards, real programs, no systemd.

The program that a check would start by systemd-run is started as it is, with the environment of
this process, so that what the machine needs (NCCL_NVLS_ENABLE=0 in a VM, say) stays set.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from headway.runner.cards import look
from headway.wire.release import Part, SubjectSpec
from headway.wire.resources import Blob, File, Unit
from headway.wire.tools import Ran
from tests.gpu.bench import REPO, SkipTestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.wire.cards import CardsSeen

UNIT, ENV_FILE = "engine.service", "/etc/headway/engine.env"


def check(name: str) -> ModuleType:
    """Load a check, or what checks share, under the name it has on a host."""
    if "headway_checks" not in sys.modules:
        package = ModuleType("headway_checks")
        package.__path__ = [str(REPO / "checks")]
        sys.modules["headway_checks"] = package
    return import_module(f"headway_checks.{name}")


def nccl_library() -> str:
    """Find NCCL beside this Python's torch, else the system's; skips where there is none."""
    places = {Path(path) for path in (*sys.path, sysconfig.get_path("purelib")) if path}
    found = [one for place in places for one in place.glob("nvidia/nccl/lib/libnccl.so.2")]
    if found:
        return str(found[0])
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    if "libnccl.so.2" not in listed:
        raise SkipTestError("needs NCCL: nvidia-nccl-cu13 beside this Python, or libnccl2")
    return "libnccl.so.2"


class Bare:
    """Tools for one part whose environment file sets `values`; `output` is what was last said."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.output = ""
        texts = {
            "env": "".join(f'{name}="{value}"\n' for name, value in values.items()),
            "unit": f"[Service]\nEnvironmentFile={ENV_FILE}\n",
        }
        self._kept = {name: text.encode() for name, text in texts.items()}
        self.part = Part(
            name="engine",
            role="vllm",
            resources=(File(ENV_FILE, self._blob("env"), 0o600), Unit(UNIT, self._blob("unit"))),
            argv=((sys.executable,),),
            subject=SubjectSpec(UNIT),
        )

    def tools(self, *, between: bool = True) -> Any:
        """Give what a check asks of them, and nothing else."""
        return SimpleNamespace(
            run=self._run,
            cards=SimpleNamespace(look=self._look),
            host=SimpleNamespace(content=lambda blob: self._kept.get(blob.sha256)),
            part=self.part,
            leaving=(),
            between=between,
            baseline=None,
            left_s=lambda: 60,
        )

    def _blob(self, name: str) -> Blob:
        return Blob(name, len(self._kept[name]))

    @staticmethod
    def _look(*, pairs: bool = False) -> CardsSeen:
        return look(pairs=pairs, deadline_s=60)

    def _run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        deadline_s: int = 60,
    ) -> Ran:
        """Run what stands behind systemd-run's own words."""
        words = list(argv[list(argv).index("--") + 1 :])
        whole = {**os.environ, "VLLM_NCCL_SO_PATH": nccl_library(), **(env or {})}
        began = time.monotonic()
        code: int | None = None
        try:
            found = subprocess.run(
                words, input=stdin, env=whole, capture_output=True, timeout=deadline_s, check=False
            )
            code, out, err = found.returncode, found.stdout, found.stderr
        except subprocess.TimeoutExpired as late:
            out, err = late.stdout or b"", late.stderr or b""
        self.output = out.decode(errors="replace")
        return Ran(tuple(words), code, out, err, int((time.monotonic() - began) * 1000))
