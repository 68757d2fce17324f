"""What there is to say of a launch that is no more: why it ended, or who stopped it.

systemd does not keep who asked for a stop. What else was noted just before it tells most of the
time: sudo's and cron's command lines, a login, the start of a unit that does not go with this one.
"""

import json
import re
import time
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from headway.runner.tools.journal import decoded
from headway.wire import engines
from headway.wire.evidence import shown
from headway.wire.gate import Subject
from headway.wire.tools import JournalLine, Run

_KERNEL = re.compile(
    r"NVRM: Xid|fallen off the bus|[Oo]ut of memory: Killed process|\boom-kill:|"
    r"blocked for more than \d+ seconds"
)
_KERNEL_LINES = 2000
_UNKNOWN_START_S = 15 * 60
_STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
_STOPPING, _STOPPED = "de5b426a63be47a7b6ac3eaac82e2f6f", "9d1aaa27d60140bd96365438aad20286"
_BEFORE_S = 30
_ASKERS = ("sudo", "su", "CRON", "crond", "systemctl", "polkitd", "pkexec", "sshd", "sshd-session")
_ORDERS = re.compile(r"systemctl|service |reboot|shutdown|kill")
_SHOWN = 3


def of_the_dead(run: Run, dead: Subject, lines: Sequence[JournalLine]) -> Tuple[str, ...]:
    """Tell what a launch that ended by itself said of the cause, and the kernel meanwhile."""
    return (*said_of_the_cause(lines), *_said_by_the_kernel(run, dead))


def said_of_the_cause(lines: Sequence[JournalLine]) -> Tuple[str, ...]:
    """Find the line that says why a launch ended, whichever engine it was; else the last lines."""
    own = [line.text for line in lines if line.own and line.text.strip()]
    cause = engines.first_cause(own, map(engines.engine, engines.names()), ended=True)
    return (f"log: {shown(cause.line)}",) if cause else tuple(f"log: {shown(t)}" for t in own[-5:])


def of_the_taken(run: Run, launch: Subject) -> Tuple[str, ...]:
    """Tell when a launch was stopped, and by whom as far as the journal knows."""
    noted = _entries(run, "_PID=1", f"INVOCATION_ID={launch.id}")
    stops = [entry for entry in noted if entry.get("MESSAGE_ID") in (_STOPPING, _STOPPED)]
    at_us = int(stops[0].get("__REALTIME_TIMESTAMP", 0)) if stops else 0
    if not at_us:
        return ()
    since, until = at_us // 1_000_000 - _BEFORE_S, at_us // 1_000_000 + 1
    around = _entries(run, f"--since=@{since}", f"--until=@{until}")
    before = [one for one in around if int(one.get("__REALTIME_TIMESTAMP", 0)) <= at_us]
    who = (_ordered(before) or [*_logged_in(before), *_started(before, launch.unit)])[-_SHOWN:]
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at_us / 1_000_000))
    by = who or ["the journal does not say for whom"]
    return (f"stopped by a {stops[0].get('JOB_TYPE', 'stop')} job at {when}", *by)


def _ordered(entries: Iterable[Dict[str, Any]]) -> List[str]:
    """Find orders that were given to systemd."""
    return [_told(one) for one in _by_askers(entries) if _ORDERS.search(_text(one))]


def _logged_in(entries: Iterable[Dict[str, Any]]) -> List[str]:
    """Find who came in over SSH: root needs no sudo."""
    return [_told(one) for one in _by_askers(entries) if _text(one).startswith("Accepted ")]


def _by_askers(entries: Iterable[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [one for one in entries if one.get("SYSLOG_IDENTIFIER") in _ASKERS]


def _told(entry: Dict[str, Any]) -> str:
    return f"before it, {entry['SYSLOG_IDENTIFIER']}: {_text(entry)}"


def _started(entries: Iterable[Dict[str, Any]], unit: str) -> List[str]:
    """Find what systemd was starting then: a unit that conflicts stops ours."""
    return [
        _told(one)
        for one in entries
        if one.get("MESSAGE_ID") == _STARTING and one.get("UNIT") != unit
    ]


def _said_by_the_kernel(run: Run, dead: Subject) -> Tuple[str, ...]:
    """Find the kernel's lines of this launch's time that can end one: Xid, OOM kill, a trap.

    A guest cannot read its kernel's log: nothing is found there.
    """
    since = [] if dead.started_us else [f"--since=-{_UNKNOWN_START_S}s"]
    entries = _entries(run, "--dmesg", f"--lines={_KERNEL_LINES}", *since)
    traps = f"[{dead.pid}]" if dead.pid else "\0"
    told = [
        _text(one) for one in entries if int(one.get("__MONOTONIC_TIMESTAMP", 0)) >= dead.started_us
    ]
    found = [line for line in told if _KERNEL.search(line) or traps in line]
    return tuple(f"kernel: {line}" for line in found[-_SHOWN:])


def _entries(run: Run, *words: str) -> List[Dict[str, Any]]:
    ran = run(["journalctl", "--quiet", "--no-pager", "--output=json", *words], deadline_s=20)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith(b"{")]


def _text(entry: Dict[str, Any]) -> str:
    return shown(" ".join(decoded(entry.get("MESSAGE")).split()))
