"""What of a host would change: its files as a unified diff, its engine options as a table."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from headway.control.plan.host_plan import Changed, ImageChange, Option
from headway.control.plan.masking import masked
from headway.control.rendering.render import Rendered
from headway.control.rendering.unit_maker import rows_of
from headway.wire.loader import kind_of
from headway.wire.release import Part, Release
from headway.wire.resources import (
    ADDITIVE,
    Blob,
    File,
    Pin,
    Resource,
    Service,
    Unit,
    dropin_path,
    name_of,
    unit_path,
)
from headway.wire.talk import Difference

LONGEST_DIFF = 400
"""Lines; what is longer is no configuration that anybody reads before a rollout."""


def changed(rendered: Rendered, accepted: Release, seen: Iterable[Difference]) -> Iterator[Changed]:
    """Tell what differs on the host from the new release, and what the old one had beyond it.

    Another release writes the parts that it changes; drift of the others is told, and stays.
    """
    new = rendered.release
    left = {part.name for part in new.parts if new.id != accepted.id and part in accepted.parts}
    wanted = {
        (part.name, *_named(one)): one for part in rendered.release.parts for one in part.resources
    }
    for key, several in groupby(seen, key=lambda one: (one.part, one.kind, one.name)):
        found = list(several)
        sentence = "; ".join(one.sentence for one in found)
        if key[0] in left:
            sentence = f"drift, which this rollout leaves as it is: {sentence}"
        diff = _diff(rendered, wanted.get(key), found[0].text)
        yield Changed(*key, sentence, diff)
    yield from _gone(rendered.release, accepted)


def options(new: Release, old: Release) -> Iterator[Option]:
    """Compare command lines part by part, option by option."""
    names = dict.fromkeys(part.name for release in (old, new) for part in release.parts)
    for name in names:
        before, after = by_option(old.part(name)), by_option(new.part(name))
        if before == after or not (before and after):
            continue
        for option in dict.fromkeys([*before, *after]):
            left, right = before.get(option, ""), after.get(option, "")
            if left != right:
                yield Option(name, option, _shown(option, left), _shown(option, right))


def images(new: Release, old: Release) -> Iterator[ImageChange]:
    """Tell the image of every service of a project: its tag, and its content now and then."""
    before, after = _pins(old), _pins(new)
    for part in dict.fromkeys([*before, *after]):
        left, right = before.get(part), after.get(part)
        ref = (right or left or Pin("")).ref
        yield ImageChange(part, ref, _content(left), _content(right))


def _pins(release: Release) -> dict[str, Pin]:
    return {
        part.name: one.pin
        for part in release.parts
        for one in part.resources
        if isinstance(one, Service)
    }


def _content(pin: Pin | None) -> str:
    return "" if pin is None else pin.digest or pin.image_id


def text_of(resource: Resource, blobs: Mapping[str, bytes]) -> str | None:
    """Give a resource as the text the host compares; None where it is secret, or no text."""
    if isinstance(resource, File):
        return _text(resource.blob, blobs)
    if isinstance(resource, Unit):
        places = [(unit_path(resource.name), resource.fragment)]
        places += [(dropin_path(resource.name, one.name), one.blob) for one in resource.dropins]
        texts = [(path, _text(blob, blobs)) for path, blob in places]
        return "\n".join(f"# {path}\n{text}" for path, text in texts)
    return None


def _text(blob: Blob, blobs: Mapping[str, bytes]) -> str | None:
    try:
        return None if blob.secret else blobs[blob.sha256].decode()
    except (UnicodeDecodeError, KeyError):
        return None


def _diff(rendered: Rendered, resource: Resource | None, now: str | None) -> tuple[str, ...]:
    if resource is None:
        return ()
    text = text_of(resource, rendered.blobs)
    if text is None:
        secret = isinstance(resource, File) and resource.blob.secret
        return ("content is secret and not shown",) if secret else ()
    path = unit_path(resource.name) if isinstance(resource, Unit) else _named(resource)[1]
    source = rendered.sources.get(path, path)
    names = (path if now is not None else "/dev/null", source)
    lines = list(difflib.unified_diff(_lines(now or ""), _lines(text), *names, lineterm=""))
    more = len(lines) - LONGEST_DIFF
    shown = [masked(line) for line in lines[:LONGEST_DIFF]]
    return (*shown, f"... and {more} more lines") if more > 0 else tuple(shown)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "  (no line break at the end)"]


def _gone(new: Release, old: Release) -> Iterator[Changed]:
    """Name what the accepted release owns and the new one does not."""
    kept = {_named(one) for part in new.parts for one in part.resources}
    for part in old.parts:
        for one in part.resources:
            if not isinstance(one, ADDITIVE) and _named(one) not in kept:
                kind, name = _named(one)
                sentence = "no longer in the release: goes back to what was there before headway"
                yield Changed(part.name, kind, name, sentence)


def _named(resource: Resource) -> tuple[str, str]:
    """Give a resource's kind and name, as a Difference calls it."""
    return kind_of(type(resource)), name_of(resource)


def by_option(part: Part | None) -> dict[str, str]:
    """Read a part's command line as options and values; what stands before them is `program`."""
    found: dict[str, str] = {}
    words = tuple(word for row in part.argv for word in row) if part else ()
    for row in rows_of(words):
        name, equals, value = row[0].partition("=")
        if not name.startswith("-"):
            found["program"] = " ".join([*found.get("program", "").split(), *row])
            continue
        values = " ".join([value, *row[1:]] if equals else row[1:])
        found[name] = f"{found[name]}, {values}" if name in found else values or "on"
    return found


def _shown(option: str, value: str) -> str:
    return masked(f"{option} {value}").removeprefix(option + " ") if value else ""
