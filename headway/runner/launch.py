"""Starts a transition in a transient unit of its own, so that no connection carries it.

Restart=on-failure and a watchdog bring a dead or hung runner back; the command is the same, and
what it finds in the record says whether it begins or recovers.
"""

import os
import sys
from typing import List

from headway.runner import systemd
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.wire.marks import ROOT

WATCHDOG_S = 60


def unit_of(transition: str) -> str:
    """Name the transient unit of a transition."""
    return f"headway-transition-{transition}.service"


def runner_argv(*words: str) -> List[str]:
    """Word a call of this very runner, cut off from the host's own Python environment."""
    return [sys.executable, "-I", "-S", runner_folder() + "/__main__.py", *words]


def runner_folder() -> str:
    """Say where this runner lies: runner/HASH."""
    here = os.path.dirname(os.path.realpath(__file__))
    return os.path.dirname(os.path.dirname(here))


def is_running(machine: Machine, transition: str) -> bool:
    """Say whether a transition's unit is up, or about to be started again."""
    seen = systemd.show(machine.run, unit_of(transition), ["ActiveState"])
    return seen["ActiveState"] in ("active", "activating", "deactivating")


def launch(machine: Machine, records: Records, transition: str) -> None:
    """Start the transition's runner, or raise SystemdError."""
    path = records.folder(transition) + "/runner.log"
    log = "append:" + machine.disk.real(path)
    properties = {
        "Description": f"headway transition {transition}",
        "Type": "notify",
        "Restart": "on-failure",
        "RestartSec": "1",
        "WatchdogSec": str(WATCHDOG_S),
        "OOMScoreAdjust": "-1000",
        "StandardOutput": log,
        "StandardError": log,
    }
    systemd.reset_failed(machine.run, unit_of(transition))
    argv = systemd.transient(unit_of(transition), runner_argv("transition", transition), properties)
    ran = machine.run(argv, deadline_s=60)
    if ran.code != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()[:1]
        logged = (machine.disk.read(path) or b"").decode(errors="replace").strip().splitlines()[-1:]
        why = "; ".join((*said, *logged)) or f"systemd-run ended with code {ran.code}"
        raise systemd.SystemdError(f"the transition could not be started: {why}")


def use(machine: Machine) -> None:
    """Make this runner the one that recovers at boot and serves `headway-host`."""
    name = os.path.basename(runner_folder())
    if machine.disk.seen(ROOT + "/runner/current") is None or (
        machine.disk.link(ROOT + "/runner/current") != name
    ):
        machine.disk.symlink(name, ROOT + "/runner/current")
