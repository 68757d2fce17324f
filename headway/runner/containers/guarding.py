"""The guard of a container: restart policy "no", and the operator's own kept until it is decided.

At a boot Docker starts what its policy says, the host's recovery or not: an unproven container
must not carry one that does.
"""

from dataclasses import replace
from typing import Iterable

from headway.runner.containers import docker, record
from headway.runner.containers.record import Made
from headway.runner.machine import Machine
from headway.runner.resources.service import set_policy


def put(machine: Machine, names: Iterable[str]) -> None:
    """Guard these services, whether they have a container already or not.

    The policy that comes back is the one headway recorded: a container of its own may have been
    given another by hand since, and a repair once kept that. Of any other container it is its own.
    """
    for name in names:
        made = record.read(machine.disk, name) or Made()
        there = docker.containers(machine.disk, *name.split("/"))
        if not made.guarded:
            theirs = [one.policy for one in there if one.id != made.id]
            own = theirs[0] if theirs else made.policy
            record.write(machine.disk, name, replace(made, policy=own, guarded=True))
        for one in there:
            if one.policy != "no":
                set_policy(machine, name, one.id, "no")


def off(machine: Machine, names: Iterable[str]) -> None:
    """Give these services' containers their own policy back."""
    for name in names:
        made = record.read(machine.disk, name)
        if made is None or not made.guarded:
            continue
        there = docker.containers(machine.disk, *name.split("/"))
        for one in there:
            set_policy(machine, name, one.id, made.policy)
        if there:
            record.write(machine.disk, name, replace(made, guarded=False))
        else:
            record.drop(machine.disk, name)
