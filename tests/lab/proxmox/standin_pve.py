#!/usr/bin/python3
"""STAND-IN for Proxmox VE's pct and qm: syntax, output and exit codes, over plain LXC.

It lies on a lab's node as /usr/sbin/pct and /usr/sbin/qm. A container is a real LXC container. A
"VM" is one too, for want of KVM: what `qm guest exec` says is a guest agent's, what runs is
lxc-attach. What can be set lies in /etc/standin-pve.json: see SETTINGS. Python 3.11.

pct list|status|config|exec|push|start|stop, qm list|status|config|start|stop|guest exec|exec-status
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

HERE = os.uname().nodename
SETTINGS = {
    "output_bytes": 16 << 20,  # what a real agent keeps of a command's output
    "poll_s": 0.05,  # the real qm looks once a second whether a command has ended
    "agents_down": [],  # VMs whose agent is configured and does not run
}
INPUT_BYTES = 1 << 20
JOBS = Path("/run/standin-qm")
GONE = 2  # what Proxmox exits with when a configuration file is not there
FAILED = 255


class RefusedError(Exception):
    """What the real program says on stderr, and its exit code."""

    def __init__(self, said: str, code: int = FAILED) -> None:
        super().__init__(said)
        self.code = code


@dataclass(frozen=True)
class Kind:
    """Containers or virtual machines: where their configuration lies, and how they are called."""

    folder: str
    title: str

    def guest(self, vmid: str) -> "Guest":
        """Return a guest of this node."""
        file = Path(f"/etc/pve/{self.folder}/{vmid}.conf")
        if not file.exists():
            name = f"nodes/{HERE}/{self.folder}/{vmid}.conf"
            raise RefusedError(f"Configuration file '{name}' does not exist", GONE)
        lines = (line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
        return Guest(self, vmid, [(key, value.strip()) for key, value in lines])

    def guests(self) -> "list[Guest]":
        """Return the guests of this node in the order of their numbers."""
        found = Path(f"/etc/pve/{self.folder}").glob("*.conf")
        return [self.guest(vmid) for vmid in sorted((file.stem for file in found), key=int)]


@dataclass(frozen=True)
class Guest:
    """A guest: its number and the lines of its configuration."""

    kind: Kind
    vmid: str
    lines: list[tuple[str, str]]

    def value(self, key: str) -> str:
        """Return a value of its configuration, "" when there is none."""
        return dict(self.lines).get(key, "")

    def status(self) -> str:
        """Return running or stopped."""
        info = ["lxc-info", "--name", self.vmid, "--state", "--no-humanize"]
        done = subprocess.run(info, capture_output=True, text=True, check=False)
        return "stopped" if done.stdout.strip() in ("STOPPED", "") else "running"

    def refuse_locked(self) -> None:
        """Refuse what a lock forbids."""
        if self.value("lock"):
            raise RefusedError(f"{self.kind.title} is locked ({self.value('lock')})")

    def config(self) -> list[str]:
        """Return sorted `key: value` lines, raw lxc.* lines last."""
        return [
            f"{key}: {value}"
            for key, value in sorted(self.lines, key=lambda line: (line[0][:4] == "lxc.", line[0]))
        ]


CONTAINERS = Kind("lxc", "CT")
MACHINES = Kind("qemu-server", "VM")


@dataclass(frozen=True)
class Words:
    """A command line: options anywhere before `--`, the guest's number, and what follows."""

    options: dict[str, str]
    vmid: str
    rest: list[str]

    @classmethod
    def of(cls, argv: list[str]) -> "Words":
        """Take a command line apart."""
        end = argv.index("--") if "--" in argv else len(argv)
        options, plain, words = {}, [], iter(argv[:end])
        for word in words:
            if word.startswith("--"):
                name, _, value = word[2:].partition("=")
                options[name] = value or next(words, "")
            else:
                plain.append(word)
        if not plain:
            raise RefusedError("400 not enough arguments", FAILED)
        return cls(options, plain[0], [*plain[1:], *argv[end + 1 :]])


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def settings(name: str) -> object:
    """Return what a test set, else what holds otherwise."""
    file = Path("/etc/standin-pve.json")
    return {**SETTINGS, **(json.loads(file.read_text()) if file.exists() else {})}[name]


# -- both


def status(kind: Kind, words: Words) -> None:
    """Tell running or stopped; exit code 0 for both."""
    say(f"status: {kind.guest(words.vmid).status()}")


def config(kind: Kind, words: Words) -> None:
    """Tell the configuration."""
    say(*kind.guest(words.vmid).config())


def start(kind: Kind, words: Words) -> None:
    """Start a guest that is stopped."""
    guest = kind.guest(words.vmid)
    guest.refuse_locked()
    if guest.status() == "running":
        raise RefusedError(f"{kind.title} {words.vmid} already running")
    if subprocess.run(["lxc-start", "--name", words.vmid], check=False).returncode:
        raise RefusedError(f"startup for container '{words.vmid}' failed")


def stop(kind: Kind, words: Words) -> None:
    """End all that runs in a guest at once."""
    guest = kind.guest(words.vmid)
    guest.refuse_locked()
    if guest.status() == "stopped":
        raise RefusedError(f"{kind.title} {words.vmid} not running")
    subprocess.run(["lxc-stop", "--name", words.vmid, "--kill"], check=True)


# -- containers


def list_containers(_: list[str]) -> None:
    """List them: columns of a fixed width; nothing at all without a container."""
    rows = [
        (guest.vmid, guest.status(), guest.value("lock"), guest.value("hostname"))
        for guest in CONTAINERS.guests()
    ]
    table = [("VMID", "Status", "Lock", "Name"), *rows] if rows else []
    say(*(f"{row[0]:<10} {row[1]:<10} {row[2]:<12} {row[3]:<20}" for row in table))


def execute(words: Words) -> NoReturn:
    """Become the command in the container: its words, its streams, its exit code."""
    if CONTAINERS.guest(words.vmid).status() != "running":
        raise RefusedError(f"container '{words.vmid}' not running!")
    if not words.rest:
        raise RefusedError("missing command")
    # The default keeps the node's environment, whatever the manual promises for Proxmox 9.
    keep = "--clear-env" if words.options.get("keep-env", "1") == "0" else "--keep-env"
    argv = ["lxc-attach", "-n", words.vmid, keep, "--", *words.rest]
    os.execvp(argv[0], argv)  # noqa: S606 # it becomes the command, as the real one does


def push(words: Words) -> None:
    """Copy a file into a container that runs."""
    guest = CONTAINERS.guest(words.vmid)
    guest.refuse_locked()
    if guest.status() != "running":
        raise RefusedError(f"container '{words.vmid}' not running!")
    whence, where = words.rest
    if not Path(whence).exists():
        raise RefusedError(f"failed to open {whence} for reading: No such file or directory", GONE)
    user, group = words.options.get("user", "root"), words.options.get("group", "root")
    script = 'cat >"$1" && chmod "$2" "$1" && chown "$3" "$1"'
    values = [where, words.options.get("perms", "0644"), f"{user}:{group}"]
    attach = ["lxc-attach", "-n", words.vmid, "--clear-env", "--", "sh", "-c", script, "-", *values]
    with Path(whence).open("rb") as file:
        done = subprocess.run(attach, stdin=file, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(f"failed to create file {where}: {done.stderr.strip()}")


# -- "virtual machines"


def list_machines(_: list[str]) -> None:
    """List them: the number stands at the right of its column."""
    rows = [
        f"{guest.vmid:>10} {guest.value('name'):<20} {guest.status():<10} {'2048':<10} "
        f"{32.0:12.2f} {0:<10}"
        for guest in MACHINES.guests()
    ]
    head = (
        f"{'VMID':>10} {'NAME':<20} {'STATUS':<10} {'MEM(MB)':<10} {'BOOTDISK(GB)':>12} {'PID':<10}"
    )
    say(*([head, *rows] if rows else []))


def agent_of(vmid: str) -> Guest:
    """Return a VM whose agent answers."""
    guest = MACHINES.guest(vmid)
    if not guest.value("agent").startswith(("1", "enabled=1")):
        raise RefusedError("No QEMU guest agent configured")
    if guest.status() != "running":
        raise RefusedError(f"VM {vmid} is not running")
    down = settings("agents_down")
    if isinstance(down, list) and int(vmid) in down:
        raise RefusedError("QEMU guest agent is not running")
    return guest


def guest_exec(words: Words) -> None:
    """Let the agent run a command; print what it says of it. qm itself ends with 0."""
    synchronous = words.options.get("synchronous", "1") != "0"
    if not synchronous and "timeout" in words.options:
        raise RefusedError(
            "400 Parameter verification failed.\nsynchronous: needs to be set for 'timeout'"
        )
    sent = sys.stdin.buffer.read(INPUT_BYTES + 1) if words.options.get("pass-stdin") == "1" else b""
    if len(sent) > INPUT_BYTES:
        raise RefusedError("'input-data' (STDIN) is limited to 1 MiB, aborting")
    guest = agent_of(words.vmid)
    answer: dict[str, object] = {"pid": begin(guest.vmid, words.rest, sent)}
    timeout_s, began = float(words.options.get("timeout", "30")), time.monotonic()
    while synchronous and (timeout_s == 0 or time.monotonic() - began < timeout_s):
        told = job(guest.vmid, str(answer["pid"]))
        if told["exited"]:
            answer = told
            break
        time.sleep(float(str(settings("poll_s"))))
    if synchronous and "exited" not in answer:
        sys.stderr.write("timeout reached, returning pid\n")
    say(pretty(answer))


def exec_status(words: Words) -> None:
    """Tell what became of a command."""
    agent_of(words.vmid)
    say(pretty(job(words.vmid, words.rest[0])))


def pretty(answer: dict[str, object]) -> str:
    """Return JSON as Perl's JSON prints it."""
    return json.dumps(answer, indent=3, separators=(",", " : "), sort_keys=True, ensure_ascii=False)


def job(vmid: str, pid: str) -> dict[str, object]:
    """Return what the agent knows of a command."""
    folder = JOBS / vmid / pid
    if not folder.exists():
        said = "Guest agent command failed, error was"
        raise RefusedError(f"Agent error: {said} 'PID {pid} does not exist'")
    file = folder / "answer"
    answer: dict[str, object] = json.loads(file.read_text()) if file.exists() else {"exited": 0}
    if "refused" in answer:
        raise RefusedError(str(answer["refused"]))
    return answer


def begin(vmid: str, command: list[str], sent: bytes) -> int:
    """Start a command that outlives this program, and return the agent's number for it."""
    ready, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        os.read(ready, 1)
        return child
    os.setsid()
    folder = JOBS / vmid / str(os.getpid())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answer").unlink(missing_ok=True)
    os.close(tell)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    attach = ["lxc-attach", "-n", vmid, "--clear-env", "--", *command]
    done = subprocess.run(attach, input=sent, capture_output=True, check=False)
    hidden = folder / ".answer"
    hidden.write_text(json.dumps(ended(done, command)))
    hidden.rename(folder / "answer")
    os._exit(0)


def ended(done: "subprocess.CompletedProcess[bytes]", command: list[str]) -> dict[str, object]:
    """Return what an agent says of a command that has ended."""
    if done.returncode == 127 and done.stderr.startswith(b"lxc-attach:"):
        said = f"Failed to execute child process “{command[0]}” (No such file or directory)"
        return {"refused": f"Agent error: Guest agent command failed, error was '{said}'"}
    most = int(str(settings("output_bytes")))
    answer: dict[str, object] = {"exited": 1}
    shell_signal = done.returncode - 128  # lxc-attach ends as a shell would
    if 0 < shell_signal < signal.NSIG:
        answer["signal"] = shell_signal
    else:
        answer["exitcode"] = done.returncode
    for name, data in (("out", done.stdout), ("err", done.stderr)):
        if data:
            answer[f"{name}-data"] = data[:most].decode(errors="replace")
        if len(data) > most:
            answer[f"{name}-truncated"] = 1
    return answer


# -- the command line

Verb = Callable[[list[str]], None]
BOTH = {"status": status, "config": config, "start": start, "stop": stop}
PCT: dict[str, Verb] = {
    "list": list_containers,
    "exec": lambda argv: execute(Words.of(argv)),
    "push": lambda argv: push(Words.of(argv)),
}
QM: dict[str, Verb] = {"list": list_machines}
QM_GUEST: dict[str, Callable[[Words], None]] = {"exec": guest_exec, "exec-status": exec_status}


def main() -> None:
    """Be pct or qm, by the name under which it was called."""
    name, argv = Path(sys.argv[0]).name, sys.argv[1:]
    own, kind = (PCT, CONTAINERS) if name == "pct" else (QM, MACHINES)
    if name == "qm" and argv[:1] == ["guest"] and argv[1:2] and argv[1] in QM_GUEST:
        QM_GUEST[argv[1]](Words.of(argv[2:]))
    elif argv[:1] and argv[0] in own:
        own[argv[0]](argv[1:])
    elif argv[:1] and argv[0] in BOTH:
        BOTH[argv[0]](kind, Words.of(argv[1:]))
    else:
        raise RefusedError(f"ERROR: unknown command '{name} {' '.join(argv[:1])}'")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            main()
        except RefusedError as refusal:
            sys.stderr.write(f"{refusal}\n")
            sys.exit(refusal.code)
