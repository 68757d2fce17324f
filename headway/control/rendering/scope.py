"""The variables of one instance on one host, each resolved when it is first asked for."""

from collections.abc import Mapping
from typing import Any

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.rendering.templates import Filled, Missing, Templates
from headway.control.secrets import Secret


class Scope:
    """Variables by name; `fixed` ones stand as they are, whatever braces they hold.

    Text within values is rendered with the same variables. A circle is a ConfigError.
    """

    def __init__(
        self, values: Mapping[str, Value], fixed: Mapping[str, Any], templates: Templates
    ) -> None:
        self._values = values
        self._fixed = fixed
        self._templates = templates
        self._resolved: dict[str, Any] = {}
        self._asking: list[str] = []

    def with_fixed(self, fixed: Mapping[str, Any]) -> "Scope":
        """Make a scope that knows these names, too."""
        return Scope(self._values, {**self._fixed, **fixed}, self._templates)

    def get(self, name: str) -> Any:  # noqa: ANN401 # a variable holds any value
        """Give a variable's value, rendered; KeyError when there is none of that name."""
        if name in self._fixed:
            return self._fixed[name]
        if name in self._resolved:
            return self._resolved[name]
        if name not in self._values:
            raise Missing(name)
        value = self._values[name]
        if name in self._asking:
            circle = " -> ".join([*self._asking[self._asking.index(name) :], name])
            raise ConfigError(value.where, f"variables go in a circle: {circle}")
        self._asking.append(name)
        try:
            self._resolved[name] = self._rendered(value.value, value, ())
        finally:
            self._asking.pop()
        return self._resolved[name]

    def render(self, raw: Any, at: Value) -> Any:  # noqa: ANN401
        """Render every text within a value; `at` knows the lines."""
        return self._rendered(raw, at, ())

    def file(self, text: str, shown: str) -> Filled:
        """Render a template file."""
        return self._templates.file(text, shown, self.get)

    def _rendered(self, raw: Any, at: Value, steps: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        if isinstance(raw, str):
            return self._templates.value(raw, at.at(*steps), self.get)
        if isinstance(raw, Mapping):
            return {key: self._rendered(one, at, (*steps, key)) for key, one in raw.items()}
        if isinstance(raw, (list, tuple)):
            return [self._rendered(one, at, (*steps, index)) for index, one in enumerate(raw)]
        return raw


def secrets_in(value: Any) -> list[Secret]:  # noqa: ANN401
    """List the secrets that stand anywhere within a value."""
    if isinstance(value, Secret):
        return [value]
    inside = value.values() if isinstance(value, Mapping) else value
    if isinstance(inside, str) or not hasattr(inside, "__iter__"):
        return []
    return [secret for one in inside for secret in secrets_in(one)]
