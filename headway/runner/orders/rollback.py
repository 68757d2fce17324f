"""Back to a release that was accepted here, from the record alone.

Nothing is rendered or looked up: no registry, no template, no database is needed.
"""

from dataclasses import replace
from typing import Dict, Optional, Tuple

from headway.runner.acceptance import rollback_target
from headway.runner.orders import begin
from headway.runner.orders.request import wish
from headway.runner.orders.session import Session
from headway.runner.records import RecordError
from headway.wire.phase import Exit, Phase
from headway.wire.release import Part, Release, release_of
from headway.wire.resources import Blob, Fetch, File, Resource
from headway.wire.talk import FromHost, Request, Rollback


def obey(session: Session, order: Rollback) -> Optional[FromHost]:
    """Begin the way to the newest accepted release that is not running, or to the one named.

    A held or stuck transition is sent back instead: that is where "back" leads from there.
    """
    state = session.records.state()
    if state.phase in (Phase.HELD, Phase.STUCK) and not order.to:
        return wish(session, state, Request("back", order.orders.by, order.orders.reason))
    occupied = session.occupied(state)
    if occupied is not None:
        return occupied
    name = rollback_target(state, order.to)
    if name is None:
        wanted = f"release {order.to}" if order.to else "older accepted release"
        sentence = f"this host has no {wanted} to go back to; `invoke history` lists what it keeps"
        return session.rest(Exit.REFUSED, "refused", sentence)
    criteria = next(old.criteria for old in state.accepted if old.release == name)
    try:
        start = session.records.release(state.running())
        target = session.records.whole_release(name, session.machine.blobs)
    except RecordError as error:
        return session.rest(Exit.REFUSED, "refused", str(error))
    notes = [
        f"{path}: its secret was another one then; the recorded one is used (--current-secrets)"
        for path in rotated(target, start)
    ]
    if order.current_secrets:
        target, notes = with_current_secrets(target, start), []
    known = session.records.criteria(criteria)
    return begin.begin(session, "rollback", (start, target), known, order.orders, notes)


def with_current_secrets(target: Release, running: Release) -> Release:
    """Give the target the running release's secret files by path, and its tokens by server."""
    current = _secret_files(running)

    def updated(resource: Resource) -> Resource:
        if isinstance(resource, File) and resource.path in current:
            return replace(resource, blob=current[resource.path])
        return resource

    parts: Tuple[Part, ...] = tuple(
        replace(part, resources=tuple(updated(resource) for resource in part.resources))
        for part in target.parts
    )
    tokens = {_server(fetch): fetch.token for fetch in running.fetches if fetch.token is not None}
    fetches = tuple(
        replace(fetch, token=tokens.get(_server(fetch), fetch.token)) for fetch in target.fetches
    )
    return release_of(parts, target.origin, target.secret_names, target.unheld, fetches)


def _server(fetch: Fetch) -> str:
    return "/".join(fetch.url.split("/")[:3])


def rotated(target: Release, running: Release) -> Tuple[str, ...]:
    """Name the secret files whose recorded bytes differ from those of the running release."""
    then, now = _secret_files(target), _secret_files(running)
    return tuple(path for path in then if path in now and then[path] != now[path])


def _secret_files(release: Release) -> Dict[str, Blob]:
    return {
        resource.path: resource.blob
        for part in release.parts
        for resource in part.resources
        if isinstance(resource, File) and resource.blob.secret
    }
