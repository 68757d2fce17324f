"""The demo: a real llama.cpp server goes out to three real hosts, and what is wrong does not.

What an operator does with the fleet in examples/demo, as data: a file is edited, a command is
typed, and it has to end with its exit code. The hosts are the lab's, and end with the demo.
"""

import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dev.terminal import REPO, Edit, Terminal
from tests.lab.command import LabError
from tests.lab.host import HostSpec
from tests.lab.lab import Lab

FLEET = REPO / "examples/demo"
HOSTS = ("gpu1", "gpu2", "gpu3")
ENGINES = "inventory/group_vars/engines.yaml"
ROLLOUT = "invoke rollout --host engines"
RUNS = """ssh -F ~/.ssh/config gpu1 'pgrep -a llama-server | grep -o "ctx-size .*"'"""


@dataclass(frozen=True)
class Command:
    """Why something is typed, what, and the exit code it has to end with."""

    why: str
    line: str
    code: int = 0


@dataclass(frozen=True)
class Step:
    """Edits of the fleet as it is in examples/demo, then commands."""

    title: str
    commands: tuple[Command, ...]
    edits: tuple[Edit, ...] = ()


CUT = Step(
    "A release that a comment cuts short",
    (
        Command(
            "Every option below the comment is lost; lint tells, and asks no host.",
            "invoke lint",
            2,
        ),
    ),
    (
        Edit(ENGINES, "role: llama_cpp", "role: by_script"),
        Edit("roles/by_script/start.sh.j2", "    --parallel 2", "    # --parallel 2"),
    ),
)
GOOD = Step(
    "A good release, one host after the other",
    (
        Command("The fleet as it is in git:", f"cat {ENGINES}"),
        Command(
            "The hosts are bare: each builds its environment from the lock file, starts the\n"
            "server, and proves itself before the next one begins.",
            ROLLOUT,
        ),
    ),
)
WRONG = Step(
    "A release that starts, is healthy, and answers wrong",
    (
        Command("Only a request whose answer is known can tell (gate needle).", ROLLOUT, 1),
        Command("The first host went back by itself. Without headway, what runs there?", RUNS),
    ),
    (Edit(ENGINES, "  ctx_size: 4096\n", "  ctx_size: 4096\n  rope_freq_base: 10000\n"),),
)
BETTER = Step(
    "A second good release",
    (
        Command("What would change on a host?", "invoke plan --host gpu1", 10),
        Command("The same environment, so each host takes seconds.", ROLLOUT),
    ),
    (Edit(ENGINES, "ctx_size: 4096", "ctx_size: 8192"),),
)
BACK = Step(
    "Back again",
    (
        Command(
            "From each host's own record: nothing is rendered, no index is asked.",
            "invoke rollback --host engines",
        ),
        Command("Without headway, what runs now?", RUNS),
    ),
)
RECORD = Step(
    "What is remembered",
    (
        Command("How the hosts stand:", "invoke status"),
        Command("What the first host recorded:", "invoke history --host gpu1"),
    ),
)
STEPS = (CUT, GOOD, WRONG, BETTER, BACK, RECORD)


def main() -> None:
    """Boot the hosts, walk through the steps, take the hosts down, however it ends."""
    began = time.monotonic()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    _say(f"{', '.join(HOSTS)} boot: Debian, systemd and sshd in each. Ctrl-C ends it all.")
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="headway-demo-") as desk:
        try:
            lab.up([HostSpec(name) for name in HOSTS])
            terminal = Terminal(Path(desk), FLEET, lab.ssh_config)
            for number, step in enumerate(STEPS, 1):
                _walk(terminal, step, f"{number} of {len(STEPS)}")
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was made is taken away whole
            _say("\nThe hosts are taken down.")
    _say(f"Every step ended as it should, after {time.monotonic() - began:.0f} s.")


def _walk(terminal: Terminal, step: Step, number: str) -> None:
    _say(f"\n\n=== {number}: {step.title} ===")
    difference = terminal.edit(step.edits)
    if difference:
        _say(f"\n{difference.rstrip()}")
    for command in step.commands:
        _say(f"\n{command.why}\n$ {command.line}")
        code = terminal.type(command.line).returncode
        if code != command.code:
            raise LabError(f"{command.line}: exit code {code}, and it should be {command.code}")
        if code:
            _say(f"(exit code {code}, as it should be)")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 # between what the commands print themselves
