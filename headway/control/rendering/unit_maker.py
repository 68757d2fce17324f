"""Makes units: from sections or a template, with a command line that is written and read back."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.rendering import authoring
from headway.control.rendering.maker import Made, Maker, readable
from headway.control.rendering.options import OptionError, Row, rows
from headway.control.rendering.systemd_text import exec_start, words
from headway.control.rendering.unit_file import Setting, TextError, last, settings, unit_text
from headway.wire import resources as wire

_NAME = re.compile(
    r"[A-Za-z0-9:_.\\@-]+\.(service|socket|timer|target|path|mount|automount|slice|swap)"
)
_EXPANDED = re.compile(r"[$%]")


def unit(maker: Maker, one: authoring.Unit, at: Value) -> Made:
    """Make a unit and note the command line that systemd will start it with."""
    if not _NAME.fullmatch(one.name):
        raise ConfigError(at.at("name"), f"{one.name!r} is no unit's name: NAME.service")
    if bool(one.source) == bool(one.sections):
        raise ConfigError(at.where, "unit: wants exactly one of source and sections")
    argv = _argv(one.exec, at)
    try:
        text, start = _fragment(maker, one, at, argv)
        dropins = tuple((name, _dropin(maker, one, name, at)) for name in sorted(one.dropins))
    except TextError as error:
        raise ConfigError(at.at("exec"), f"unit {one.name}: {error}") from None
    found = settings(text)
    every = (*found, *(setting for _, body in dropins for setting in settings(body)))
    effective = _command(every)
    if argv and effective != start and not any(d for d in dropins):
        hint = "write ExecStart={{ exec_start }} in it"
        raise ConfigError(at.at("source"), f"{one.source} does not start what exec says", hint=hint)
    if argv:
        maker.written.add(one.name)
    maker.argv[one.name] = argv if effective == start and argv else rows_of(effective)
    maker.env_names.extend(_environment(every))
    if one.enabled and not any(setting.section == "Install" for setting in found):
        hint = "add [Install] WantedBy=multi-user.target, or write enabled: false"
        raise ConfigError(
            at.where, f"unit {one.name} has no [Install] and starts at no boot", hint=hint
        )
    return (
        wire.Unit(
            one.name,
            maker.blob(text.encode()),
            one.enabled,
            last(every, "Restart") or "no",
            tuple(wire.DropIn(name, maker.blob(body.encode())) for name, body in dropins),
        ),
    )


def rows_of(argv: tuple[str, ...]) -> tuple[Row, ...]:
    """Tell options apart in a command line: what starts with a dash, and the values behind it."""
    found: list[list[str]] = []
    for word in argv:
        option = re.match(r"--?[A-Za-z]", word) is not None
        if option or not found or not found[-1][0].startswith("-"):
            found.append([word])
        else:
            found[-1].append(word)
    return tuple(tuple(row) for row in found)


def _argv(one: authoring.Exec, at: Value) -> tuple[Row, ...]:
    if not one.program:
        if one.options or one.words:
            raise ConfigError(at.at("exec"), "unit/exec: key 'program' is missing")
        return ()
    try:
        options = rows(one.options, dashes=one.dashes)
    except OptionError as error:
        raise ConfigError(at.at("exec", "options", error.option), str(error)) from None
    return ((one.program,), *(_row(word, at) for word in one.words), *options)


def _row(word: Any, at: Value) -> Row:  # noqa: ANN401 # YAML holds any value
    each = word if isinstance(word, list) else [word]
    for one in each:
        if isinstance(one, bool) or not isinstance(one, (str, int, Decimal)):
            raise ConfigError(at.at("exec", "words"), f"unit/exec/words: {one!r} is no word")
    return tuple(str(one) for one in each)


def _fragment(
    maker: Maker, one: authoring.Unit, at: Value, argv: tuple[Row, ...]
) -> tuple[str, tuple[str, ...]]:
    """Give the unit's text and the words that `exec` wants started."""
    start = tuple(word for row in argv for word in row)
    line = exec_start(argv) if argv else ""
    if one.source:
        text = _rendered(maker, one.source, wire.unit_path(one.name), at, {"exec_start": line})
        return text, start
    maker.texts[wire.unit_path(one.name)] = at.at("sections")
    sections = {name: dict(body) for name, body in one.sections.items()}
    if argv:
        sections.setdefault("Service", {})["ExecStart"] = line
    return unit_text(sections), start


def _dropin(maker: Maker, one: authoring.Unit, name: str, at: Value) -> str:
    body = one.dropins[name]
    where = at.at("dropins", name)
    if not name.endswith(".conf") or "/" in name:
        raise ConfigError(where, f"drop-in {name!r} wants a name that ends in .conf")
    if isinstance(body, str):
        return _rendered(maker, body, wire.dropin_path(one.name, name), at, {})
    if not isinstance(body, Mapping) or not all(isinstance(x, Mapping) for x in body.values()):
        raise ConfigError(where, f"drop-in {name!r} wants sections, or the name of a source")
    maker.texts[wire.dropin_path(one.name, name)] = where
    return unit_text(body)


def _rendered(maker: Maker, source: str, path: str, at: Value, fixed: Mapping[str, str]) -> str:
    text, shown = maker.sources.text(source, at.at("source"))
    maker.texts[path] = shown
    if not source.endswith(".j2"):
        return text
    filled = maker.scope.with_fixed(fixed).file(text, shown)
    if filled.secrets:
        raise readable(shown, f"the unit file {path}")
    return filled.text


def _command(found: tuple[Setting, ...]) -> tuple[str, ...]:
    """Read what would be started; () when it holds variables or specifiers, or is nothing."""
    lines: list[str] = []
    for setting in found:
        if (setting.section, setting.key) == ("Service", "ExecStart"):
            lines = [*lines, setting.value] if setting.value else []
    if not lines:
        return ()
    argv = words(lines[-1])
    bare = lines[-1].replace("%%", "").replace("$$", "")
    return () if _EXPANDED.search(bare) else argv


def _environment(found: tuple[Setting, ...]) -> list[str]:
    return [
        word.partition("=")[0]
        for setting in found
        if (setting.section, setting.key) == ("Service", "Environment")
        for word in words(setting.value)
    ]
