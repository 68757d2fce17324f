"""A machine of processes in a table, and the hands of an eviction over it.

It is a double (named so: it is none): a process holds bytes of cards until it is gone; some do
not die, some numbers are given out anew, and memory may come back late or never.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.killing import Allowed, kill
from headway.runner.cards.evict.process import Process, lies_in
from headway.runner.cards.evict.sight import Sight
from headway.wire.cards import Card, Holder
from tests.runner.world import StillClock

GIB = 1 << 30
OPEN = ("/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl")


@dataclass
class Table:
    """Processes by pid, what each holds of which card, and what was done to them.

    `idle` is used by nobody of this machine. `undying` hang in the driver. `leaks` stay used for
    ever, `unwinds_ms` until then. `before_look` happens first, `after_look` between a look and what
    is done about it. `launched` are pids by the launch that brought them, for whoever needs that.
    """

    clock: StillClock = field(default_factory=StillClock)
    processes: dict[int, Process] = field(default_factory=dict)
    held: dict[int, dict[int, int | None]] = field(default_factory=dict)
    cards: int = 2
    idle: dict[int, int] = field(default_factory=dict)
    undying: set[int] = field(default_factory=set)
    leaks: set[int] = field(default_factory=set)
    unwinds_ms: int = 0
    killed: list[Process] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    before_look: Callable[[], None] = lambda: None
    after_look: Callable[[], None] = lambda: None
    launched: dict[str, int] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()
    ghosts: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, process: Process, **held: int | None) -> Process:
        """Let a process run; `card0=5` holds 5 bytes of card 0, and opens it."""
        devices = OPEN if held else process.devices
        self.processes[process.pid] = replace(process, devices=devices)
        self.held[process.pid] = {int(name[4:]): count for name, count in held.items()}
        return self.processes[process.pid]

    def end(self, pid: int) -> None:
        """Let a process end; its memory comes back as the table says."""
        ended = self.processes.pop(pid, None)
        for card, count in self.held.pop(pid, {}).items():
            if ended is not None and (pid in self.leaks or self.unwinds_ms):
                until = -1 if pid in self.leaks else self.clock.boot_ms() + self.unwinds_ms
                self.ghosts.append((card, count or 0, until))

    # --- the hands ---------------------------------------------------------------------------

    def ours(self, claim: Claim) -> tuple[Process, ...]:
        """Name the processes that are ours."""
        self.before_look()
        return tuple(one for one in self.processes.values() if claim.is_ours(one))

    def sight(self, claim: Claim) -> Sight:
        """Look."""
        self.before_look()
        matter = tuple(p for p in self.processes.values() if p.devices or claim.is_ours(p))
        seen = () if self.trouble else tuple(self._card(index) for index in range(self.cards))
        found = Sight(seen, matter, self.trouble)
        self.after_look()
        return found

    def kill(self, process: Process, allowed: Allowed) -> str:
        """Do as the real one does, but for the signal itself."""
        return kill(process, self.processes.get, allowed, self._hold)

    def kill_unit(self, unit: str) -> None:
        """End all that lies in the cgroup of a unit."""
        self.units.append(unit)
        for one in tuple(self.processes.values()):
            if lies_in(one.cgroup, f"/system.slice/{unit}"):
                self._die(one)

    def hangs(self, process: Process) -> str:
        """Say where it hangs."""
        return f"{process}: state D, waits in uvm_spin_loop"

    # --- inside ------------------------------------------------------------------------------

    def _hold(self, pid: int) -> Callable[[], None]:
        meant = self.processes.get(pid)

        def send() -> None:
            if meant is not None and self.processes.get(pid) == meant:
                self._die(meant)

        return send

    def _die(self, process: Process) -> None:
        self.killed.append(process)
        if process.pid not in self.undying:
            self.end(process.pid)

    def _card(self, index: int) -> Card:
        now = self.clock.boot_ms()
        rows = [
            Holder(pid, self.processes[pid].started, held[index], "compute")
            for pid, held in self.held.items()
            if index in held
        ]
        ghosts = sum(
            count
            for card, count, until in self.ghosts
            if card == index and (until < 0 or now < until)
        )
        used = sum(row.used or 0 for row in rows) + ghosts + self.idle.get(index, 0)
        return Card(index, f"GPU-{index}", "H200", total=141 * GIB, used=used, holders=tuple(rows))
