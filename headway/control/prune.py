"""`prune`: what hosts hold that no kept release needs; told first, deleted on demand."""

from collections.abc import Iterator
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.control.reaching.looks import ask
from headway.control.telling.amounts import size
from headway.control.telling.table import table
from headway.wire.phase import Exit, worst
from headway.wire.talk import Prune, Pruned, Unneeded


@dataclass(frozen=True)
class HostPruned:
    """What one host could let go of, or did."""

    host: str
    unneeded: tuple[Unneeded, ...]
    deleted: bool


def prune(desk: Desk, *, delete: bool) -> Exit:
    """Ask all hosts at once, and show what there is; delete it where that is meant."""
    order = Prune(desk.options().orders, delete)
    answers = ask(desk.hosts, desk.reach, lambda _: order, Pruned)
    found = tuple(
        HostPruned(host, said.unneeded, delete)
        for host, said in answers.items()
        if isinstance(said, Pruned)
    )
    if desk.json:
        desk.rows(found)
    elif found:
        desk.print(text(found, desk.width))
    errors = [said for said in answers.values() if isinstance(said, HeadwayError)]
    for error in errors:
        desk.complain(error)
    failed = any(one.trouble for host in found for one in host.unneeded)
    return worst([*([Exit.UNKNOWN] if failed else []), *(error.exit_code for error in errors)])


def text(found: tuple[HostPruned, ...], width: int = 0) -> str:
    """Draw it: a row each, and the bytes that are free now or would be."""
    rows = list(_rows(found))
    if not rows:
        return "nothing is there that no kept release needs"
    freed = sum(one.size for host in found for one in host.unneeded if not one.trouble)
    done = any(host.deleted for host in found)
    total = f"{size(freed)} are free now" if done else f"{size(freed)}; --delete deletes it"
    return table(("HOST", "KIND", "NAME", "SIZE", ""), rows, width) + "\n" + total


def _rows(found: tuple[HostPruned, ...]) -> Iterator[tuple[str, ...]]:
    for host in found:
        for one in host.unneeded:
            became = one.trouble or ("deleted" if host.deleted else "")
            yield host.host, one.kind, one.name, size(one.size), became
