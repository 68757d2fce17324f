"""Values that a program or a log gave, against what a gate expects of them.

A gate's values cross the wire without floats: "0.83" is written as text and compared as a number
where what was seen is one.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Callable, Dict, Optional

from headway.wire.loader import Json


class CompareError(ValueError):
    """These two cannot be compared: nothing was judged."""


def find(document: Json, pointer: str) -> Json:
    """Follow a path as in `choices/0/text` (RFC 6901: `~1` is a slash), or raise CompareError."""
    here = document
    for step in pointer.lstrip("/").split("/") if pointer.strip("/") else ():
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            here = here[int(key)] if isinstance(here, list) else here[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise CompareError(f"there is no {pointer!r}") from None
    return here


def holds(operator: str, seen: Json, wanted: Json) -> bool:
    """Say whether `seen OPERATOR wanted` is so, or raise CompareError where that has no sense."""
    if operator not in OPERATORS:
        raise CompareError(f"unknown operator {operator!r}; there are {' '.join(OPERATORS)}")
    return OPERATORS[operator](seen, wanted)


def number(value: Json) -> Optional[Decimal]:
    """Read a number out of JSON or a log line, thousands separated or not; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = Decimal(str(value).replace(",", "").strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _equal(seen: Json, wanted: Json) -> bool:
    left, right = number(seen), number(wanted)
    if left is not None and right is not None:
        return left == right
    if isinstance(seen, float):  # NaN and infinities: a measurement that failed
        raise CompareError(f"{seen} is no number")
    return bool(seen == wanted)


def _ordered(holds_for: Callable[[Decimal, Decimal], bool]) -> Callable[[Json, Json], bool]:
    def compare(seen: Json, wanted: Json) -> bool:
        left, right = number(seen), number(wanted)
        if left is None or right is None:
            raise CompareError(f"{seen!r} and {wanted!r} are not both numbers")
        return holds_for(left, right)

    return compare


def _contains(seen: Json, wanted: Json) -> bool:
    if isinstance(seen, str):
        return str(wanted) in seen
    if isinstance(seen, (list, dict)):
        return wanted in seen
    raise CompareError(f"{seen!r} contains nothing: it is neither text nor a list")


def _matches(seen: Json, wanted: Json) -> bool:
    if not isinstance(seen, str):
        raise CompareError(f"{seen!r} is no text")
    return re.search(str(wanted), seen) is not None


OPERATORS: Dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda seen, wanted: not _equal(seen, wanted),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "contains": _contains,
    "matches": _matches,
}
