"""Each thing that goes wrong is found by what it leaves to be seen, and comes first."""

import json
from dataclasses import replace
from typing import Any

import pytest

from headway.runner.cards.xid import xids
from headway.runner.diagnosis import follows, log
from headway.runner.diagnosis.look import looked
from headway.runner.diagnosis.seen import (
    Answer,
    Changed,
    Container,
    Line,
    Memory,
    Mount,
    Process,
    Seen,
    Unit,
    Weights,
)
from headway.wire.cards import CardsHost, Holder, Pair
from headway.wire.findings import findings
from headway.wire.phase import Phase
from headway.wire.record import Parked
from headway.wire.release import SubjectSpec, release_of
from tests.runner.diagnosis.world import (
    BOOT_S,
    CARD,
    DOWN,
    GIB,
    NOW_S,
    PART,
    UNIT,
    WELL,
    card,
    cards,
    found,
    says,
    state,
    unit,
)

SERVICE = SubjectSpec("chat/engine")
EXIT_0 = {"ExecMainCode": "1", "ExecMainStatus": "0", "Result": "success"}
LOOP = {
    "ActiveState": "activating",
    "SubState": "auto-restart",
    "NRestarts": "7",
    "ExecMainCode": "1",
}
KILLED = {"ExecMainCode": "2", "ExecMainStatus": "9", "Result": "signal"}
XID = "NVRM: Xid (PCI:0000:18:00): {}, pid=1, name=python, text"
OOM = (BOOT_S - 9, "Out of memory: Killed process 42 (vllm) total-vm:1kB")
STALL = "Engine 000: Avg generation throughput: 0.0 tokens/s, Running: 3 reqs, Waiting: 0 reqs"
P2P, SHM = (
    "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct",
)
STOP = Line(
    NOW_S - 9, "Stopped engine.", own=False, launch="now", kind="9d1aaa27d60140bd96365438aad20286"
)


def xid(number: int, ago_s: int = 60) -> Seen:
    """Let the driver have complained."""
    lines = [(BOOT_S - ago_s, XID.format(number))]
    return cards(host=CardsHost(module="580.1", xids=tuple(xids(lines))))


def held(cgroup: str, started: int = 9, parent: int = 1) -> Seen:
    """Let a process hold the card."""
    holder = Holder(77, started, 80 * GIB, "compute", "python3", cgroup)
    return replace(card(holders=(holder,), used=80 * GIB), parents={77: parent})


def disk(path: str, **changed: Any) -> Seen:
    """Add a file system."""
    return replace(WELL, mounts=(*WELL.mounts, replace(Mount(path, "dev", "ext4"), **changed)))


def container(**changed: Any) -> Seen:
    """Add a container."""
    one = Container("engine", "exited", policy="always")
    return replace(WELL, containers=(replace(one, **changed),))


CASES: dict[str, tuple[Seen, str]] = {
    # the record
    "parked": (
        replace(state(parked=Parked("ops", 1, "fan")), units={UNIT: Unit(UNIT, DOWN)}),
        "parked",
    ),
    "held": (state(phase=Phase.HELD, why="gate decode"), "held"),
    "stuck": (state(phase=Phase.STUCK, why="Xid 79"), "stuck"),
    "in hand": (
        replace(
            state(phase=Phase.TRYING, transition="t"),
            units={
                **WELL.units,
                "headway-transition-t.service": Unit("", {"ActiveState": "active"}),
            },
        ),
        "in-hand",
    ),
    "its runner died": (state(phase=Phase.TRYING, transition="t"), "lock-of-the-dead"),
    "from the future": (state(since_ms=(NOW_S + 7200) * 1000), "record-in-future"),
    "drift": (replace(WELL, drift=(("engine", "/etc/x differs"),)), "drift"),
    # units
    "exit 0": (unit({**DOWN, **EXIT_0}), "engine-exit-0"),
    "stopped": (unit({**DOWN, **EXIT_0}, STOP), "engine-stopped"),
    "never started": (
        unit({**DOWN, "InactiveExitTimestampMonotonic": "0"}),
        "engine-never-started",
    ),
    "loops": (unit({**LOOP, "ExecMainStatus": "1"}), "restart-loop"),
    "killed": (unit({**LOOP, **KILLED}), "killed-not-oom"),
    "out of memory": (unit({**LOOP, **KILLED}, kernel=(OOM,)), "oom-killed"),
    "restarted": (unit({"NRestarts": "1"}), "restarted"),
    "start limit": (unit({**DOWN, "Result": "start-limit-hit"}), "start-limit-hit"),
    "its watchdog": (unit({**DOWN, **KILLED, "Result": "watchdog"}), "watchdog"),
    "stop timed out": (unit({**DOWN, **KILLED, "Result": "timeout"}), "stop-timeout"),
    "no folder": (unit({**LOOP, "ExecMainStatus": "200", "Result": "exit-code"}), "exec-no-folder"),
    "no output": (unit({**LOOP, "ExecMainStatus": "209", "Result": "exit-code"}), "exec-no-output"),
    "no env file": (
        unit(
            {**LOOP, "Result": "resources"},
            Line(NOW_S, "Failed to load environment files: No such file", own=False, launch="now"),
        ),
        "env-file-missing",
    ),
    "broken": (unit({"LoadState": "bad-setting"}), "unit-broken"),
    "not enabled": (unit({"UnitFileState": "disabled"}), "unit-not-enabled"),
    "a condition": (unit({**DOWN, "ConditionResult": "no"}), "condition-not-met"),
    "a dependency": (
        unit(DOWN, Line(NOW_S, "Dependency failed for engine.", own=False, launch="now")),
        "dependency-failed",
    ),
    "ExecStartPre": (unit({"SubState": "start-pre", "ActiveState": "activating"}), "start-hangs"),
    "logs elsewhere": (unit({"StandardOutput": "append:/var/log/x"}), "log-not-in-journal"),
    "a file is newer": (
        replace(WELL, changed=(Changed(UNIT, "/etc/env", NOW_S - 60),)),
        "config-newer",
    ),
    "systemd is silent": (replace(WELL, unseen={"units": "nothing within 2 s"}), "systemd-silent"),
    # the log
    "suppressed": (
        unit(
            {},
            Line(NOW_S, "Suppressed 5 messages", False, "now", "a596d6fe7bfa4994828e72309e95d61e"),
        ),
        "journal-suppressed",
    ),
    "journald is silent": (
        replace(WELL, unseen={"journal": "no answer in time"}),
        "journal-silent",
    ),
    "no line": (replace(WELL, logs={UNIT: ()}), "journal-empty"),
    "card in use": (
        says("ValueError: Free memory on device (1/140 GiB) on startup is less than"),
        "card-held",
    ),
    "architecture": (
        says("ValueError: Model architectures ['X'] are not supported for now."),
        "arch-unsupported",
    ),
    "quantisation": (says("ValueError: Unknown quantization method: x"), "quant-unsupported"),
    "CUDA": (
        says("RuntimeError: The NVIDIA driver on your system is too old"),
        "cuda-newer-than-driver",
    ),
    "hub": (
        says("OSError: We couldn't connect to 'https://hub' to load the files"),
        "hub-unreachable",
    ),
    "certificate": (
        says("ssl.SSLCertVerificationError: CERTIFICATE_VERIFY_FAILED"),
        "certificate-refused",
    ),
    "files": (says("OSError: [Errno 24] Too many open files"), "too-many-files"),
    "permission": (
        says("PermissionError: [Errno 13] Permission denied: '/srv'"),
        "permission-denied",
    ),
    "illegal access": (
        says("CUDA error: an illegal memory access was encountered"),
        "illegal-access",
    ),
    "NCCL": (says("INFO vLLM is using nccl==2.27", ago_s=300), "nccl-hang"),
    "stall": (
        replace(says(STALL, STALL, STALL), answers=WELL.answers, listeners=WELL.listeners),
        "stalled",
    ),
    "P2P was lost": (
        unit({}, Line(1, P2P, own=True, launch="then"), Line(9, SHM, own=True, launch="now")),
        "p2p-lost",
    ),
    "no P2P": (unit({}, Line(9, SHM, own=True, launch="now")), "nccl-not-p2p"),
    "router": (
        replace(
            WELL,
            logs={
                **WELL.logs,
                "haproxy.service": (Line(9, "backend llm has no server available!", own=True),),
            },
        ),
        "router-sees-none",
    ),
    # what answers
    "nobody listens": (replace(WELL, listeners=(), answers=()), "not-listening"),
    "late": (replace(WELL, answers=(Answer(8000, "/health", 0, why="late"),)), "no-answer"),
    "503": (replace(WELL, answers=(Answer(8000, "/health", 503),)), "unhealthy"),
    "401": (replace(WELL, answers=(Answer(8000, "/v1/models", 401),)), "token-refused"),
    "another model": (
        replace(WELL, answers=(Answer(8000, "/v1/models", 200, '{"data":[{"id":"other"}]}'),)),
        "wrong-model",
    ),
    # cards
    "no module": (cards(closed="not loaded", cards=()), "driver-not-loaded"),
    "mismatch": (cards(host=CardsHost(module="570.2")), "driver-mismatch"),
    "hangs": (cards(closed="hangs", trouble=("NVML did not answer",)), "driver-hangs"),
    "broken driver": (cards(closed="unknown", cards=()), "driver-broken"),
    "lost": (cards(lost=(1,), trouble=("card 1: fallen off the bus",)), "card-lost"),
    "Xid 79": (xid(79), "xid-reboot"),
    "Xid 119": (xid(119), "xid-reset"),
    "Xid 31": (xid(31), "xid"),
    "recovery": (card(recovery="reset"), "card-recovery"),
    "power brake": (card(slowed=("hardware power brake",)), "power-brake"),
    "hot": (card(slowed=("hardware thermal slowdown",)), "thermal"),
    "slow": (card(slowed=("hardware slowdown",)), "card-slowed"),
    "gen 1": (card(pcie_gen=1, pcie_gen_max=5, busy_percent=90), "link-slow"),
    "x8": (card(pcie_width=8, pcie_width_max=16), "card-link-narrow"),
    "errors": (card(ecc_uncorrected=3), "card-failing"),
    "a bad row": (card(remap_pending=True), "row-remap"),
    "waits": (
        card(
            busy_percent=100,
            memory_busy_percent=0,
            power_mw=123_000,
            power_limit_mw=700_000,
            used=GIB * 80,
        ),
        "card-held-unseen",
    ),
    "orphan": (held("/system.slice/old.service"), "orphan-holds-card"),
    "orphan of a login": (held("/user.slice/user-0.slice/session-3.scope"), "orphan-holds-card"),
    "unseen": (card(used=80 * GIB), "card-held-unseen"),
    "a person's": (
        replace(
            held("/user.slice/user-0.slice/session-3.scope", parent=9),
            units={UNIT: Unit(UNIT, {**DOWN, **EXIT_0})},
        ),
        "card-held-by-others",
    ),
    "P2P refused": (cards(pairs=(Pair(0, 1, "chipset", "ok", "ok", "ok", "PHB"),)), "p2p-refused"),
    "undying": (
        replace(
            WELL, processes=(Process(7, 1, "D", 9, "vllm", "/", cards=True, waits_in="uvm_x"),)
        ),
        "undying",
    ),
    # the machine
    "disk full": (disk("/srv", size=GIB, free=0), "disk-full"),
    "nearly full": (disk("/data", size=100 * GIB, free=4 * GIB), "disk-nearly-full"),
    "read-only": (disk("/var", read_only=True), "disk-read-only"),
    "inodes": (disk("/srv", size=GIB, free=GIB, inodes=100, inodes_free=0), "inodes-full"),
    "a server of files": (disk("/models", hangs=True), "mount-hangs"),
    "/dev/shm": (disk("/dev/shm", size=GIB, free=0), "shm-full"),
    "memory": (replace(WELL, memory=Memory(100 * GIB, GIB)), "memory-low"),
    "swap": (replace(WELL, memory=replace(WELL.memory, stalled_percent=40)), "swapping"),
    "swapped": (
        replace(
            WELL,
            processes=(
                Process(42, 1, "S", 9, "vllm", "/system.slice/engine.service", swap_kib=900_000),
            ),
        ),
        "engine-swapped",
    ),
    "I/O": (replace(WELL, kernel=((BOOT_S - 9, "I/O error, dev sda, sector 1"),)), "disk-errors"),
    "a task hangs": (
        replace(WELL, kernel=((BOOT_S - 9, "INFO: task x:1 blocked for more than 120 seconds."),)),
        "hung-task",
    ),
    "clock": (replace(WELL, asked_ms=WELL.now_ms + 3_600_000), "clock-wrong"),
    "weights": (
        replace(WELL, weights=(Weights("engine", UNIT, "/m", "missing"),)),
        "weights-missing",
    ),
    "not to be read": (
        replace(WELL, weights=(Weights("engine", UNIT, "/m", "unreadable", "llm"),)),
        "weights-unreadable",
    ),
    # containers
    "docker hangs": (replace(WELL, unseen={"containers": "no answer in time"}), "docker-hangs"),
    "container OOM": (container(exit_code=137, oom=True), "container-oom"),
    "removed": (
        replace(
            WELL,
            record=replace(WELL.record, release=release_of((replace(PART, subject=SERVICE),))),
            containers=(),
        ),
        "container-gone",
    ),
    "paused": (container(status="paused"), "container-paused"),
    "exited": (container(exit_code=2), "container-exited"),
    "its log": (
        container(exit_code=1, said=("torch.OutOfMemoryError: CUDA out of memory.",)),
        "card-out-of-memory",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_comes_first(name: str) -> None:
    """One thing is broken of a host that was well."""
    seen, first = CASES[name]

    assert found(seen)[:1] == [first]


def test_a_host_that_is_well_has_nothing_and_says_what_was_looked_at() -> None:
    """Nothing found is told with what it rests on."""
    assert found(WELL) == []
    assert f"{UNIT} (active, 1 lines)" in looked(WELL)


def test_a_full_disk_explains_the_engine_that_ended() -> None:
    """Of two findings the cause comes first, and says of which the other is a symptom."""
    seen = replace(unit({**DOWN, **EXIT_0}), mounts=(Mount("/var", "d", "ext4", size=GIB, free=0),))

    assert found(seen) == ["disk-full", "engine-exit-0"]


def test_an_error_in_the_log_of_a_service_that_serves_is_no_finding() -> None:
    """Programs log errors and go on."""
    line = Line(NOW_S, "PermissionError: [Errno 13] cache", own=True, launch="now")

    assert found(unit({}, line)) == []


def test_an_older_launch_does_not_answer_for_the_last_one() -> None:
    """Last week's cause is not today's."""
    old = Line(NOW_S - 9000, "CUDA out of memory", own=True, launch="old")
    new = Line(NOW_S - 9, "Started engine.", own=False, launch="now")

    assert found(unit({**DOWN, **EXIT_0}, old, new)) == ["engine-exit-0"]


def test_of_a_loop_the_launch_before_the_newest_one_answers() -> None:
    """The newest one may just have begun."""
    old = Line(NOW_S - 9, "CUDA out of memory", own=True, launch="old")
    new = Line(NOW_S, "Starting up", own=True, launch="now")

    assert found(unit({**LOOP, "ExecMainStatus": "1"}, old, new))[0] == "card-out-of-memory"


def test_a_programs_xid_of_before_the_last_start_is_history() -> None:
    """The engine was started again since; what only a reboot clears is told all the same."""
    assert found(xid(31, ago_s=9000)) == []
    assert found(xid(79, ago_s=9000)) == ["xid-reboot"]


def test_a_process_that_holds_two_cards_is_told_once() -> None:
    """With what it holds of each."""
    holder = Holder(77, 9, 80 * GIB, "compute", "python3", "/")
    both = tuple(replace(CARD, index=n, holders=(holder,), used=80 * GIB) for n in (0, 1))

    [cause] = follows(replace(cards(cards=both), parents={77: 1}))

    assert cause.evidence == ("PID 77:9 (python3) of /", "card 0: 80.0 GiB, card 1: 80.0 GiB")


def test_an_oom_kill_of_the_service_is_told_once() -> None:
    """The kernel's line is its evidence, not a finding beside it."""
    assert found(unit({**LOOP, **KILLED}, kernel=(OOM,))) == ["oom-killed", "restart-loop"]


def test_an_oom_kill_of_last_week_is_no_cause_of_todays_kill() -> None:
    """What was killed then was something else."""
    old = (BOOT_S - 80_000, "Out of memory: Killed process 7 (backup)")

    assert found(unit({**LOOP, **KILLED}, kernel=(old,))) == ["killed-not-oom", "restart-loop"]


def test_a_restart_by_systemd_is_no_stop_by_a_person() -> None:
    """Both are worded alike; the job's type tells them apart."""
    row = {"_PID": "1", "INVOCATION_ID": "now", "MESSAGE_ID": STOP.kind, "MESSAGE": "Stopped x."}

    kinds = [log.line({**row, "JOB_TYPE": job}).kind for job in ("stop", "restart")]

    assert kinds == [STOP.kind, ""]


def test_a_card_at_rest_on_gen_1_is_well() -> None:
    """Idle links train down."""
    assert found(card(pcie_gen=1, pcie_gen_max=5, busy_percent=0)) == []


def test_every_condition_that_diagnose_weighs_can_be_found_by_a_probe() -> None:
    """A weight in the table without a probe would promise what nobody looks for."""
    from pathlib import Path

    from headway.wire import engines

    sources = Path(log.__file__).parent.iterdir()
    code = "".join(path.read_text() for path in sources if path.is_file())
    tables = (engines.engine(name) for name in engines.names())
    by_lines = {
        one.finding for t in tables for one in (*t.causes, *t.symptoms, *t.errors, *t.named)
    }
    weighed = {name for name, known in findings().items() if known.weight}

    assert {name for name in weighed if json.dumps(name) not in code} <= by_lines
    assert len(weighed) >= 40
