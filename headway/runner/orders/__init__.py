"""What the controller may order, a module an order, each ending in one last line.

Nothing here changes what runs: that is the transition's, in a unit of its own. An order looks,
stages, writes the record down, starts the transition and follows it.
"""

import importlib
from typing import Optional

from headway.runner.orders.session import Session
from headway.wire.loader import kind_of
from headway.wire.phase import Exit
from headway.wire.talk import FromController, FromHost, Trouble

KNOWN = (
    "rollout",
    "rollback",
    "repair",
    "sweep",
    "look",
    "recall",
    "logs",
    "diagnose",
    "follow",
    "check",
    "adopt",
    "park",
    "prune",
    "evict",
    "free",
    "request",
)

_EQUIPPED = ("diagnose",)  # sees to it itself, on whatever disk


def obey(session: Session, order: FromController) -> Optional[FromHost]:
    """Do what was ordered; the last line to say, None when the controller is gone."""
    kind = kind_of(type(order))
    if kind not in KNOWN:
        return Trouble(Exit.USAGE, f"{kind} is no order to begin with")
    if kind not in _EQUIPPED and not session.equip_for(order):
        return None
    module = importlib.import_module(f"{__name__}.{kind}")
    answer: Optional[FromHost] = module.obey(session, order)
    return answer
