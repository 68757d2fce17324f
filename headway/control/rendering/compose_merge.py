"""Compose files over one another: which values merge, which are added, and which replace.

The rules are those of compose-go (override/merge.go and uncity.go), for the keys of a service.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]


@dataclass(frozen=True)
class Reset:
    """What `!reset` leaves: the key is gone, whatever an earlier file says."""


@dataclass(frozen=True)
class Override:
    """A value behind `!override`: it replaces what an earlier file says."""

    value: Any


TAGS: dict[str, Callable[[Any, str], Any]] = {
    "!reset": lambda _value, _where: Reset(),
    "!override": lambda value, _where: Override(value),
}


def merged(base: Mapping[str, Any], over: Mapping[str, Any], path: Path = ()) -> dict[str, Any]:
    """Lay a mapping over another; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, Reset):
            result.pop(key, None)
        elif key in result and not isinstance(value, Override):
            result[key] = _one(result[key], value, (*path, key))
        else:
            result[key] = bare(value)
    return result


def bare(value: Any) -> Any:  # noqa: ANN401 # any YAML
    """Take the tags off a value that has nothing below it."""
    if isinstance(value, Override):
        return bare(value.value)
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if not isinstance(one, Reset)}
    if isinstance(value, list):
        return [bare(one) for one in value if not isinstance(one, Reset)]
    return value


def pairs(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Read an environment or labels, as a mapping or as a list of NAME=VALUE; NAME alone is None.

    Anything else is a TypeError.
    """
    if value is None:
        return {}
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        split = [one.partition("=") for one in value]
        return {name: text if sign else None for name, sign, text in split}
    problem = "wants a mapping, or a list of NAME=VALUE"
    raise TypeError(problem)


def target(volume: Any) -> str:  # noqa: ANN401
    """Name where in the container a volume, a config or a secret lies."""
    if isinstance(volume, dict):
        return str(volume.get("target") or volume.get("source"))
    parts = str(volume).split(":")
    return parts[0] if len(parts) == 1 else parts[1]


def _one(base: Any, over: Any, path: Path) -> Any:  # noqa: ANN401
    special = _SPECIAL.get(path[2:]) if path[:1] == ("services",) else None
    if special is not None:
        return special(_without(base, over), bare(over))
    if over is None:
        return base
    if isinstance(base, dict) and isinstance(over, dict):
        return merged(base, over, path)
    if isinstance(base, list) and isinstance(over, list):
        return _added(base, bare(over))
    return bare(over)


def _without(base: Any, over: Any) -> Any:  # noqa: ANN401
    """Drop what a mapping resets from the mapping below it; a list keeps it, as with Compose."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return base
    return {key: one for key, one in base.items() if not isinstance(over.get(key), Reset)}


def _replaced(_base: Any, over: Any) -> Any:  # noqa: ANN401
    return over


def _paired(base: Any, over: Any) -> Any:  # noqa: ANN401
    return {**pairs(base), **pairs(over)}


def _depended(base: Any, over: Any) -> Any:  # noqa: ANN401
    named = [dict.fromkeys(one) if isinstance(one, list) else one or {} for one in (base, over)]
    return {**named[0], **named[1]}


def _added(base: Any, over: Any) -> list[Any]:  # noqa: ANN401
    several = [one if isinstance(one, list) else [one] for one in (base, over) if one is not None]
    return [one for each in several for one in each]


def _listed(base: Any, over: Any) -> list[Any]:  # noqa: ANN401
    """Add two lists up; what stands in both stands once."""
    result: list[Any] = []
    for one in _added(base, over):
        if one not in result:
            result.append(one)
    return result


def _by_target(base: Any, over: Any) -> list[Any]:  # noqa: ANN401
    return list({target(one): one for one in _added(base, over)}.values())


_SPECIAL: dict[Path, Callable[[Any, Any], Any]] = {
    ("annotations",): _paired,
    ("command",): _replaced,
    ("configs",): _by_target,
    ("depends_on",): _depended,
    ("entrypoint",): _replaced,
    ("env_file",): _listed,
    ("environment",): _paired,
    ("healthcheck", "test"): _replaced,
    ("labels",): _paired,
    ("ports",): _listed,
    ("profiles",): _listed,
    ("secrets",): _by_target,
    ("volumes",): _by_target,
}
