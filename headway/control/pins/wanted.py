"""Which images the owned services of a host run: what has to be pinned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.control.inventory.model import Host


@dataclass(frozen=True)
class Wanted:
    """The image of one owned service; `where` is FILE:LINE of what names it.

    `platform` is what the service itself asks for; "" leaves it to the host.
    """

    instance: str
    service: str
    ref: str
    where: str
    platform: str = ""


Images = Callable[[Host], Sequence[Wanted]]
"""Names them for a host, from the fleet's files alone."""
