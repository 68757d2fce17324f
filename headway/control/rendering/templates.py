"""Templates: text with `{{ }}` rendered strictly, with file and line in every error. Jinja's home.

Whatever names a variable that holds a secret gives a Secret: it taints the whole result, because
no filter can be trusted to carry a mark along.
"""

import json
import os
import re
import shlex
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context

from headway.control.errors import ConfigError
from headway.control.near import near
from headway.control.rendering.options import OptionError, rows
from headway.control.secrets import Redactor, Secret

Missing = KeyError
Resolve = Callable[[str], Any]
"""Gives a variable's value by name, or raises KeyError; Secrets stand in it as they are."""

_ABSENT = object()
_LOOK = "headway look"
_RESULT = "result"
_INLINE = "<template>"
_NAME_ONLY = re.compile(r"\{\{ ?([A-Za-z_]\w*) ?\}\}")
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


@dataclass(frozen=True)
class Filled:
    """The text of a template, and the secrets that had a part in it, by the name they go by."""

    text: str
    secrets: Mapping[str, Secret]


class Templates:
    """Renders text for one host. `find` gives the text and the shown name of an included file.

    `reveal` opens secrets; lint passes one that does not.
    """

    def __init__(
        self,
        find: Callable[[str], tuple[str, str]],
        reveal: Callable[[Secret], str] = Secret.reveal,
    ) -> None:
        self._reveal = reveal
        self._environment = _environment(lambda name: (*find(name), None))

    def file(self, text: str, shown: str, resolve: Resolve) -> Filled:
        """Render a file's text; `shown` is what messages call it."""
        look = _Look(resolve, self._reveal)
        with _Place(shown, None, look):
            rendered = self._template(_compiled(text, shown).code).render({_LOOK: look})
        return Filled(rendered, look.secrets)

    def value(self, text: str, where: str, resolve: Resolve) -> Any:  # noqa: ANN401 # any value
        """Render a value's text; exactly one `{{ expression }}` keeps its type."""
        if "{{" not in text and "{%" not in text and "{#" not in text:
            return text
        name = _NAME_ONLY.fullmatch(text)
        if name:
            with suppress(Missing):
                return resolve(name[1])
        look = _Look(resolve, self._reveal)
        with _Place(_INLINE, where, look):
            compiled = _compiled(text, _INLINE)
            template = self._template(compiled.code)
            if not compiled.expression:
                rendered = template.render({_LOOK: look})
                return Secret.of(rendered, where) if look.secrets else rendered
            found = _evaluated(template, look)
        return _taken(found, where if look.secrets and compiled.expression == "made" else "")

    def _template(self, code: CodeType) -> jinja2.Template:
        environment = self._environment
        return environment.template_class.from_code(environment, code, environment.globals)


@dataclass(frozen=True)
class _Compiled:
    """A template's code. `expression` is "" for text, "named" or "made" for one expression."""

    code: CodeType
    expression: str = ""


@lru_cache(maxsize=2048)
def _compiled(text: str, shown: str) -> _Compiled:
    """Compile a text once for all hosts: this is most of what rendering costs."""
    environment = _environment(None)
    if shown != _INLINE:
        return _Compiled(environment.compile(text, name=shown, filename=shown))
    expression = _only_expression(environment.parse(text, filename=shown))
    if expression is None:
        return _Compiled(environment.compile(text, filename=shown))
    # What compile_expression does, but its result is judged strictly, and by us.
    body: list[nodes.Node] = [nodes.Assign(nodes.Name(_RESULT, "store"), expression, lineno=1)]
    tree = nodes.Template(body, lineno=1)
    tree.set_environment(environment)
    named = isinstance(expression, (nodes.Name, nodes.Getattr, nodes.Getitem))
    return _Compiled(environment.compile(tree, filename=shown), "named" if named else "made")


def _environment(load: Callable[[str], Any] | None) -> jinja2.Environment:
    environment = _Environment(
        loader=jinja2.FunctionLoader(load) if load else None,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,  # units and config files, no HTML
    )
    environment.filters |= _FILTERS
    return environment


def _evaluated(template: jinja2.Template, look: "_Look") -> Any:  # noqa: ANN401
    """Give the value of the expression that a template assigns."""
    context = template.new_context({_LOOK: look})
    for _ in template.root_render_func(context):
        pass
    found = context.vars[_RESULT]
    if isinstance(found, jinja2.Undefined):
        str(found)
    return found


class _Shown(str):
    """A secret's text, as templates see it; what is still one at the end is a Secret again."""

    __slots__ = ("where",)
    where: str


class _Look:
    """One rendering's view of the variables; it remembers which of them held secrets."""

    def __init__(self, resolve: Resolve, reveal: Callable[[Secret], str]) -> None:
        self._resolve = resolve
        self._reveal = reveal
        self._given: dict[str, Any] = {}
        self.secrets: dict[str, Secret] = {}

    def get(self, name: str) -> Any:  # noqa: ANN401
        if name not in self._given:
            try:
                value = self._resolve(name)
            except Missing:
                return _ABSENT
            self._given[name] = self._handed(name, value)
        return self._given[name]

    def redacted(self, text: str) -> str:
        """Blot out what an error may quote of the secrets in hand."""
        return Redactor(map(self._reveal, self.secrets.values())).text(text)

    def _handed(self, name: str, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, Secret):
            self.secrets[name] = value
            text = _Shown(self._reveal(value))
            text.where = value.where
            return text
        if isinstance(value, Mapping):
            return {key: self._handed(f"{name}.{key}", one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._handed(name, one) for one in value]
        return value


class _Context(Context):
    """Asks for a variable when a template names it, so that unused ones may be broken."""

    def resolve_or_missing(self, key: str) -> Any:  # noqa: ANN401
        look = self.parent.get(_LOOK)
        if key in self.vars or not isinstance(look, _Look):
            return super().resolve_or_missing(key)
        found = look.get(key)
        return super().resolve_or_missing(key) if found is _ABSENT else found


class _Environment(jinja2.Environment):
    context_class = _Context


class _Place:
    """Turns whatever a template raises into a ConfigError at FILE:LINE."""

    def __init__(self, shown: str, where: str | None, look: _Look) -> None:
        self._shown = shown
        self._where = where
        self._look = look

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ConfigError) or not isinstance(error, Exception):
            return
        if isinstance(error, jinja2.TemplateSyntaxError):
            file, line = error.filename or self._shown, error.lineno
        else:
            file, line = self._frame(error)
        where = self._where or f"{file}:{line}"
        raise ConfigError(where, self._look.redacted(_problem(error))) from None

    def _frame(self, error: Exception) -> tuple[str, int]:
        """Find the template's own line: the innermost frame that is no Python file."""
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if not frame.filename.endswith(".py")]
        return (ours[-1].filename, ours[-1].lineno or 1) if ours else (self._shown, 1)


def _problem(error: Exception) -> str:
    text = str(getattr(error, "message", None) or error)
    if isinstance(error, jinja2.TemplateNotFound):
        return f"there is no template {error.name!r}"
    if isinstance(error, RecursionError):
        return "it includes or calls itself without an end"
    name = _UNDEFINED.search(text) if isinstance(error, jinja2.UndefinedError) else None
    if name:
        return f"{name[0]}: no variable of this host or role has the name"
    return text if isinstance(error, jinja2.TemplateError) else f"{type(error).__name__}: {text}"


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Find the expression of a template that is exactly one `{{ expression }}`."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    return None if len(parts) != 1 or isinstance(parts[0], nodes.TemplateData) else parts[0]


def _taken(value: Any, tainted: str) -> Any:  # noqa: ANN401
    """Make Secrets again of what templates were shown, of every text where `tainted` says so."""
    if isinstance(value, _Shown):
        return Secret.of(str(value), value.where)
    if isinstance(value, str):
        return Secret.of(value, tainted) if tainted else value
    if isinstance(value, Mapping):
        return {key: _taken(one, tainted) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_taken(one, tainted) for one in value]
    return value


def _combine(*several: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings, the last one first: Ansible's `combine`."""
    result: dict[str, Any] = {}
    for one in several:
        result.update(one)
    return result


def _override(known: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge as `combine` does, and refuse a name that is not known: a typing error asks nothing."""
    for name in own:
        if name not in known:
            raise jinja2.TemplateRuntimeError(f"there is no {name!r}; {near(name, known)}")
    return {**known, **own}


def _to_json(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_no_json)


def _no_json(value: Any) -> str:  # noqa: ANN401
    """Refuse what JSON does not know; an undefined variable is told as one."""
    if isinstance(value, jinja2.Undefined):
        str(value)
    raise jinja2.TemplateRuntimeError(f"{value!r} cannot be written as JSON")


def _option_words(options: Mapping[str, Any], *, dashes: bool = True) -> list[str]:
    """Write options as the words of a command line, as `exec` of a unit does."""
    try:
        return [word for row in rows(options, dashes=dashes) for word in row]
    except OptionError as error:
        raise jinja2.TemplateRuntimeError(str(error)) from None


def _compose(value: Any) -> str:  # noqa: ANN401
    """Write a value into a Compose file: JSON is YAML, and a dollar is no variable of its."""
    return _to_json(value).replace("$", "$$")


_FILTERS = {
    "basename": os.path.basename,
    "combine": _combine,
    "compose": _compose,
    "dirname": os.path.dirname,
    "option_words": _option_words,
    "override": _override,
    "quote": lambda value: shlex.quote(str(value)),
    "to_json": _to_json,
}
