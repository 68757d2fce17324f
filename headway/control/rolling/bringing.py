"""Images that no registry has, brought to a host when its turn has come, before it stages.

Only those that its release names by id and it lacks, and only where `images_from` says from where:
a host of the fleet, or the operator's own machine. Few releases have any: what brings them is
imported then.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.rolling.visit import Task, Visit
from headway.control.telling.story import Note, Sending, Sink
from headway.wire.release import Release
from headway.wire.resources import Image, Pin, Service
from headway.wire.talk import Rollout

if TYPE_CHECKING:
    from headway.control.pins.sources import Sources

_TELL_S = 1.0


class Bringing:
    """Brings what the release of a visit needs; `peers` are the hosts of the whole inventory."""

    def __init__(self, reach: Reach, peers: Sequence[Host], tell: Sink) -> None:
        self._reach = reach
        self._peers = {host.name: host for host in peers}
        self._tell = tell

    def refuse(self, tasks: Sequence[Task]) -> None:
        """Raise ConfigError where images are to come from a host that nobody knows."""
        concerned = [task.host for task in tasks if by_id(task)]
        if not concerned:
            return
        from headway.control.pins.settings import settings

        with self._sources() as sources:
            for host in concerned:
                own = settings(host.vars)
                if own.source:
                    sources.at(host, own)

    def __call__(self, visit: Visit) -> None:
        """Bring what the host lacks; RefusedError where it cannot be had: nothing was touched."""
        host, pins = visit.task.host, by_id(visit.task)
        if not pins:
            return
        from headway.control.pins.docker import lacking
        from headway.control.pins.settings import settings
        from headway.control.pins.streaming import bring

        own = settings(host.vars)
        if own.source in {"", host.name}:
            return
        with (
            closing(self._reach.line(host)) as target,
            self._sources() as sources,
        ):
            missing = lacking(target, tuple(pins), host.name)
            for image_id in missing:
                name, source = sources.of(host, own)
                what = f"image {pins[image_id].ref} from {name}"
                bring(
                    *(image_id, source, name, target, host.name),
                    progress=self._telling(host, what),
                    leaving=lambda: visit.leaving,
                )
                self._tell(Note(host.name, f"brought {what}"))

    def _telling(self, host: Host, what: str) -> Callable[[int, int], None]:
        """Tell about once a second how far it is."""
        told = time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told >= _TELL_S:
                told = time.monotonic()
                # The size is that of the image's files: with the tar around them it is a bit more.
                self._tell(Sending(host.name, what, done, max(total, done + 1)))

        return progress

    def _sources(self) -> "Sources":
        from headway.control.pins.sources import Sources

        return Sources(self._peers, self._peers.__getitem__, self._reach)


def by_id(task: Task) -> dict[str, Pin]:
    """Name the images of a rollout's release that no registry has, by id."""
    return _by_id(task.order.release) if isinstance(task.order, Rollout) else {}


def _by_id(release: Release) -> dict[str, Pin]:
    pins = (
        resource.pin
        for part in release.parts
        for resource in part.resources
        if isinstance(resource, Image | Service)
    )
    return {pin.image_id: pin for pin in pins if pin.image_id and not pin.digest}
