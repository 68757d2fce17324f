"""Who was launched for each part, on disk: pid and start time outlive a front that is killed.

    /var/lib/headway/launches.json      of this boot; written when gates passed and before a stop

What left its cgroup meanwhile is known by this record alone.
"""

from dataclasses import dataclass, field
from typing import Dict, FrozenSet, Iterable, Optional, Tuple

from headway.runner.cards.evict.process import Key, Process
from headway.runner.disk import Disk
from headway.wire.loader import WireError, dumps, loads
from headway.wire.marks import ROOT

PATH = ROOT + "/launches.json"


@dataclass(frozen=True)
class Launched:
    """What was seen of one part. `processes` are PID:STARTTIME.

    `idle` are the bytes of each card, by UUID, that no process explained when it was accepted:
    what somebody whom this machine cannot see holds all the time.
    """

    cgroups: Tuple[str, ...] = ()
    processes: Tuple[str, ...] = ()
    idle: Dict[str, int] = field(default_factory=dict)

    def keys(self) -> FrozenSet[Key]:
        """Give the processes as pairs of pid and start time."""
        parted = (name.split(":") for name in self.processes)
        return frozenset((int(pid), int(started)) for pid, started in parted)


@dataclass(frozen=True)
class _Launches:
    boot_id: str
    parts: Dict[str, Launched] = field(default_factory=dict)


class Launches:
    """The record of this boot; an older one is void, for pids begin anew."""

    def __init__(self, disk: Disk, boot_id: str) -> None:
        self._disk = disk
        self._boot_id = boot_id

    def of(self, part: str) -> Optional[Launched]:
        """Read what was recorded of a part; None: nothing in this boot."""
        return self._read().parts.get(part)

    def keep(
        self,
        part: str,
        cgroups: Tuple[str, ...],
        seen: Iterable[Process],
        idle: Optional[Dict[str, int]] = None,
    ) -> None:
        """Replace a part's record by what is seen of it now; `idle` None leaves that as it was.

        Best effort: a full disk must not stop the way back.
        """
        known = self._read().parts
        old = known.get(part) or Launched()
        names = tuple(one.id for one in seen)
        new = Launched(cgroups, names, old.idle if idle is None else idle)
        data = dumps(_Launches(self._boot_id, {**known, part: new})).encode() + b"\n"
        try:
            self._disk.write(PATH, data, 0o600, *self._disk.me())
        except OSError:
            return

    def _read(self) -> _Launches:
        data = self._disk.read(PATH)
        try:
            found = loads(_Launches, data) if data else None
        except WireError:
            found = None
        usable = found is not None and found.boot_id == self._boot_id
        return found if found is not None and usable else _Launches(self._boot_id)
