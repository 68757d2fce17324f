"""Bring the accepted release about again: after drift, for a restart, out of parking."""

from dataclasses import replace
from typing import Optional, Tuple

from headway.runner.orders import begin
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.wire.phase import Exit
from headway.wire.release import Part, Release
from headway.wire.resources import Stack
from headway.wire.talk import FromHost, Repair


def obey(session: Session, order: Repair) -> Optional[FromHost]:
    """Relaunch the parts named, or all that have a service; a project's name means its services."""
    state = session.records.state()
    occupied = session.occupied(state)
    if occupied is not None:
        return occupied
    if not state.accepted:
        return session.rest(Exit.REFUSED, "refused", "nothing was ever accepted on this host")
    if (state.parked is not None) is not order.unpark:
        parked = "is parked; use unpark" if state.parked else "is not parked"
        return session.rest(Exit.REFUSED, "refused", f"this host {parked}")
    try:
        release = session.records.release(state.running())
        criteria = session.records.criteria(state.accepted[0].criteria)
    except RecordError as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    parts = order.orders.relaunch or tuple(part.name for part in release.parts if part.subject)
    unknown = [name for name in parts if release.part(name) is None]
    if unknown:
        known = ", ".join(part.name for part in release.parts)
        sentence = f"no part {unknown[0]!r} in release {release.id}; there are {known}"
        return session.rest(Exit.USAGE, "refused", sentence)
    orders = replace(order.orders, relaunch=_with_services(release, parts))
    return begin.begin(session, "repair", (release, release), criteria, orders)


def _with_services(release: Release, parts: Tuple[str, ...]) -> Tuple[str, ...]:
    """Add to what Compose is given for a project the services that are made of it."""
    stacks = {part.name for part in release.parts if part.name in parts and _is_stack(part)}
    mine = (part.name for part in release.parts if part.name.rpartition(".")[0] in stacks)
    return tuple(dict.fromkeys((*parts, *mine)))


def _is_stack(part: Part) -> bool:
    return any(isinstance(resource, Stack) for resource in part.resources)
