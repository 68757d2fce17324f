"""The images of the services that are headway's on a host, by the fleet's files alone."""

from collections.abc import Sequence

from headway.control.fleet import Fleet
from headway.control.inventory.model import Host
from headway.control.pins.wanted import Images, Wanted
from headway.control.rendering.render import render
from headway.control.secrets import Secret
from headway.wire.resources import Pin


def owned(fleet: Fleet) -> Images:
    """Give what names them: a host is rendered, whatever is pinned by now, and no secret opened."""

    def images(host: Host) -> Sequence[Wanted]:
        found: list[Wanted] = []

        def noted(ref: str, where: str, instance: str, service: str) -> Pin:
            found.append(Wanted(instance, service, ref, where))
            return Pin(ref)

        render(fleet, host, reveal=_closed, pin=noted)
        return found

    return images


def _closed(secret: Secret) -> str:
    del secret
    return ""
