"""Where images are that no registry has: a host of the fleet, or the operator's own machine."""

from collections.abc import Callable, Collection
from types import TracebackType
from typing import Self

from headway.control.errors import ConfigError
from headway.control.inventory.model import Host
from headway.control.local import Here
from headway.control.near import near
from headway.control.pins.settings import CONTROLLER, Settings
from headway.control.reaching.reach import Reach
from headway.control.reaching.transport import Transport


class Sources:
    """Ways to such places, each opened once and closed at the end.

    `names` are all hosts of the inventory; `find` gives one of them.
    """

    def __init__(self, names: Collection[str], find: Callable[[str], Host], reach: Reach) -> None:
        self._names = names
        self._find = find
        self._reach = reach
        self._open: dict[str, Transport] = {}

    def __enter__(self) -> Self:
        """Open nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all of them."""
        for transport in self._open.values():
            transport.close()

    def at(self, host: Host, own: Settings) -> tuple[str, Host | None]:
        """Name where a host's images come from: `images_from`, else the host itself.

        None is this machine. ConfigError at its line where `images_from` names no host.
        """
        name = own.source or host.name
        if name == host.name:
            return name, host
        if name == CONTROLLER:
            return name, None
        if name not in self._names:
            problem = f"images_from: there is no host {name!r}; {near(name, self._names)}"
            hint = f"a host of the inventory, or {CONTROLLER}: this machine"
            raise ConfigError(own.source_where, problem, hint=hint)
        return name, self._find(name)

    def of(self, host: Host, own: Settings) -> tuple[str, Transport]:
        """Go there; it is opened once."""
        name, at = self.at(host, own)
        if name not in self._open:
            self._open[name] = Here() if at is None else self._reach.line(at)
        return name, self._open[name]
