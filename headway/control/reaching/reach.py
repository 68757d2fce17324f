"""How a verb reaches a host: which transport, wrapped in what, with which runner."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host, How, Via
from headway.control.reaching.bootstrap import serve_argv
from headway.control.reaching.pack import Pack
from headway.control.reaching.sudo import Sudo
from headway.control.reaching.transport import Stream, Transport
from headway.control.secrets import Secret

if TYPE_CHECKING:
    from headway.control.reaching.conversation import Session
    from headway.control.telling.story import Sink

Dial = Callable[[Host], Transport]
CONNECT_S = 10
AHEAD = 32
"""So many hosts are connected to at once, before their turn."""

LOGINS = 8
"""So many log in to nodes at once: sshd drops logins at random when ten begin (MaxStartups)."""

BY_HAND: dict[How, str] = {
    "pct": "on {via.node.name}: pct exec {via.vmid} --",
    "qm": "on {via.node.name}: qm guest exec {via.vmid} --",
}


@dataclass(frozen=True)
class Reach:
    """The way to any host of a fleet. `dial` makes the bare transport: SSH, or a test's double.

    `ahead` holds the lines to hosts that were called before they were needed. `spare`: a host
    whose disk takes no runner has it in memory, for what only looks.
    """

    pack: Pack
    dial: Dial
    become_password: Secret | None = None
    ssh_config: Path | None = None
    spare: bool = False
    ahead: "dict[str, _Line]" = field(default_factory=dict, compare=False)
    logins: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(LOGINS), compare=False, repr=False
    )

    def open(self, host: Host, tell: "Sink", *, again: bool = False) -> "Session":
        """Connect and hear the runner's hello; UnreachableError where that cannot be had."""
        from headway.control.reaching.conversation import converse  # loaded while hosts log in
        from headway.control.telling.story import Connecting, Sending

        within = host.via if host.via is not None and host.via.how != "ssh" else None
        tell(Connecting(host.name, str(within or host.address), again))
        line = self.ahead.pop(host.name, None)
        transport = line.transport() if line is not None else self.line(host)
        try:
            return converse(
                transport,
                host.name,
                self.pack,
                python=_python(host),
                progress=lambda what, done, total: tell(Sending(host.name, what, done, total)),
                by_hand=BY_HAND[within.how].format(via=within) if within else "",
                spare=self.spare,
            )
        except BaseException:
            transport.close()
            raise

    def call_ahead(self, hosts: Sequence[Host], *, cards: bool = False) -> None:
        """Log in to these hosts now, and ask for the runner's hello; `open` finds it said.

        Nothing is changed there: it is what a host can do while we load and render.
        """
        self.ahead.update({host.name: _Line(self, host, cards=cards) for host in hosts[:AHEAD]})

    def line(self, host: Host) -> Transport:
        """Connect to a host, as root; to a guest the way its inventory says.

        A guest that does not answer SSH may be stopped: its node is asked before we give up.
        """
        via = host.via
        if via is not None and via.how != "ssh":
            node = self._node(host.name, via)
            from headway.control.reaching.pct import Pct  # guests alone need either
            from headway.control.reaching.qm import Qm

            return Pct(node, host.name, via) if via.how == "pct" else Qm(node, host.name, via)
        try:
            return self._root(host)
        except UnreachableError as error:
            raise (self._why(host) or error) from None

    def _node(self, guest: str, via: Via) -> Transport:
        try:
            with self.logins:
                return self._root(via.node)
        except UnreachableError as error:
            raise UnreachableError(f"{guest}: by way of {error}", hint=error.hint) from None

    def _why(self, host: Host) -> UnreachableError | None:
        if host.via is None:
            return None
        try:
            node = self._node(host.name, host.via)
        except UnreachableError:
            return None
        try:
            from headway.control.reaching.guest import explained

            return explained(host.name, host.via, node)
        finally:
            node.close()

    def _root(self, host: Host) -> Transport:
        transport = self.dial(host)
        if not host.become:
            return transport
        if host.become_user != "root":
            transport.close()
            raise UnreachableError(
                f"{host.name}: ansible_become_user is {host.become_user}, and headway needs root"
            )
        user = f"{host.user}@{host.name}" if host.user else host.name
        return Sudo(transport, user, self.become_password or host.become_password)


class _Line:
    """A host that is being called in a thread."""

    def __init__(self, reach: Reach, host: Host, *, cards: bool) -> None:
        self._reach = reach
        self._host = host
        self._cards = cards
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
            transport = self._reach.line(self._host)
            what = self._reach.pack.sha256, _python(self._host)
            spare = self._reach.spare
            stream = transport.converse(serve_argv(*what, cards=self._cards, spare=spare))
            self._made = _Begun(transport, serve_argv(*what, spare=spare), stream)
        except Exception as error:  # noqa: BLE001 # raised again where the verb waits for it
            self._failed = error


class _Begun:
    """A Transport on which one program runs already: whoever starts it finds it under way."""

    def __init__(self, inner: Transport, argv: Sequence[str], stream: Stream) -> None:
        self._inner = inner
        self._argv = list(argv)
        self._stream: Stream | None = stream

    def converse(self, argv: Sequence[str]) -> Stream:
        """Give the program that runs, or start another one."""
        stream, self._stream = self._stream, None
        if stream is None or list(argv) != self._argv:
            return self._inner.converse(argv)
        return stream

    def close(self) -> None:
        """Leave the host."""
        self._inner.close()


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
