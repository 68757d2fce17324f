"""The stand-ins answer as what they stand for does: NVML, an engine that holds cards."""

import time
from collections.abc import Callable

import pytest

from tests.lab.cards import HOLDER, MIB, cards
from tests.lab.command import LabError
from tests.lab.host import Host, HostSpec
from tests.lab.undying import undying

pytestmark = pytest.mark.lab

Hosts = Callable[..., list[Host]]
INSIDE = ("unshare", "--pid", "--fork", "--mount-proc")  # a container, for what NVML looks at
TWO = ("--card", "0=83000", "1=83000")


@pytest.fixture
def gpu1(hosts: Hosts) -> Host:
    """Return a host for cards; whoever asks gives it new ones."""
    [host] = hosts("cards1")
    return host


def used(found: list[dict[str, object]]) -> list[int]:
    """Return the MiB that are used, a card an entry."""
    return [int(str(card["used"])) // MIB for card in found]


def pids(found: list[dict[str, object]]) -> list[int]:
    """Return the processes that NVML lists, in the order of cards."""
    listed = [card["compute"] for card in found]
    return [int(pid) for of in listed if isinstance(of, dict) for pid in of]


def until(what: Callable[[], bool], seconds: float = 5) -> None:
    """Wait for something that comes soon."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_pynvml_reads_eight_cards_from_where_drivers_put_the_library(gpu1: Host) -> None:
    """No path is set: what a runner finds on a real machine it finds here."""
    made = cards(gpu1, 8)
    found = made.look()
    assert [card["name"] for card in found] == ["NVIDIA H200"] * 8
    assert len({card["uuid"] for card in found}) == 8
    assert used(found) == [0] * 8
    assert gpu1.ssh("cat /proc/driver/nvidia/version").stdout.endswith("580.159.04  STAND-IN\n")


@pytest.mark.long
@pytest.mark.parametrize("recipe", ["bullseye", "trixie"])
def test_the_library_loads_on_older_and_newer_hosts(hosts: Hosts, recipe: str) -> None:
    """It is built once, here."""
    [host] = hosts(HostSpec(f"on-{recipe}", recipe))
    made = cards(host, 1)
    made.hold("engine", "--card", "0=20000")
    assert used(made.look()) == [20000]


def test_memory_comes_back_when_the_real_process_dies(gpu1: Host) -> None:
    """The front's death frees nothing: the workers hold the cards."""
    made = cards(gpu1, 2)
    made.hold("engine", *TWO, "--port", "8000", "--ignore-term")
    until(lambda: "ok" in gpu1.ssh("curl -s http://127.0.0.1:8000/health").stdout)
    assert used(made.look()) == [83000, 83000]
    first, second = pids(made.look())
    titles = gpu1.ssh(f"cat /proc/{first}/cmdline /proc/{second}/comm").stdout
    assert titles.strip("\0\n").split("\0")[0] == "VLLM::Worker_TP0"
    assert titles.endswith("VLLM::Worker_TP\n")

    gpu1.ssh(f"kill {first}; kill -9 {second}")

    until(lambda: used(made.look()) == [83000, 0])
    assert pids(made.look()) == [first]
    gpu1.ssh("systemctl kill --signal=KILL engine")
    until(lambda: used(made.look()) == [0, 0])


@pytest.mark.long
def test_memory_comes_back_late_or_never_when_a_driver_unwinds(gpu1: Host) -> None:
    """A process that is gone is in no list, and its memory may still be taken."""
    made = cards(gpu1, 2)
    made.hold("late", "--alone", "--card", "0=500", "--unwind-s", "2")
    made.hold("never", "--alone", "--card", "1=600", "--stays")
    gpu1.ssh("systemctl kill --signal=KILL late never")
    until(lambda: not pids(made.look()))
    assert used(made.look()) == [500, 600]
    until(lambda: used(made.look()) == [0, 600])


def test_a_pid_namespace_sees_used_memory_and_only_its_own_processes(gpu1: Host) -> None:
    """Drivers from 535.113 on translate pids and leave out what lies outside; older ones do not."""
    made = cards(gpu1, 2)
    made.hold("engine", *TWO)
    outside = made.look()

    inside = made.look(*INSIDE)
    assert (used(inside), pids(inside)) == ([83000, 83000], [])
    made.system(pids="initial")
    assert pids(made.look(*INSIDE)) == pids(outside) == pids(made.look())
    made.system(pids="namespace")

    words = f"{HOLDER} --alone --card 0=100 & sleep 0.5; /usr/bin/python3 /opt/standin/reader.py"
    said = gpu1.ssh([*INSIDE, "sh", "-c", f"/usr/bin/python3 {words}; kill $!"]).stdout
    assert '"compute": {"2": 104857600}' in said
    gpu1.ssh("systemctl stop engine")


def test_workers_escape_their_cgroup_and_hide_in_namespaces(gpu1: Host) -> None:
    """They are of the launch all the same, and the host sees them."""
    made = cards(gpu1, 2)
    made.hold("engine", *TWO, "--hide", "--escape", "elsewhere")
    for pid in pids(made.look()):
        said = gpu1.ssh(f"grep ^0 /proc/{pid}/cgroup; grep NSpid /proc/{pid}/status").stdout
        assert said == f"0::/elsewhere\nNSpid:\t{pid}\t1\n"
    gpu1.ssh(["kill", "-9", *map(str, pids(made.look()))])
    gpu1.ssh("systemctl stop engine")
    assert used(made.look()) == [0, 0]


def test_a_process_that_cannot_die_stays_in_d_state_with_its_memory(gpu1: Host) -> None:
    """SIGKILL is pending until it is thawed, then it does its work."""
    made = cards(gpu1, 1)
    made.hold("engine", "--alone", "--card", "0=500")
    [pid] = pids(made.look())
    with undying(gpu1, pid):
        gpu1.ssh(f"kill -9 {pid}; sleep 0.2")
        assert gpu1.ssh(f"cut -d' ' -f3 /proc/{pid}/stat").stdout == "D\n"
        assert used(made.look()) == [500]
    until(lambda: used(made.look()) == [0])


@pytest.mark.long
def test_a_power_cut_ends_even_what_cannot_die(hosts: Hosts) -> None:
    """And the cards are there again at boot, empty."""
    [doomed] = hosts("doomed", fresh=True)
    made = cards(doomed, 2)
    made.hold("engine", "--alone", "--card", "0=500")
    with undying(doomed, *pids(made.look())):
        doomed.power_cut()
    doomed.boot()
    assert used(made.look()) == [0, 0]
    assert doomed.ssh("ls /dev/nvidia1 /proc/driver/nvidia/version").returncode == 0


def test_faults_are_told_as_nvml_tells_them(gpu1: Host) -> None:
    """An error code a call, a call that never comes back, a driver that was updated under us."""
    made = cards(gpu1, 2)
    with made.fault("*", 15, card=1), pytest.raises(LabError, match="GPU is lost"):
        made.look()
    with made.fault("nvmlDeviceGetMemoryInfo", "hang"):
        assert gpu1.ssh("timeout 0.5 python3 /opt/standin/reader.py").returncode == 124
    made.system(module="580.65.06")
    with pytest.raises(LabError, match="version mismatch"):
        made.look()
    (made.state / "system").unlink()
    with pytest.raises(LabError, match="Driver Not Loaded"):
        made.look()


def test_all_that_pynvml_asks_of_a_card_is_answered(gpu1: Host) -> None:
    """What a real card at rest said (H200, driver 580), call by call."""
    made = cards(gpu1, 2, power_mw=108_514)
    made.pair(0, 1, "p2p 1 4")
    gpu1.path("/root/ask.py").write_text(ASK)
    said = gpu1.ssh("PYTHONPATH=/opt/standin python3 /root/ask.py")
    assert said.stdout.splitlines() == ANSWERS, said.stderr


ASK = """\
from pynvml import *
nvmlInit()
a, b = nvmlDeviceGetHandleByIndex(0), nvmlDeviceGetHandleByUUID(
    nvmlDeviceGetUUID(nvmlDeviceGetHandleByIndex(1)))
print(nvmlSystemGetDriverVersion(), nvmlSystemGetNVMLVersion(), nvmlSystemGetCudaDriverVersion())
print(nvmlDeviceGetIndex(nvmlDeviceGetHandleByPciBusId("00000000:19:00.0")),
      nvmlDeviceGetPciInfo(a).busId, nvmlDeviceGetCudaComputeCapability(a))
one, two = nvmlDeviceGetMemoryInfo(a), nvmlDeviceGetMemoryInfo(a, version=nvmlMemory_v2)
print(one.total, one.used, one.free, two.used, two.reserved, two.free == one.free)
print(nvmlDeviceGetPowerUsage(a), nvmlDeviceGetEnforcedPowerLimit(a),
      nvmlDeviceGetPowerManagementLimit(a), nvmlDeviceGetPowerManagementLimitConstraints(a))
print(nvmlDeviceGetTemperature(a, 0), nvmlDeviceGetTemperatureV(a, 0),
      nvmlDeviceGetUtilizationRates(a).gpu, nvmlDeviceGetUtilizationRates(a).memory)
print(nvmlDeviceGetClockInfo(a, 1), nvmlDeviceGetMaxClockInfo(a, 1),
      nvmlDeviceGetCurrentClocksEventReasons(a), nvmlDeviceGetCurrentClocksThrottleReasons(a))
print(nvmlDeviceGetCurrPcieLinkGeneration(a), nvmlDeviceGetCurrPcieLinkWidth(a),
      nvmlDeviceGetMaxPcieLinkGeneration(a), nvmlDeviceGetMaxPcieLinkWidth(a))
print(nvmlDeviceGetEccMode(a), nvmlDeviceGetTotalEccErrors(a, 1, 0), nvmlDeviceGetRemappedRows(a),
      nvmlDeviceGetPersistenceMode(a), nvmlDeviceGetComputeMode(a))
print(nvmlDeviceGetNvLinkState(a, 17), nvmlDeviceGetNvLinkRemoteDeviceType(a, 17))
fields = nvmlDeviceGetFieldValues(a, [230, 231])
print([(field.nvmlReturn, field.value.uiVal) for field in fields])
print([nvmlDeviceGetP2PStatus(a, b, index) for index in range(5)],
      [nvmlDeviceGetP2PStatus(b, a, index) for index in range(5)],
      nvmlDeviceGetTopologyCommonAncestor(a, b))
for call in (nvmlDeviceGetFanSpeed, nvmlDeviceGetSerial, nvmlDeviceGetNumaNodeId):
    try:
        print(call(a))
    except NVMLError as error:
        print(error)
nvmlShutdown()
"""
ANSWERS = """\
580.159.04 13.580.159.04 13000
1 00000000:18:00.0 (9, 0)
150754820096 644939776 150109880320 0 644939776 True
108514 700000 700000 [200000, 700000]
34 34 0 0
345 1980 1 1
5 16 5 16
[1, 1] 0 (0, 0, 0, 0) 1 0
1 2
[(0, 0), (3, 0)]
[0, 4, 0, 0, 5] [0, 0, 0, 0, 5] 30
Not Supported
Not Supported
Not Supported
""".splitlines()
