"""A program run as the part's unit would run its own: same environment, same user, same devices.

systemd itself puts the process in its place, in a unit of its own that ends with the program or at
its deadline, whoever is gone by then. The environment file need not be written yet: `ready` asks
before anything is.
"""

import json
import sys
from pathlib import Path
from typing import List, Sequence

from headway.wire.tools import Ran, Tools
from headway.wire.unit_text import set_values, settings
from headway_checks.carding import inside

KEPT = (
    *("Environment", "PassEnvironment", "UnsetEnvironment"),
    *("User", "Group", "SupplementaryGroups", "DynamicUser"),
    *("DeviceAllow", "DevicePolicy", "PrivateDevices", "RootDirectory", "BindPaths"),
    *("LimitMEMLOCK", "LimitNOFILE", "WorkingDirectory"),
)
"""The settings of a unit that decide what its process may open, and with which variables."""

# The environment goes in by stdin and not as settings, which anybody may read of any unit.
_BEGIN = (
    "import json, os, sys; job = json.load(sys.stdin); os.environ.update(job['env']); "
    "os.execv(sys.executable, [sys.executable, '-u', '-I', '-S', '-c', job['program'], "
    "*job['words']])"
)
_GRACE_S = 3


def inside_unit(tools: Tools, words: Sequence[str], deadline_s: int) -> Ran:
    """Run inside.py with these words as the part's unit; `code` is None at the deadline."""
    program = Path(inside.__file__).read_text(encoding="utf-8")
    values = set_values(tools.part, tools.host.content)
    job = {"env": values, "program": program, "words": list(words)}
    return tools.run(
        [*command(tools, deadline_s), sys.executable, "-I", "-S", "-c", _BEGIN],
        stdin=json.dumps(job).encode(),
        deadline_s=deadline_s + _GRACE_S,
    )


def command(tools: Tools, deadline_s: int) -> List[str]:
    """Give the words that start what follows them as the part's unit is started."""
    kept = [
        f"--property={key}={value}"
        for key, value in settings(tools.part, tools.host.content)
        if key in KEPT or (key == "EnvironmentFile" and not _own(tools, value))
    ]
    limits = [f"--property=RuntimeMaxSec={deadline_s}", "--property=TimeoutStopSec=2"]
    how = ["--quiet", "--pipe", "--wait", "--collect", "--service-type=exec"]
    return ["systemd-run", *how, *limits, *kept, "--"]


def _own(tools: Tools, value: str) -> bool:
    """Say whether an environment file is the part's own: what it sets comes by stdin."""
    return value.lstrip("-") in {getattr(one, "path", "") for one in tools.part.resources}


def program(tools: Tools) -> str:
    """Name the program that the part's command line starts: its venv has the engine's NCCL."""
    return next((word for row in tools.part.argv for word in row), "")
