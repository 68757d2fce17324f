"""`${X:-default}` and its kin, as Compose puts variables into a file, and what decided the text.

The grammar is Compose's own (compose-go, template/template.go): $X, ${X}, ${X:-d}, ${X-d}, ${X:?e},
${X?e}, ${X:+r}, ${X+r}, $$ for a dollar; defaults and replacements may hold variables themselves.
Any other dollar stands for itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")


class TemplateError(ValueError):
    """A ${ } that is no variable, or a variable that must be given and is not."""


@dataclass(frozen=True)
class Filled:
    """Text with its variables in place.

    `unset` names the variables that stand for "" because nobody gave them; `defaults` the ones
    not given whose default, as it is written, stands in the text.
    """

    text: str
    unset: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()


def fill(text: str, env: Mapping[str, str]) -> Filled:
    """Put variables in place; what Compose refuses is a TemplateError."""
    parts: list[Filled] = []
    while text:
        before, dollar, rest = text.partition("$")
        parts.append(Filled(before))
        if not dollar:
            break
        part, text = _variable(rest, env)
        parts.append(part)
    return Filled(
        "".join(part.text for part in parts),
        tuple(dict.fromkeys(name for part in parts for name in part.unset)),
        tuple(dict.fromkeys(name for part in parts for name in part.defaults)),
    )


def has_default(text: str) -> bool:
    """Say whether a text takes a default when a variable is missing: `${X:-d}` or `${X-d}`."""
    return re.search(r"(?<!\$)(?:\$\$)*\$\{[A-Za-z_]\w*:?-", text) is not None


def _variable(rest: str, env: Mapping[str, str]) -> tuple[Filled, str]:
    """Read what stands behind a dollar; give also what follows it."""
    if rest.startswith("$"):
        return Filled("$"), rest[1:]
    if rest.startswith("{"):
        end = _closing(rest)
        return _braced(rest[1:end], env), rest[end + 1 :]
    name = _NAME.match(rest)
    if name is None:
        return Filled("$"), rest
    return _plain(name[0], env), rest[name.end() :]


def _closing(rest: str) -> int:
    """Find the brace that closes; as Compose counts, a brace right behind another is overlooked."""
    depth, at = 0, 0
    while at < len(rest):
        if rest[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        if rest[at] == "{":
            depth += 1
            at += 1
        at += 1
    if "}" not in rest:
        problem = f"${rest[:40]} is not closed; write $$ for a dollar"
        raise TemplateError(problem)
    return rest.rindex("}")


def _plain(name: str, env: Mapping[str, str]) -> Filled:
    return Filled(env[name]) if name in env else Filled("", unset=(name,))


def _braced(inside: str, env: Mapping[str, str]) -> Filled:
    name = _NAME.match(inside)
    operator = _OPERATOR.match(inside, name.end()) if name else None
    if name is None or (operator is None and name.end() < len(inside)):
        problem = f"${{{inside[:40]}}} is no variable; write $$ for a dollar"
        raise TemplateError(problem)
    if operator is None:
        return _plain(name[0], env)
    given = bool(env.get(name[0])) if operator[0].startswith(":") else name[0] in env
    word = inside[operator.end() :]
    if operator[0].endswith("+"):
        return fill(word, env) if given else Filled("")
    if given:
        return Filled(env[name[0]])
    if operator[0].endswith("?"):
        because = fill(word, env).text
        problem = f"{name[0]} must be given" + (f": {because}" if because else "")
        raise TemplateError(problem)
    default = fill(word, env)
    decided = default.defaults or (() if _names_any(word, env) else (name[0],))
    return Filled(default.text, default.unset, decided)


def _names_any(word: str, env: Mapping[str, str]) -> bool:
    """Say whether a default holds a variable that is given: then that one decides."""
    return any(env.get(name) for name in re.findall(r"\$\{?([A-Za-z_]\w*)", word))
