"""Engine options: a mapping in YAML, one tuple of words an option on the command line.

model: /models/a.gguf               --model /models/a.gguf
no_mmap: true                       --no-mmap
metrics: false                      (absent; null is absent too)
served_model_name: [qwen, chat]     --served-model-name qwen chat
speculative_config: {method: mtp}   --speculative-config '{"method":"mtp"}'   (one word)
c: 8192                             -c 8192
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Row = tuple[str, ...]


class OptionError(ValueError):
    """An option that cannot be written; `option` is its name in the mapping."""

    def __init__(self, option: str, problem: str) -> None:
        """Keep the name for whoever knows the line it stands on."""
        super().__init__(f"{option}: {problem}")
        self.option = option
        self.problem = problem


def rows(options: Mapping[str, Any], *, dashes: bool = True) -> tuple[Row, ...]:
    """Write options as an engine takes them, one tuple of words an option, in the given order.

    With `dashes`, underscores in long names become dashes: most engines spell them so. Raises
    OptionError for one given twice and for a value that is no option's.
    """
    found: dict[str, Row] = {}
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = spelled(name, dashes=dashes)
        if flag in found:
            raise OptionError(name, f"{flag} is given twice; an engine takes the last one")
        found[flag] = (flag, *_words(name, value))
    return tuple(found.values())


def spelled(name: str, *, dashes: bool = True) -> str:
    """Spell an option's name as on the command line: `-c`, `--max-model-len`, and `-ngl` as is."""
    if not name.strip("-") or "=" in name or any(character.isspace() for character in name):
        raise OptionError(name, "an option's name has no blanks and no value in it")
    if name.startswith("-"):
        return name
    if len(name) == 1:
        return "-" + name
    head, dot, tail = name.partition(".")
    return "--" + (head.replace("_", "-") if dashes else head) + dot + tail


def _words(name: str, value: Any) -> Row:  # noqa: ANN401 # YAML holds any value
    if value is True:
        return ()
    if isinstance(value, Mapping):
        return (_json(value),)
    if isinstance(value, (list, tuple)):
        if not value:
            raise OptionError(
                name, "an empty list gives the option no value; write null to omit it"
            )
        return tuple(_word(name, one) for one in value)
    return (_word(name, value),)


def _word(name: str, value: Any) -> str:  # noqa: ANN401 # the same
    if isinstance(value, Mapping):
        return _json(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise OptionError(name, f"{value!r} in a list is no option's value: text or a number")
    return str(value)


def _json(value: Any) -> str:  # noqa: ANN401 # the same
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=float)
