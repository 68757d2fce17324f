"""What a failed release leaves behind: its files, its units' states and its last words.

Taken before anything is undone, within 10 s, best effort: evidence never stops the way back.
"""

import hashlib
import os
from typing import Tuple

from headway.runner import ballast, changes
from headway.runner.machine import Machine
from headway.wire.marks import ROOT
from headway.wire.release import Release
from headway.wire.resources import is_container

DEADLINE_S = 10
KEPT = 5
_STATES = (
    "ActiveState,SubState,Result,ExecMainCode,ExecMainStatus,NRestarts,InvocationID,MainPID,"
    "ControlGroup,MemoryCurrent"
)


def digest(data: bytes) -> str:
    """Hash bytes for the record."""
    return hashlib.sha256(data).hexdigest()


def snapshot(machine: Machine, transition: str, release: Release) -> None:
    """Keep, under failed/TRANSITION, what is so now of a release that is about to be undone.

    Nothing on a full disk: what room is left there is for the way back.
    """
    if ballast.is_full(machine.disk):
        return
    folder = f"{ROOT}/failed/{transition}"
    try:
        machine.disk.mkdirs(folder, 0o700)
        for part in release.parts:
            for name in changes.launched(part):
                keep = _keep_container if is_container(name) else _keep_words
                keep(machine, folder, name)
        older = sorted(machine.disk.names(ROOT + "/failed"), reverse=True)[KEPT:]
        for name in older:
            machine.disk.rmtree(f"{ROOT}/failed/{name}")
    except OSError:
        return


def _keep_words(machine: Machine, folder: str, unit: str) -> None:
    """Keep a unit's state, its launch's journal, and where its processes hang."""
    state = machine.run(
        ["systemctl", "show", unit, "--no-pager", "--property=" + _STATES], deadline_s=DEADLINE_S
    ).stdout
    found = dict(row.partition(b"=")[::2] for row in state.splitlines())
    launch = found.get(b"InvocationID", b"").decode()
    mine = [f"_SYSTEMD_INVOCATION_ID={launch}", "+", f"INVOCATION_ID={launch}"] if launch else []
    journal = machine.run(
        ["journalctl", "--all", "--no-pager", "--output=short-precise", *(mine or ["-u", unit])],
        deadline_s=DEADLINE_S,
    ).stdout
    me = machine.disk.me()
    machine.disk.write(f"{folder}/{unit}.state", state + _stacks(found), 0o600, *me)
    machine.disk.write(f"{folder}/{unit}.journal", journal, 0o600, *me)


def _keep_container(machine: Machine, folder: str, name: str) -> None:
    """Keep what Docker shows of a service's containers but for their variables, and their log."""
    project, _, service = name.partition("/")
    labels = [f"com.docker.compose.{key}={value}" for key, value in _labels(project, service)]
    matches = [word for label in labels for word in ("--filter", "label=" + label)]
    listed = machine.run(["docker", "ps", "--all", "--quiet", *matches], deadline_s=DEADLINE_S)
    me, stem = machine.disk.me(), f"{folder}/{name.replace('/', '.')}"
    for one in listed.stdout.decode().split():
        asked = "{{json .State}} {{.RestartCount}} {{.Image}} {{json .HostConfig.RestartPolicy}}"
        state = machine.run(["docker", "inspect", "--format", asked, one], deadline_s=DEADLINE_S)
        logs = machine.run(["docker", "logs", "--tail", "10000", one], deadline_s=DEADLINE_S)
        machine.disk.write(f"{stem}.state", state.stdout, 0o600, *me)
        machine.disk.write(f"{stem}.log", logs.stdout + logs.stderr, 0o600, *me)


def _labels(project: str, service: str) -> Tuple[Tuple[str, str], ...]:
    return ("project", project), ("service", service)


def _stacks(found: "dict[bytes, bytes]") -> bytes:
    """Say for each process of the unit what it waits for: wchan and kernel stack."""
    cgroup = found.get(b"ControlGroup", b"").decode()
    rows = []
    for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        path = f"{base}{cgroup}/cgroup.procs"
        if cgroup and os.path.exists(path):
            with open(path, "rb") as file:
                rows = [_stack(int(pid)) for pid in file.read().split()]
            break
    return b"".join(rows)


def _stack(pid: int) -> bytes:
    words = []
    for name in ("comm", "wchan", "stack"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                words.append(file.read().strip())
        except OSError:
            words.append(b"?")
    return b"pid %d %s\n" % (pid, b" | ".join(words))
