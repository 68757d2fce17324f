"""How a verb reaches a host: which transport, wrapped in what, with which runner."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.control.conversation import Session, converse
from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host
from headway.control.pack import Pack
from headway.control.secrets import Secret
from headway.control.story import Connecting, Sending, Sink
from headway.control.sudo import Sudo
from headway.control.transport import Transport

Dial = Callable[[Host], Transport]
CONNECT_S = 10


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

    def _as_root(self, transport: Transport, host: Host) -> Transport:
        if not host.become:
            return transport
        if host.become_user != "root":
            raise UnreachableError(
                f"{host.name}: ansible_become_user is {host.become_user}, and headway needs root"
            )
        user = f"{host.user}@{host.name}" if host.user else host.name
        return Sudo(transport, user, self.become_password or host.become_password)


def over_ssh(
    pack: Pack,
    ssh_config: Path | None = None,
    become_password: Secret | None = None,
    connect_s: int = CONNECT_S,
) -> Reach:
    """Reach hosts over SSH; `ssh_config` is used instead of ~/.ssh/config."""
    from headway.control import ssh  # 0.15 s, needed only once a host is called

    def dial(host: Host) -> Transport:
        return ssh.connect(host, ssh_config, connect_s)

    return Reach(pack, dial, become_password, ssh_config)


def _python(host: Host) -> str:
    value = host.vars.get("ansible_python_interpreter")
    return str(value.value) if value is not None and str(value.value) != "auto" else "python3"
