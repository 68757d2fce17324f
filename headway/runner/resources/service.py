"""One service of a Compose project: its container, made by Compose of exactly the pinned image.

Made, not started: that is a step of the transition. Its restart policy is "no" until the
transition is decided, then the operator's again (`docker update` moves no config hash).
"""

from typing import Iterator, Optional, Tuple

from headway.runner.containers import compose, docker, record
from headway.runner.containers.docker import Container, DockerError
from headway.runner.containers.record import Made
from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.wire.record import Before
from headway.wire.resources import Pin, Service, Stack, container_name


def diff(service: Service, machine: Machine, *, enabled: bool = True) -> Optional[str]:
    """Say what is not as wanted; `enabled`: whether its restart policy has to be back by now."""
    try:
        wrong = tuple(_differences(service, machine, enabled=enabled))
    except DockerError as error:
        wrong = (str(error),)
    return f"{_name(service)}: " + "; ".join(wrong) if wrong else None


def text_now(service: Service, machine: Machine) -> Optional[str]:
    """Describe the container that is there: its image, command and policy; no variables."""
    try:
        seen = docker.containers(machine.disk, service.project, service.service)
    except DockerError:
        return None
    rows = (
        f"image {one.image}\ncommand {' '.join(one.argv)}\nrestart {one.policy}\n" for one in seen
    )
    return "".join(rows) or None


def refusal(service: Service, machine: Machine) -> Optional[str]:
    """Say that another project or a hand made a container of a name that Compose will want."""
    del service, machine  # asked of Compose's own answer, before anything is stopped: staged.py
    return None


def apply(service: Service, machine: Machine) -> None:
    """Have Compose make the container, and note which one it is."""
    stack = compose.recorded(machine.disk, service.project)
    name = _name(service)
    if stack is None:
        raise ResourceError(f"{name}: no Compose files are recorded for {service.project}")
    old = record.read(machine.disk, name) or Made()
    try:
        if not stack.has_override():
            _retag(service.pin, machine)
        there = docker.containers(machine.disk, service.project, service.service)
        compose.make(machine, stack, service.service)
        made = _one(docker.containers(machine.disk, service.project, service.service), name)
        stayed = old.guarded and made.id in {one.id for one in there}
        policy = old.policy if stayed else made.policy
        record.write(machine.disk, name, Made(made.id, policy, old.guarded))
        if old.guarded:
            set_policy(machine, name, made.id, "no")
    except DockerError as error:
        raise ResourceError(str(error)) from None


def before(service: Service, machine: Machine) -> Tuple[Before, ...]:
    """Record nothing: what ran is a service of the release one goes back to."""
    del service, machine
    return ()


def remove(service: Service, machine: Machine) -> None:
    """Take its containers away; they are stopped by then."""
    try:
        for one in docker.containers(machine.disk, service.project, service.service):
            docker.command(machine.run, ["rm", one.id], f"{_name(service)} was not removed")
    except DockerError as error:
        raise ResourceError(str(error)) from None
    record.drop(machine.disk, _name(service))


def set_policy(machine: Machine, name: str, container: str, policy: str) -> None:
    """Give a container a restart policy, or raise DockerError."""
    words = ["update", "--restart=" + policy, container]
    docker.command(machine.run, words, f"the restart policy of {name} was not set")


def _differences(service: Service, machine: Machine, *, enabled: bool) -> Iterator[str]:
    stack = compose.recorded(machine.disk, service.project)
    seen = docker.containers(machine.disk, service.project, service.service)
    if len(seen) != 1:
        yield "has no container" if not seen else f"has {len(seen)} containers, not one"
        return
    one, made = seen[0], record.read(machine.disk, _name(service)) or Made()
    image = docker.image(machine.disk, service.pin.name())
    if image is None:
        yield f"image {service.pin.ref} ({service.pin.name()}) is not on this host any more"
    elif one.image != image.id:
        yield f"runs image {_short(one.image)}, not {_short(image.id)} ({service.pin.ref})"
    if one.id != made.id:
        was = f"; headway's was {made.id[:12]}" if made.id else ""
        yield f"its container {one.id[:12]} was made by somebody else{was}"
    if stack is not None:
        yield from _recreated(one, stack, machine)
    if enabled and not made.guarded and one.policy != made.policy:
        yield f"its restart policy is {one.policy}, not {made.policy}"


def _recreated(one: Container, stack: Stack, machine: Machine) -> Iterator[str]:
    wanted = compose.hashes(machine, stack).get(one.service)
    if wanted is None:
        yield f"Compose knows no such service in {', '.join(stack.files)}"
    elif wanted != one.config_hash:
        yield "Compose would make it anew: its files, variables or profiles say something else now"


def _retag(pin: Pin, machine: Machine) -> None:
    """Have the tag that Compose's files name lead to the pinned image: it may have been moved."""
    wanted, now = docker.image(machine.disk, pin.name()), docker.image(machine.disk, pin.ref)
    if wanted is None:
        raise DockerError(f"image {pin.ref} ({pin.name()}) is not on this host any more")
    if pin.image_id and not pin.digest and (now is None or now.id != wanted.id):
        words = ["tag", wanted.id, pin.ref]
        docker.command(machine.run, words, f"{pin.ref} was not tagged")


def _one(seen: Tuple[Container, ...], name: str) -> Container:
    if len(seen) != 1:
        raise ResourceError(f"{name}: Compose made {len(seen)} containers, not one")
    return seen[0]


def _name(service: Service) -> str:
    return container_name(service.project, service.service)


def _short(image: str) -> str:
    return image.rpartition(":")[2][:12]
