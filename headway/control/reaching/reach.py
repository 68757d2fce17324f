"""How a verb reaches a host: which transport, wrapped in what, with which runner."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host
from headway.control.reaching.conversation import Session, converse
from headway.control.reaching.pack import Pack
from headway.control.reaching.sudo import Sudo
from headway.control.reaching.transport import Transport
from headway.control.secrets import Secret
from headway.control.telling.story import Connecting, Sending, Sink

Dial = Callable[[Host], Transport]
CONNECT_S = 10
AHEAD = 32
"""So many hosts are connected to at once, before their turn."""


@dataclass(frozen=True)
class Reach:
    """The way to any host of a fleet. `dial` makes the bare transport: SSH, or a test's double."""

    pack: Pack
    dial: Dial
    become_password: Secret | None = None
    ssh_config: Path | None = None

    def open(self, host: Host, tell: Sink, *, again: bool = False) -> Session:
        """Connect and hear the runner's hello; UnreachableError where that cannot be had."""
        tell(Connecting(host.name, host.address, again))
        transport = self.dial(host)
        try:
            return converse(
                self._as_root(transport, host),
                host.name,
                self.pack,
                python=_python(host),
                progress=lambda what, done, total: tell(Sending(host.name, what, done, total)),
            )
        except BaseException:
            transport.close()
            raise

    def connecting(self, hosts: Sequence[Host]) -> "Reach":
        """Begin to log in to these hosts now; whoever opens one later finds it connected.

        Nothing is run there: it is the handshakes that a host can do while we render.
        """
        lines = {host.name: _Line(self.dial, host) for host in hosts[:AHEAD]}

        def dial(host: Host) -> Transport:
            line = lines.pop(host.name, None)
            return line.transport() if line is not None else self.dial(host)

        return replace(self, dial=dial)

    def _as_root(self, transport: Transport, host: Host) -> Transport:
        if not host.become:
            return transport
        if host.become_user != "root":
            raise UnreachableError(
                f"{host.name}: ansible_become_user is {host.become_user}, and headway needs root"
            )
        user = f"{host.user}@{host.name}" if host.user else host.name
        return Sudo(transport, user, self.become_password or host.become_password)


class _Line:
    """A connection that is being made in a thread."""

    def __init__(self, dial: Dial, host: Host) -> None:
        self._dial = dial
        self._host = host
        self._made: Transport | None = None
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._make, name=host.name, daemon=True)
        self._thread.start()

    def transport(self) -> Transport:
        """Wait for it, or raise what kept it from being made."""
        self._thread.join()
        if self._made is None:
            raise self._failed or UnreachableError(f"{self._host.name}: no connection was made")
        return self._made

    def _make(self) -> None:
        try:
            self._made = self._dial(self._host)
        except Exception as error:  # noqa: BLE001 # raised again where the verb waits for it
            self._failed = error


def over_ssh(
    pack: Pack,
    ssh_config: Path | None = None,
    become_password: Secret | None = None,
    connect_s: int = CONNECT_S,
) -> Reach:
    """Reach hosts over SSH; `ssh_config` is used instead of ~/.ssh/config."""
    from headway.control.reaching import ssh  # 0.15 s, needed only once a host is called

    def dial(host: Host) -> Transport:
        return ssh.connect(host, ssh_config, connect_s)

    return Reach(pack, dial, become_password, ssh_config)


def _python(host: Host) -> str:
    value = host.vars.get("ansible_python_interpreter")
    return str(value.value) if value is not None and str(value.value) != "auto" else "python3"
