"""Skew: hosts of one role and class that run something otherwise than most of them, and since when.

Compared is what stands accepted, field by field, whatever kind of resource it is. What is another
value on every host (an address, a port) is no skew.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headway.control.oncall.facets import facets
from headway.control.plan.changes import by_option
from headway.control.plan.masking import masked
from headway.control.telling.amounts import ago
from headway.wire.release import Part
from headway.wire.resources import is_container
from headway.wire.talk import Looked

ABSENT = "-"
SHOWN = 20
_FEW = 3  # so many members, and each with a value of its own: that is meant


@dataclass(frozen=True)
class Other:
    """A host that runs another value, since its release was accepted."""

    host: str
    value: str
    since_ms: int


@dataclass(frozen=True)
class Skew:
    """A field that most members of a role and class have alike, and those that do not."""

    role: str
    machine: str
    what: str
    most: str
    hosts: int
    others: tuple[Other, ...]


@dataclass(frozen=True)
class _Member:
    host: str
    since_ms: int
    part: Part
    values: Mapping[tuple[str, str], str]


def skews(looked: Mapping[str, Looked], machines: Mapping[str, str]) -> Iterator[Skew]:
    """Compare the accepted releases of hosts; `machines` are their classes."""
    for (role, machine), members in sorted(_groups(looked, machines).items()):
        fields = dict.fromkeys(field for member in members for field in member.values)
        for field in fields:
            yield from _skew(role, machine, field, members)


def text(found: Sequence[Skew], now_ms: int) -> list[str]:
    """Write a line a field, most first, then who differs and since when."""
    rows = []
    for one in found[:SHOWN]:
        others = ", ".join(
            f"{other.host} {other.value} since {ago(now_ms - other.since_ms)}"
            for other in one.others
        )
        of = f"{one.role} ({one.machine})" if one.machine else one.role
        rows.append(f"skew  {of}: {one.what}: {one.most} on {one.hosts}; {others}")
    more = len(found) - SHOWN
    return [*rows, f"skew  ... and {more} more"] if more > 0 else rows


def _groups(
    looked: Mapping[str, Looked], machines: Mapping[str, str]
) -> dict[tuple[str, str], list[_Member]]:
    groups: dict[tuple[str, str], list[_Member]] = {}
    for host, answer in looked.items():
        since_ms = answer.state.accepted[0].at_ms if answer.state.accepted else 0
        for part in answer.accepted.parts:
            member = _Member(host, since_ms, part, _values(part))
            groups.setdefault((_kind(part), machines.get(host, "")), []).append(member)
    return {key: members for key, members in groups.items() if len(members) > 1}


def _kind(part: Part) -> str:
    """Name what a part is compared with: its role, and its service where it is one of a project."""
    name = part.subject.unit if part.subject else ""
    return f"{part.role} {name.rpartition('/')[2]}" if is_container(name) else part.role


def _values(part: Part) -> dict[tuple[str, str], str]:
    found = {
        ("option", name): masked(f"{name} {value}").removeprefix(f"{name} ")
        for name, value in by_option(part).items()
    }
    for resource in part.resources:
        one = facets(part, resource)
        thing = f"{one.kind} {one.name}"
        found |= {(thing, field): value for field, value in one.fields.items()}
    return found


def _skew(
    role: str, machine: str, field: tuple[str, str], members: Sequence[_Member]
) -> Iterator[Skew]:
    counted = Counter(member.values.get(field, ABSENT) for member in members)
    if len(counted) == 1 or (len(counted) == len(members) >= _FEW):
        return
    most, count = counted.most_common(1)[0]
    usual = next(one.part.argv for one in members if one.values.get(field, ABSENT) == most)
    thing, place = field
    others = tuple(
        Other(member.host, member.values.get(field, ABSENT), member.since_ms)
        for member in members
        if member.values.get(field, ABSENT) != most
        # a unit that says other options is another file: the options tell it already
        and (thing == "option" or member.part.argv == usual)
    )
    if others:
        what = place if thing == "option" else f"{thing}: {place}"
        yield Skew(role, machine, what, most, count, others)
