"""The class of a host: variable `class` names it, `classes` declares what machines of it have.

    class: h200x2
    classes:
      h200x2: {cards: 2, card: NVIDIA H200, memory_mib: 143771, p2p: true,
               nccl: {NCCL_P2P_LEVEL: NVL}}

Roles read it as the variable `machine`, with every key, whether the class declares it or not.
"""

from collections.abc import Mapping
from typing import Any

from headway.control.errors import ConfigError
from headway.control.inventory.model import CLASS, Value
from headway.control.near import near
from headway.control.rendering.scope import Scope
from headway.wire.loader import WireError, dump, load
from headway.wire.machine_class import MachineClass

CLASSES = "classes"
MACHINE = "machine"
"""What roles know it by."""


def machine_of(scope: Scope, values: Mapping[str, Value]) -> dict[str, Any]:
    """Give what is declared of a host's class; a class that is not declared has only its name.

    A name that stands in no `classes` though there are some, or a key that does not fit, is a
    ConfigError at its line.
    """
    name, declared = scope.get(CLASS), scope.get(CLASSES)
    at = values[CLASSES]
    if not isinstance(name, str) or "/" in name:
        problem = f"class wants a word without a slash, got {name!r}"
        raise ConfigError(values[CLASS].where, problem)
    if not isinstance(declared, Mapping):
        raise ConfigError(at.where, "classes wants a mapping of classes by their names")
    if name and declared and name not in declared:
        problem = f"class {name!r} is declared nowhere; {near(name, declared)}"
        raise ConfigError(values[CLASS].where, problem, hint=f"declare it in classes ({at.where})")
    own = declared.get(name) or {}
    if not isinstance(own, Mapping) or "name" in own:
        problem = f"classes/{name} wants a mapping of {', '.join(_KEYS)}"
        raise ConfigError(at.at(name), problem)
    try:
        return dict(dump(load(MachineClass, {"name": name, **own})))
    except WireError as error:
        place = "/".join(str(step) for step in (CLASSES, name, *error.path))
        raise ConfigError(at.at(name, *error.path), f"{place}: {error.problem}") from None


_KEYS = tuple(key for key in MachineClass.__dataclass_fields__ if key != "name")
