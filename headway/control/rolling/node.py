"""A guest asks for its node: memory of a card is used there, and no process is to be seen for it.

The node's runner finds the holders by NVML and ends those in the guest's own cgroup. Whatever
keeps it from that is a sentence in the answer, so that the guest ends as "needs the node", with
the reason, and not in a wait.
"""

from headway.control.errors import HeadwayError
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Sink
from headway.wire.event import Ask
from headway.wire.loader import WireError, parse
from headway.wire.record import Orders
from headway.wire.talk import Free, Freed


def freed(guest: Host, ask: Ask, reach: Reach, tell: Sink, by: str) -> Freed:
    """Order the node of a guest to free the cgroup that an ask names, and give what it did.

    `ask.detail` is a JSON object; its "cgroup" is the instance's path as the guest sees it.
    """
    via, cgroup = guest.via, _cgroup(ask.detail)
    if via is None:
        return Freed(sentence=f"the inventory names no node of {guest.name}: set proxmox_host")
    if via.kind == "qemu":
        return Freed(sentence=f"{via} has its cards to itself: its node sees no process on them")
    if not cgroup.startswith("/") or cgroup == "/":
        return Freed(sentence=f"{guest.name} did not say which cgroup is to be freed")
    orders = Orders(by, f"evict {ask.part} of {guest.name}: {via}")
    try:
        with reach.open(via.node, tell) as session:
            words = list(session.order(Free(via.vmid, cgroup, orders)))
    except HeadwayError as error:
        return Freed(sentence="; ".join(filter(None, (str(error), error.hint))))
    did = next((word for word in words if isinstance(word, Freed)), None)
    said = getattr(words[-1], "sentence", "") or "the runner there did not say what it did"
    return did or Freed(sentence=f"{via.node.name}: {said}")


def _cgroup(detail: str) -> str:
    try:
        told = parse(detail)
    except WireError:
        return ""
    return str(told.get("cgroup", "")) if isinstance(told, dict) else ""
