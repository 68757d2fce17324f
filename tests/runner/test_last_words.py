"""What is told of a launch that is no more."""

import json
from typing import Any

from headway.runner import last_words
from headway.wire.gate import Subject
from headway.wire.tools import JournalLine
from tests.runner.resources.scripted import Scripted

LAUNCH = Subject("engine.service", "aa", 5_000_000, "b", 4242, "/system.slice/engine.service", 0)
STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
AT_US = 1_795_991_672_000_000


def told(*entries: dict[str, Any]) -> tuple[int, str, str]:
    """Give entries as journalctl prints them."""
    return 0, "\n".join(map(json.dumps, entries)), ""


def entry(ago_s: float, message: str, **fields: str) -> dict[str, Any]:
    """Make an entry so many seconds before the stop."""
    at = str(AT_US - int(ago_s * 1_000_000))
    return {"__REALTIME_TIMESTAMP": at, "MESSAGE": message, **fields}


def kernel(at_s: float, message: str) -> dict[str, Any]:
    """Make a line of the kernel, so many seconds after boot."""
    return {"__MONOTONIC_TIMESTAMP": str(int(at_s * 1_000_000)), "MESSAGE": message}


def stopped(*around: dict[str, Any], kind: str = "stop") -> tuple[str, ...]:
    """Ask about a launch that PID 1 stopped, with these entries around it."""
    job = entry(0, "Stopping engine", MESSAGE_ID=STOPPING, JOB_TYPE=kind, UNIT="engine.service")
    base = "journalctl --quiet --no-pager --output=json"
    table = {f"{base} _PID=1": told(job), f"{base} --since": told(*around, {**job, "_PID": "1"})}
    return last_words.of_the_taken(Scripted(table), LAUNCH)


def test_the_cause_is_the_first_known_line_or_the_last_ones() -> None:
    """Whichever engine it was; systemd's own words are not its."""
    noise = [JournalLine("c", f"line {n}", 6, own=True) for n in range(9)]
    cause = JournalLine("c", "E srv start: couldn't bind HTTP server socket", 6, own=True)
    theirs = JournalLine("c", "Main process exited", 6, own=False)

    assert last_words.said_of_the_cause([*noise, cause, theirs]) == (f"log: {cause.text}",)
    assert last_words.said_of_the_cause([*noise, theirs])[-1] == "log: line 8"
    assert len(last_words.said_of_the_cause(noise)) == 5


def test_the_kernel_s_lines_of_its_time_are_shown() -> None:
    """An Xid, an OOM kill and a trap of its own; not what came before its start, nor chatter."""
    lines = told(
        kernel(4, "NVRM: Xid (PCI:0000:9b:00): 31, pid=1, before it began"),
        kernel(6, "eth0: link becomes ready"),
        kernel(7, "traps: other[77] trap invalid opcode ip:55d0"),
        kernel(8, "traps: llama-server[4242] trap invalid opcode ip:55d0 sp:7ffd error:0"),
        kernel(9, "NVRM: Xid (PCI:0000:9b:00): 79, pid=4242, GPU has fallen off the bus."),
        kernel(10, "Out of memory: Killed process 4242 (llama-server) total-vm:1kB"),
    )
    run = Scripted({"journalctl --quiet --no-pager --output=json --dmesg": lines})

    said = last_words.of_the_dead(run, LAUNCH, ())

    assert [line.split(":")[1].split()[0] for line in said] == ["traps", "NVRM", "Out"]
    assert all(line.startswith("kernel: ") for line in said)


def test_a_guest_without_the_kernel_s_log_has_no_such_lines() -> None:
    """Nothing is made up."""
    assert last_words.of_the_dead(Scripted(), LAUNCH, ()) == ()


def test_a_stop_is_told_with_the_order_just_before_it() -> None:
    """A scheduler's sudo tells who took the subject away."""
    order = "slurm : PWD=/ ; USER=root ; COMMAND=/usr/bin/systemctl stop engine"

    said = stopped(
        entry(20, "Accepted publickey for slurm from 10.0.0.7 port 4", SYSLOG_IDENTIFIER="sshd"),
        entry(1, order, SYSLOG_IDENTIFIER="sudo"),
    )

    assert said == (
        "stopped by a stop job at 2026-11-29 22:34:32 UTC",
        f"before it, sudo: {order}",
    )


def test_without_an_order_a_login_tells() -> None:
    """Root over SSH needs no sudo."""
    login = "Accepted publickey for root from 10.0.0.7 port 4"

    said = stopped(entry(3, login, SYSLOG_IDENTIFIER="sshd"), kind="restart")

    assert said[0].startswith("stopped by a restart job at")
    assert said[1:] == (f"before it, sshd: {login}",)


def test_a_conflicting_unit_tells() -> None:
    """Conflicts= stops ours for the sake of another one."""
    by = {"MESSAGE_ID": STARTING, "SYSLOG_IDENTIFIER": "systemd", "UNIT": "batch.service"}
    begun = entry(0.1, "Starting batch.service", **by)

    assert stopped(begun)[1:] == ("before it, systemd: Starting batch.service",)


def test_a_stop_without_a_trace_says_so() -> None:
    """What cannot be known is not guessed."""
    assert stopped()[1:] == ("the journal does not say for whom",)


def test_no_stop_noted_is_no_sentence() -> None:
    """A machine that was started anew, a journal that was rotated away."""
    assert last_words.of_the_taken(Scripted(), LAUNCH) == ()
