"""Makes claims of what systemd says and of what was recorded."""

from typing import FrozenSet, Iterable, Optional, Tuple

from headway.runner import supervisor, systemd
from headway.runner.cards.evict.claim import Claim, cgroup_of, is_one_s_own
from headway.runner.cards.evict.launches import Launched
from headway.runner.cards.evict.process import Key, Processes
from headway.runner.machine import Machine

_DOWN = ("inactive", "failed")


def cgroups_of(machine: Machine, units: Iterable[str]) -> Tuple[str, ...]:
    """Say where the processes of units lie, up or down; what outlived a unit still lies there.

    A container's lie in a scope of its own, which is gone with the last of them.
    """
    names = tuple(units)
    found = [one for name in supervisor.containers(names) for one in _scopes(machine, name)]
    for unit in supervisor.units(names):
        seen = systemd.show(machine.run, unit, ["ControlGroup", "Slice"])
        found.append(seen["ControlGroup"] or cgroup_of(seen["Slice"] or "system.slice", unit))
    return tuple(dict.fromkeys(cgroup for cgroup in found if is_one_s_own(cgroup)))


def living(machine: Machine, units: Iterable[str]) -> Tuple[str, ...]:
    """Pick the units that are up, or about to be."""
    return tuple(name for name in units if _is_up(machine, name))


def claim_of(
    machine: Machine, units: Tuple[str, ...], others: Iterable[str], recorded: Optional[Launched]
) -> Claim:
    """Claim what is left of `units`; whatever lies in one of `others` is spared, recorded or not.

    So is whatever lies in our own cgroup.
    """
    launched: FrozenSet[Key] = recorded.keys() if recorded else frozenset()
    old = recorded.cgroups if recorded else ()
    cgroups = tuple(dict.fromkeys((*cgroups_of(machine, units), *old)))
    spared = (*cgroups_of(machine, others), Processes().own_cgroup())
    scopes = tuple(each.rpartition("/")[2] for each in cgroups if each.endswith(".scope"))
    return Claim(cgroups, launched, spared, (*supervisor.units(units), *scopes))


def _is_up(machine: Machine, name: str) -> bool:
    if supervisor.containers((name,)):
        return supervisor.current(machine, name) is not None
    return systemd.show(machine.run, name, ["ActiveState"])["ActiveState"] not in _DOWN


def _scopes(machine: Machine, name: str) -> Tuple[str, ...]:
    launch = supervisor.current(machine, name)
    return () if launch is None else (launch.cgroup,)
