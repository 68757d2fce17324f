"""Variables as a file writes them: names that templates can use, values with their lines."""

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.yaml_nodes import Spot


def variables(spot: Spot) -> dict[str, Value]:
    """Read a mapping of variables; a name that no template could use is a ConfigError."""
    result = {}
    for name, inner in spot.items():
        checked_name(name, inner.where)
        result[name] = Value(inner.value, inner.where, inner.at)
    return result


def checked_name(name: object, where: str) -> str:
    """Give the name of a variable back: a letter or _, then letters, digits and _."""
    if isinstance(name, str) and name.isidentifier():
        return name
    hint = "use letters, digits and _, beginning with a letter"
    raise ConfigError(where, f"{name!r} is no name for a variable", hint=hint)
