"""Makes claims of what systemd says and of what was recorded."""

from typing import FrozenSet, Iterable, Optional, Tuple

from headway.runner import systemd
from headway.runner.cards.evict.claim import Claim, cgroup_of, is_one_s_own
from headway.runner.cards.evict.launches import Launched
from headway.runner.cards.evict.process import Key, Processes
from headway.wire.tools import Run

_DOWN = ("inactive", "failed")


def cgroups_of(run: Run, units: Iterable[str]) -> Tuple[str, ...]:
    """Say where the processes of units lie, up or down; what outlived a unit still lies there."""
    found = []
    for unit in units:
        seen = systemd.show(run, unit, ["ControlGroup", "Slice"])
        found.append(seen["ControlGroup"] or cgroup_of(seen["Slice"] or "system.slice", unit))
    return tuple(dict.fromkeys(cgroup for cgroup in found if is_one_s_own(cgroup)))


def living(run: Run, units: Iterable[str]) -> Tuple[str, ...]:
    """Pick the units that are up, or about to be."""
    states = ((unit, systemd.show(run, unit, ["ActiveState"])["ActiveState"]) for unit in units)
    return tuple(unit for unit, state in states if state not in _DOWN)


def claim_of(
    run: Run, units: Tuple[str, ...], others: Iterable[str], recorded: Optional[Launched]
) -> Claim:
    """Claim what is left of `units`; whatever lies in one of `others` is spared, recorded or not.

    So is whatever lies in our own cgroup.
    """
    launched: FrozenSet[Key] = recorded.keys() if recorded else frozenset()
    old = recorded.cgroups if recorded else ()
    cgroups = tuple(dict.fromkeys((*cgroups_of(run, units), *old)))
    spared = (*cgroups_of(run, others), Processes().own_cgroup())
    return Claim(cgroups, launched, spared, units)
