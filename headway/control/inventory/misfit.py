"""Variables of the inventory read as what they have to be; what does not fit names its line."""

from collections.abc import Mapping

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value


def text(values: Mapping[str, Value], name: str) -> str | None:
    """Give a variable that has to be text; None where it is not set, or empty."""
    if name not in values:
        return None
    value = values[name].value
    if isinstance(value, str) or value is None:
        return value or None
    raise misfit(values[name], name, f"wants text, got {value!r}")


def misfit(value: Value, name: str, problem: str) -> ConfigError:
    """Make the error of a variable that does not fit, at its line."""
    return ConfigError(value.where, f"{name}: {problem}")
