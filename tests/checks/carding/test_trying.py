"""A program is run as the part's unit would be; its environment is shown to nobody else."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headway.wire.tools import Ran
from tests.checks import tables

TRYING = tables.check("carding.trying")
SERVICE = """\
User=engine
SupplementaryGroups=render
PrivateDevices=no
Environment=A=1
EnvironmentFile=-/etc/foreign.env
Restart=always
ExecStart=/bin/web
"""


class Ear:
    """Hears what would be run; `ends` says how it ended."""

    def __init__(self) -> None:
        self.argv: tuple[str, ...] = ()
        self.stdin = b""
        self.deadline_s = 0

    def __call__(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Any = None, deadline_s: int = 60
    ) -> Ran:
        """Note it."""
        assert env is None
        self.argv, self.stdin, self.deadline_s = tuple(argv), stdin, deadline_s
        return Ran(self.argv, 0, b"", b"", 1)


def heard() -> Ear:
    """Run a program for a part with a secret in its environment file."""
    ear = Ear()
    part = {"env": {"NCCL_P2P_LEVEL": "NVL", "TOKEN": "hidden"}, "service": SERVICE}
    tools = replace(tables.tools_of({"part": part}), run=ear)
    TRYING.inside_unit(tools, ["open"], 7)
    return ear


def test_it_is_placed_as_the_unit_is() -> None:
    """User, groups, devices and variables are the unit's; what starts and restarts it is not."""
    kept = [word for word in heard().argv if word.startswith("--property=")]

    assert kept == [
        *("--property=RuntimeMaxSec=7", "--property=TimeoutStopSec=2"),
        *("--property=User=engine", "--property=SupplementaryGroups=render"),
        *("--property=PrivateDevices=no", "--property=Environment=A=1"),
        "--property=EnvironmentFile=-/etc/foreign.env",
    ]


def test_its_own_environment_file_goes_in_by_stdin() -> None:
    """A unit's settings may be read by anybody, and so may a command line."""
    ear = heard()

    assert "hidden" not in " ".join(ear.argv)
    job = json.loads(ear.stdin)
    assert job["env"] == {"NCCL_P2P_LEVEL": "NVL", "TOKEN": "hidden"}
    assert job["words"] == ["open"]
    assert ear.deadline_s > 7, "systemd ends it first: who kills systemd-run leaves its unit"


def test_what_is_begun_has_that_environment() -> None:
    """The part behind systemd-run's own words, run as it is: the program sees the variables."""
    ear = heard()
    job = json.loads(ear.stdin)
    job["program"] = "import os, sys; print(os.environ['TOKEN'], sys.argv[1:])"
    words = list(ear.argv[ear.argv.index("--") + 1 :])

    done = subprocess.run(
        words, input=json.dumps(job), capture_output=True, text=True, timeout=30, check=False
    )

    assert (done.stdout, done.stderr) == ("hidden ['open']\n", "")
