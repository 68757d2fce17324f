from pathlib import Path

import pytest

from headway.runner.cards.holding import counts_as_node, holder, started_at
from headway.wire.cards import Holder
from headway.wire.loader import load

NODE, INSIDE = "pid:[4026531836]", "pid:[4026532201]"


@pytest.mark.parametrize(
    ("driver", "namespace", "strangers"),
    [
        ("530.41.03", INSIDE, True),
        ("535.104.05", INSIDE, True),
        ("535.113.01", INSIDE, False),
        ("545.23.06", INSIDE, False),
        ("580.159.04", INSIDE, False),
        ("530.41.03", NODE, False),
        ("", INSIDE, False),
    ],
)
def test_an_older_driver_in_a_container_counts_as_the_node_does(
    driver: str, namespace: str, strangers: bool
) -> None:
    """os_find_ns_pid came with 535.113.01: before it, a number means somebody else here."""
    assert counts_as_node(driver, namespace) is strangers


def write(proc: Path, pid: int, **files: str) -> None:
    """Write a process into a /proc."""
    (proc / str(pid)).mkdir()
    for name, text in files.items():
        (proc / str(pid) / name).write_text(text)


def test_a_process_is_told_by_its_start(tmp_path: Path) -> None:
    """Field 22, counted from behind the name, which may hold anything; further words are secret."""
    numbers = " ".join(str(n) for n in range(4, 53))
    write(
        tmp_path,
        77,
        stat=f"77 (a) 1 (b c) S {numbers}\n",
        cmdline="/usr/bin/python3\0serve\0--api-key\0hunter2\0",
        cgroup="12:pids:/elsewhere\n0::/system.slice/vllm.service\n",
    )
    assert started_at(77, str(tmp_path)) == 22
    found = load(Holder, holder(77, 5, "compute", known=True, proc=str(tmp_path)))
    assert found == Holder(77, 22, 5, "compute", "/usr/bin/python3", "/system.slice/vllm.service")
    assert found.name() == "77:22"


def test_a_number_that_is_not_of_here_stays_a_number(tmp_path: Path) -> None:
    """Its namesake in this /proc is a bystander."""
    write(tmp_path, 77, stat="77 (x) S " + " ".join(["9"] * 49), cmdline="sshd\0", cgroup="0::/\n")
    found = load(Holder, holder(77, 5, "compute", known=False, proc=str(tmp_path)))
    assert found == Holder(77, 0, 5, "compute")


def test_the_old_hierarchy_is_read_by_systemds_name(tmp_path: Path) -> None:
    """A host of cgroup v1 has no line 0."""
    old = "11:memory:/x\n1:name=systemd:/system.slice/vllm.service\n"
    write(tmp_path, 5, stat="5 (x) S " + " ".join(["9"] * 49), cmdline="", cgroup=old)
    found = load(Holder, holder(5, None, "graphics", known=True, proc=str(tmp_path)))
    assert (found.cgroup, found.command) == ("/system.slice/vllm.service", "")


def test_a_process_that_is_gone_has_no_start(tmp_path: Path) -> None:
    """It ended between NVML's list and our look."""
    assert started_at(9, str(tmp_path)) == 0
