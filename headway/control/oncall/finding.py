"""Where a release lies: in the record of a host that was brought to it."""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError, UsageError
from headway.control.inventory.model import Host
from headway.control.near import near
from headway.control.telling import history
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.talk import Recall, Recalled

STANDING = "accepted"
_ID = re.compile(r"[0-9a-f]{4,12}|empty")


@dataclass(frozen=True)
class Found:
    """A release, the host whose record has it, and the texts of its files by their hash."""

    host: str
    release: Release
    state: State
    texts: Mapping[str, str]


def find(desk: Desk, wanted: str) -> Found:
    """Find a release by the beginning of its id, or the one that a host stands on by its name.

    Asked are the hosts of --host, else those that the history names, else all.
    """
    everybody = desk.inventory.select(("all",))
    named = [host for host in everybody if host.name == wanted]
    if named:
        return _first(desk, named, STANDING)
    if not _ID.fullmatch(wanted):
        names = near(wanted, (host.name for host in everybody))
        raise UsageError(
            f"{wanted!r} is no host and no release; {names}",
            hint="invoke status shows what the hosts run",
        )
    return _first(desk, _likely(desk, wanted, everybody), wanted)


def _likely(desk: Desk, wanted: str, everybody: Sequence[Host]) -> Sequence[Host]:
    if desk.patterns:
        return desk.hosts
    try:
        names = history.hosts_of(history.path_of(desk.fleet), wanted)[:4]
    except OSError:
        names = ()  # the hosts know: the history only says which of them to ask first
    return [host for host in everybody if host.name in names] or everybody


def _first(desk: Desk, hosts: Sequence[Host], wanted: str) -> Found:
    from headway.control.reaching.looks import first, heard

    with ThreadPoolExecutor(min(32, len(hosts))) as pool:
        asked = pool.map(lambda host: heard(host, desk.reach, Recall((wanted,))), hosts)
        answers = [first(words, Recalled) for words in asked]
    for host, answer in zip(hosts, answers, strict=True):
        if isinstance(answer, Recalled) and answer.releases:
            return Found(host.name, answer.releases[0], answer.state, answer.texts)
    errors = [answer for answer in answers if isinstance(answer, HeadwayError)]
    if len(hosts) == 1 and errors:
        raise errors[0]
    raise UsageError(
        f"release {wanted} is in the record of none of {len(hosts)} hosts",
        hint="invoke history shows the releases there were",
    )
