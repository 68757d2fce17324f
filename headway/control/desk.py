"""What a verb has before it: its fleet, the hosts that were named, and where its story goes."""

import json
import os
import pwd
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headway.control.errors import HeadwayError, UsageError
from headway.wire.loader import Json
from headway.wire.phase import Exit, worst

if TYPE_CHECKING:
    from headway.control.fleet import Fleet
    from headway.control.inventory.inventory import Inventory
    from headway.control.inventory.model import Host
    from headway.control.reaching.reach import Reach
    from headway.control.rolling.rollout import Options
    from headway.control.secrets import Secret
    from headway.control.telling.story import Sink, Told
    from headway.wire.talk import Look, Looked


IN_MEMORY = ("diagnose",)
"""Verbs for which a host whose disk takes no runner has it in memory: they only look."""


class Desk:
    """One verb's workplace. Everything is made when it is first asked for: --help costs nothing."""

    def __init__(  # noqa: PLR0913 # the words all verbs share
        self,
        *,
        verb: str,
        named: bool = False,
        host: Sequence[str] = (),
        inventory: str = "",
        json: bool = False,
        ssh_config: str = "",
        ask_become_pass: bool = False,
    ) -> None:
        """Keep the words; `named` refuses a verb without --host."""
        self.verb = verb
        self.named = named
        self.patterns = host
        self.inventory_name = inventory
        self.json = json
        self.ssh_config = ssh_config
        self.ask_become_pass = ask_become_pass
        self.began = False
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Refuse a verb that changes hosts and names none; open nothing yet."""
        if self.named and not self.patterns:
            raise UsageError(
                f"{self.verb}: no host is named",
                hint=f"say which: invoke {self.verb} --host NAME, a group, or all",
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the sinks: the screen is whole again, the history is written."""
        self._open.__exit__(kind, error, trace)

    @cached_property
    def fleet(self) -> "Fleet":
        """The fleet of the current folder, with the inventory that was chosen."""
        from headway.control.fleet import find

        return find(Path.cwd(), self.inventory_name)

    @cached_property
    def inventory(self) -> "Inventory":
        """The fleet's inventory, read once."""
        from headway.control.inventory.inventory import load

        return load(self.fleet)

    @cached_property
    def hosts(self) -> "tuple[Host, ...]":
        """The hosts that were named, in the inventory's order; all where none had to be."""
        return self.inventory.select(self.patterns or ("all",))

    @cached_property
    def become_password(self) -> "Secret | None":
        """The sudo password, asked for at the terminal once where the operator wants that."""
        if not self.ask_become_pass:
            return None
        from getpass import getpass

        typed = getpass("sudo password of the hosts: ")
        return self.fleet.secrets.known(typed, "--ask-become-pass")

    @cached_property
    def reach(self) -> "Reach":
        """The way to the hosts, with the runner that goes there."""
        from headway.control.reaching import ssh_config
        from headway.control.reaching.pack import pack
        from headway.control.reaching.reach import over_ssh

        chosen = Path(self.ssh_config).expanduser() if self.ssh_config else None
        if chosen is not None:
            ssh_config.text(chosen)  # a misfit is said once, not by every host
        reach = over_ssh(pack(self.fleet), chosen, self.become_password)
        return replace(reach, spare=self.verb in IN_MEMORY)

    def call_ahead(self, *, cards: bool = False) -> None:
        """Begin to call the hosts, while the rest of the verb is loaded and rendered.

        With `cards` they begin to ask their drivers, too.
        """
        self.reach.call_ahead(self.hosts, cards=cards)

    def options(self, reason: str = "", **allowed: Any) -> "Options":  # noqa: ANN401
        """Give what most verbs need besides their hosts; `allowed` are fields of Orders."""
        from headway.control.rolling.rollout import Options
        from headway.wire.record import Orders

        return Options(self.fleet, Orders(by(), reason, **allowed), self.reach)

    def looked(
        self,
        order: "Look | Callable[[Host], Look] | None" = None,
        beside: "tuple[Host, ...]" = (),
    ) -> "dict[str, Looked | HeadwayError]":
        """Ask the hosts at once what they record and what is so; an error is an answer, too.

        `beside` are hosts that were not named and are asked with them.
        """
        from headway.control.reaching.looks import look
        from headway.wire.talk import Look

        return look((*self.hosts, *beside), self.reach, order or Look())

    def missed(self, answers: "Mapping[str, Looked | HeadwayError]") -> Exit:
        """Say on stderr which hosts gave no answer, and give the exit code for that."""
        errors = [answer for answer in answers.values() if isinstance(answer, HeadwayError)]
        for error in errors:
            self.complain(error)
        return worst(error.exit_code for error in errors)

    def complain(self, error: HeadwayError) -> None:
        """Say on stderr what went wrong, and below it what to do next."""
        sys.stderr.write(f"headway: {self.redacted(str(error))}\n")
        if error.hint:
            sys.stderr.write(f"         {self.redacted(error.hint)}\n")

    @cached_property
    def tell(self) -> "Sink":
        """The sinks of this verb as one: the screen or NDJSON, and the history."""
        from headway.control.telling import history
        from headway.control.telling.console import screen
        from headway.control.telling.ndjson import ndjson
        from headway.control.telling.redaction import redacting
        from headway.control.telling.settings import outlets
        from headway.control.telling.sinks import opened, together
        from headway.control.telling.story import HostSaid, Note

        wanted = outlets(self.fleet)
        front: Sink = (
            ndjson(sys.stdout) if self.json else self._open.enter_context(screen(sys.stderr))
        )
        record = self._open.enter_context(
            history.recording(history.path_of(self.fleet), lambda why: front(Note("", why)))
        )
        others = opened(wanted, self._open, lambda why: front(Note("", why)))
        sink = redacting(together((front, record, *others)), self.fleet.secrets.redactor)

        def tell(told: "Told") -> None:
            self.began = self.began or isinstance(told, HostSaid)
            sink(told)

        return tell

    def redacted(self, text: str) -> str:
        """Blot out the secrets that were revealed so far."""
        fleet: Fleet | None = self.__dict__.get("fleet")
        return fleet.secrets.redactor.text(text) if fleet else text

    @property
    def width(self) -> int:
        """The columns of the terminal that stdout is, 0 where it is a pipe or a file."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0

    def print(self, text: str) -> None:
        """Write what was asked for to stdout."""
        sys.stdout.write(self.redacted(text).rstrip("\n") + "\n")

    @property
    def colour(self) -> bool:
        """Say whether stdout is a terminal that is to be coloured."""
        return bool(self.width) and not os.environ.get("NO_COLOR")

    def rows(self, rows: Iterable[Any]) -> None:
        """Write one JSON value a line, each under its kind."""
        from headway.control.telling.redaction import redacted
        from headway.wire.loader import dump, kind_of

        for value in rows:
            clean = redacted(value, self.fleet.secrets.redactor)
            self.row(kind_of(type(value)), dump(clean))

    def row(self, kind: str, value: Json) -> None:
        """Write one JSON value under its kind on a line of its own."""
        self.print(json.dumps({kind: value}, ensure_ascii=False, separators=(",", ":")))


def by() -> str:
    """Who runs this verb, as the hosts record it: user@machine."""
    user = os.environ.get("SUDO_USER") or os.environ.get("USER")
    if not user:
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
