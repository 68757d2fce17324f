"""The words a verb is called with: its options, what they mean, and who reads them first.

A verb is a plain function of a Desk and its own options. `acts`, `looks` and `reads` make an
Invoke task of it: they add the options all verbs of that kind share, take every help text from
HELP, and see to it that the verb ends with one line and the right exit code.
"""

import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

from invoke.context import Context
from invoke.exceptions import Exit as InvokeExit
from invoke.parser.argument import Argument
from invoke.parser.context import ParserContext
from invoke.tasks import Task, task

from headway.control.desk import Desk
from headway.control.ending import ended
from headway.control.errors import UsageError
from headway.wire.phase import Exit

Body = Callable[..., Exit]

HELP: Mapping[str, str] = {
    "host": "hosts, groups or patterns as in Ansible, 'engines:!gpu3'; repeatable",
    "inventory": "the inventory (default: $HEADWAY_INVENTORY, else inventory/ of the fleet)",
    "json": "one JSON value a line on stdout (docs/events.md) instead of text",
    "ssh_config": "an SSH configuration to use instead of ~/.ssh/config",
    "ask_become_pass": "ask once for the sudo password of the hosts",
    "reason": "why, in a few words; the hosts record it",
    "again": "try a release once more that was rejected on a host",
    "no_way_back": "allow overwriting what headway cannot bring back (plan names it)",
    "maintenance": "allow packages that need a maintenance window: kernel, nvidia, docker",
    "on_invalid": "when nothing could be judged: hold (wait for a person) or return",
    "lint": "refuse what lint finds faulty before a host is touched (--no-lint: go on)",
    "budget": "how many hosts may end otherwise than accepted before the rollout stops",
    "floor": "how many other instances of the group must be accepted and healthy (default: all)",
    "wait": "seconds to wait for another transition on a host (default: not at all)",
    "confirm": "ask before a proved release is kept, over a new connection",
    "confirm_within": "seconds until silence counts as no confirmation (default: 900)",
    "evict_within": "seconds until cards that do not come back count as stuck (default: 180)",
    "kill": "PID:STARTTIME of a process that is not ours, as `evict` names it; repeatable",
    "to": "the id of the accepted release to go back to (default: the newest one not running)",
    "current_secrets": "keep the secret files of the running release, not the recorded ones",
    "unit": "a unit to adopt (default: those the roles of the host use); repeatable",
    "part": "only this part of the host (default: all of them); repeatable",
    "gate": "only these gates, by name or kind; repeatable, or with commas",
    "delete": "delete what is shown",
    "weights_sha256": "only hash every byte of the weights, against their pins (reads all of it)",
    "repin": "look up again what is pinned, and say what moved",
    "on_host": "images that no registry has, by reference or pattern ('acme/*'); repeatable",
    "set": "a variable and its values: draft_depth=0..6, options.max_num_seqs=16,32,64",
    "last": "how many of the newest (default: what fits a person; 0 is all)",
    "release": "a release's id, or how it begins; a host's name is the release it stands on",
    "before": "a release's id, or how it begins, or a host's name",
    "after": "a release's id, or how it begins, or a host's name",
    "watch": "look again every 5 seconds, until Ctrl-C",
    "within": "seconds after which a host that says nothing is shown as unreachable (default: 15)",
    "rollout": "a rollout's id, or how it begins, as `invoke history` shows it",
    "out": "the folder to write to",
    "hide_names": "put host-1, person-1 and address-1 for names and addresses",
    "shell": "bash or zsh",
    "line": "what stands before the cursor: print the words that may end it, not the script",
    "launch": "current, previous, or how an InvocationID begins",
    "grep": "a regular expression that lines have to match",
    "metric": "a gate, a kind of gate, or a measurement: decode, ttft, tokens_s",
}
"""Every option's help, once."""

_INVENTORY = {"inventory": "", "json": False}
_HOSTS = {"host": ()}
_SSH = {"ssh_config": "", "ask_become_pass": False}


def acts(body: Body) -> Task[Any]:
    """Make a task of a verb that acts on hosts: no hosts named is refused."""
    return _task(body, {**_HOSTS, **_INVENTORY, **_SSH}, named=True)


def looks(body: Body) -> Task[Any]:
    """Make a task of a verb that asks hosts and changes nothing: no hosts named means all."""
    return _task(body, {**_HOSTS, **_INVENTORY, **_SSH}, named=False)


def reads(body: Body) -> Task[Any]:
    """Make a task of a verb that reads the fleet's files only: no hosts named means all."""
    return _task(body, {**_HOSTS, **_INVENTORY}, named=False)


def whole(option: str, value: str) -> int:
    """Read a whole number of zero or more; "" is zero."""
    if not value:
        return 0
    if not value.isascii() or not value.isdecimal():
        raise _misfit(option, value, "a whole number")
    return int(value)


def several(given: tuple[str, ...]) -> tuple[str, ...]:
    """Take apart what was given with commas: `--gate needle,decode` is two."""
    return tuple(word for words in given for word in words.split(",") if word)


def within(**limits: str) -> dict[str, int]:
    """Read deadlines by the step they are of; those that were not given are left out."""
    return {step: whole(f"{step}_within", value) for step, value in limits.items() if value}


def processes(desk: Desk, values: tuple[str, ...]) -> tuple[str, ...]:
    """Read what --kill names, PID:STARTTIME, each a process of the one host that is named.

    A pid alone may be somebody else by then; and machines that boot alike number alike.
    """
    for value in values:
        pid, _, started = value.partition(":")
        if not (pid.isdecimal() and started.isdecimal() and value.isascii()):
            raise _misfit("kill", value, "PID:STARTTIME, as `invoke evict` names it")
    if values and len(desk.hosts) > 1:
        raise UsageError(f"--kill: names a process of one host, and here are {len(desk.hosts)}")
    return values


def one_of(option: str, value: str, choices: tuple[str, ...]) -> str:
    """Read one of a few words."""
    if value not in choices:
        raise _misfit(option, value, "one of " + ", ".join(choices))
    return value


def _misfit(option: str, value: str, wanted: str) -> UsageError:
    return UsageError(f"--{option.replace('_', '-')}: '{value}' is not {wanted}")


def _task(body: Body, shared: Mapping[str, Any], *, named: bool) -> Task[Any]:
    own = list(inspect.signature(body).parameters.values())[1:]
    defaults = {**{option.name: option.default for option in own}, **shared}

    def verb(_context: Context, **given: Any) -> None:  # noqa: ANN401 # Invoke's own values
        words = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        common: dict[str, Any] = {name: words.pop(name) for name in shared}
        desk = Desk(verb=body.__name__, named=named, **common)
        ended(desk, lambda: body(desk, **words))

    verb.__name__ = body.__name__
    verb.__doc__ = body.__doc__
    verb.__module__ = body.__module__
    verb.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            # Invoke makes a list of an iterable's default None, but breaks on a tuple; what has
            # no default, it takes by its place.
            Parameter(name, Parameter.KEYWORD_ONLY, default=None if value == () else value)
            for name, value in defaults.items()
        ]
    )
    lists = [name for name, value in defaults.items() if value == ()]
    help_ = {name: HELP[name] for name in defaults}
    made: Task[Any] = task(klass=Verb, iterable=lists, auto_shortflags=False, help=help_)(verb)
    return made


class Verb(Task[Any]):
    """A task that answers `--help` where it wants a word by its place, too."""

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:  # noqa: FBT001
        """Give its options; what goes by its place is a Place."""
        found: list[Argument] = super().get_arguments(ignore_unknown_help)
        return [Place(self, one, found) if one.positional else one for one in found]


class Place(Argument):
    """A word that goes by its place: Invoke would take `--help` for it."""

    def __init__(self, verb: Verb, plain: Argument, beside: Sequence[Argument]) -> None:
        super().__init__(names=plain.names, help=plain.help, positional=True)
        self._verb = verb
        self._beside = beside

    def set_value(self, value: Any, cast: bool = True) -> None:  # noqa: ANN401, FBT001, FBT002
        """Take the word; asked for help, print it as Invoke does and leave."""
        if value not in ("--help", "-h"):
            super().set_value(value, cast)
            return
        words = " ".join(one.name or "" for one in self._beside if one.positional).upper()
        promise = textwrap.indent(inspect.getdoc(self._verb.body) or "", "  ")
        sys.stdout.write(f"Usage: invoke {self._verb.name} {words} [--options]\n\n")
        sys.stdout.write(f"Docstring:\n{promise}\n\nOptions:\n")
        for flag, text in ParserContext(args=self._beside).help_tuples():
            sys.stdout.write(f"  {flag:<24}{text}\n")
        raise InvokeExit(code=0)
