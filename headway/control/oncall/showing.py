"""`show` and `diff`: what a release holds, and in what two of them differ."""

import difflib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.oncall.facets import Facets, of_release
from headway.control.oncall.finding import Found, find
from headway.control.plan.changes import LONGEST_DIFF, options
from headway.control.plan.masking import masked
from headway.control.telling import history
from headway.control.telling.amounts import ago, measured
from headway.control.telling.table import table
from headway.wire.phase import Exit
from headway.wire.release import Part

_WIDE = 2000  # columns that an option's table may take: values are never wrapped


@dataclass(frozen=True)
class Number:
    """A measurement of a release: the newest of its name. `at_ms` is when."""

    host: str
    part: str
    gate: str
    name: str
    value: int
    unit: str
    at_ms: int


@dataclass(frozen=True)
class OptionValue:
    """An option of a part's command line, in the order it is given."""

    part: str
    words: str


@dataclass(frozen=True)
class ShownRelease:
    """What a release holds. `accepted` are its acceptances on that host, in words."""

    release: str
    origin: str
    host: str
    accepted: tuple[str, ...]
    unheld: tuple[str, ...]
    parts: tuple[str, ...]
    options: tuple[OptionValue, ...]
    resources: tuple[Facets, ...]
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class OptionDiffers:
    """An option that differs; "" is not given."""

    part: str
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class ResourceDiffers:
    """A resource that only one has, or that differs: its fields, and its text as a diff."""

    part: str
    kind: str
    name: str
    what: str
    fields: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


@dataclass(frozen=True)
class NumberDiffers:
    """A measurement of both; `percent` is how far it moved."""

    part: str
    gate: str
    name: str
    before: str
    after: str
    percent: int


@dataclass(frozen=True)
class ReleaseDiff:
    """In what release `after` differs from `before`."""

    before: str
    after: str
    options: tuple[OptionDiffers, ...]
    resources: tuple[ResourceDiffers, ...]
    numbers: tuple[NumberDiffers, ...]


def show(desk: Desk, wanted: str) -> Exit:
    """Show one release."""
    found = find(desk, wanted)
    shown = shown_release(found, _numbers(desk, found.release.id), int(time.time() * 1000))
    if desk.json:
        desk.rows((shown,))
    else:
        desk.print(release_text(shown, desk.width))
    return Exit.ACCEPTED


def diff(desk: Desk, before: str, after: str) -> Exit:
    """Show in what two releases differ; 10 where they do."""
    left, right = find(desk, before), find(desk, after)
    both = (_numbers(desk, one.release.id) for one in (left, right))
    found = release_diff(left, right, *both)
    if desk.json:
        desk.rows((found,))
    else:
        desk.print(diff_text(found, desk.width))
    differs = found.options or found.resources
    return Exit.CHANGES if differs else Exit.ACCEPTED


def shown_release(found: Found, numbers: Sequence[Number], now_ms: int) -> ShownRelease:
    """Put together what a person asks of a release."""
    release = found.release
    accepted = tuple(
        f"{ago(now_ms - one.at_ms)} ago by {one.by}"
        f"{', criteria ' + one.criteria if one.criteria else ''}"
        f"{', withdrawn since' if one.withdrawn else ''}"
        for one in found.state.accepted
        if one.release == release.id
    )
    return ShownRelease(
        release.id,
        release.origin.value,
        found.host,
        accepted,
        release.unheld,
        tuple(_part(part) for part in release.parts),
        tuple(
            OptionValue(part.name, masked(" ".join(row)))
            for part in release.parts
            for row in part.argv
        ),
        of_release(release),
        tuple(numbers),
    )


def release_text(shown: ShownRelease, width: int = 0) -> str:
    """Write a release as lines: what it is, then its parts, resources and measurements."""
    how = "; ".join(shown.accepted) or "not accepted there"
    head = [f"{shown.release}  {shown.origin}, in the record of {shown.host}: {how}"]
    head += [f"  not held: {one}" for one in shown.unheld]
    head += [f"  part {one}" for one in shown.parts]
    rows = [("", one.part, one.words) for one in shown.options]
    blocks = ["\n".join(head)]
    if rows:
        blocks.append(table(("", "PART", "OPTION"), rows))
    things = [(one.part, one.kind, one.name, _fields(one)) for one in shown.resources]
    if things:
        blocks.append(table(("PART", "KIND", "NAME", "WITH"), things, width))
    numbers = [
        (one.host, one.part, one.gate, one.name, measured(one.value, one.unit))
        for one in shown.numbers
    ]
    if numbers:
        blocks.append(table(("HOST", "PART", "GATE", "MEASURED", "VALUE"), numbers, width))
    return "\n\n".join(blocks)


def release_diff(
    left: Found, right: Found, before: Sequence[Number] = (), after: Sequence[Number] = ()
) -> ReleaseDiff:
    """Compare two releases: options, resources of every kind with their texts, measurements."""
    changed = options(right.release, left.release)
    return ReleaseDiff(
        left.release.id,
        right.release.id,
        tuple(OptionDiffers(one.part, one.name, one.before, one.after) for one in changed),
        tuple(_resources(left, right)),
        tuple(_moved(before, after)),
    )


def diff_text(found: ReleaseDiff, width: int = 0) -> str:
    """Write the difference as lines; text of files as a unified diff."""
    head = f"{found.before} -> {found.after}"
    if not (found.options or found.resources):
        head += ": the same release" if found.before == found.after else ": nothing differs"
    blocks = [head]
    rows = [(one.part, one.name, one.before or "-", one.after or "-") for one in found.options]
    if rows:
        blocks.append(table(("PART", "OPTION", found.before, found.after), rows, _WIDE))
    for one in found.resources:
        lines = [f"{one.part}: {one.kind} {one.name}: {one.what}"]
        blocks.append("\n".join([*lines, *(f"  {row}" for row in (*one.fields, *one.diff))]))
    numbers = [
        (one.part, one.gate, one.name, one.before, one.after, f"{one.percent:+d} %")
        for one in found.numbers
    ]
    if numbers:
        header = ("PART", "GATE", "MEASURED", found.before, found.after, "MOVED")
        blocks.append(table(header, numbers, width))
    return "\n\n".join(blocks)


def newest(samples: Sequence[history.Sample], release: str) -> Iterator[Number]:
    """Pick the newest measurement of each name that was taken of a release."""
    found: dict[tuple[str, str, str, str], Number] = {}
    for one in samples:
        if one.release == release:
            seen = one.measurement
            key = (one.host, one.part, one.gate, seen.name)
            found[key] = Number(*key, seen.value, seen.unit, one.at_ms)
    yield from (found[key] for key in sorted(found))


def _numbers(desk: Desk, release: str) -> tuple[Number, ...]:
    try:
        return tuple(newest(history.samples(history.path_of(desk.fleet)), release))
    except OSError:
        return ()  # a release is shown without the history, too


def _part(part: Part) -> str:
    words = [part.name, f"of role {part.role}"]
    words += [f"port {port}" for port in part.listens]
    return ", ".join(words)


def _fields(one: Facets) -> str:
    return masked(", ".join(f"{name} {value}" for name, value in one.fields.items()))


def _resources(left: Found, right: Found) -> Iterator[ResourceDiffers]:
    before = {one.key: one for one in of_release(left.release)}
    after = {one.key: one for one in of_release(right.release)}
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is None or new is None:
            yield ResourceDiffers(*key, "added" if old is None else "removed")
            continue
        places = dict.fromkeys([*old.fields, *new.fields])
        fields = tuple(
            masked(f"{place}: {old.fields.get(place, '-')} -> {new.fields.get(place, '-')}")
            for place in places
            if old.fields.get(place) != new.fields.get(place)
        )
        texts = {**left.texts, **right.texts}
        yield ResourceDiffers(*key, "differs", fields, tuple(_texts(old, new, texts)))


def _texts(old: Facets, new: Facets, texts: Mapping[str, str]) -> Iterator[str]:
    for place in dict.fromkeys([*old.blobs, *new.blobs]):
        before, after = old.blobs.get(place, ""), new.blobs.get(place, "")
        if before == after:
            continue
        if any(one and one not in texts for one in (before, after)):
            yield f"{place}: content is secret or no text, and not shown"
            continue
        sides = (texts.get(before, "").splitlines(), texts.get(after, "").splitlines())
        lines = list(difflib.unified_diff(*sides, place, place, lineterm="", n=2))
        yield from (masked(line) for line in lines[:LONGEST_DIFF])
        if len(lines) > LONGEST_DIFF:
            yield f"... and {len(lines) - LONGEST_DIFF} more lines"


def _moved(before: Sequence[Number], after: Sequence[Number]) -> Iterator[NumberDiffers]:
    """Compare the newest number of each name, whichever host it was measured on."""
    old = {(one.part, one.gate, one.name): one for one in sorted(before, key=lambda one: one.at_ms)}
    new = {(one.part, one.gate, one.name): one for one in sorted(after, key=lambda one: one.at_ms)}
    for key in sorted(old.keys() & new.keys()):
        was, now = old[key], new[key]
        percent = round(100 * (now.value - was.value) / was.value) if was.value else 0
        shown = [measured(one.value, one.unit) for one in (was, now)]
        yield NumberDiffers(*key, shown[0], shown[1], percent)
