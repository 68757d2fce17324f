"""What the controller answers to a host's asks: floor, outside, evict, confirm."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.control.errors import HeadwayError, UnreachableError
from headway.control.fleet import Fleet
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.rendering.render import render
from headway.control.rolling import policy
from headway.control.rolling.visit import Visit
from headway.control.telling.story import Note, Sink
from headway.wire.event import Ask
from headway.wire.loader import dumps
from headway.wire.phase import Exit
from headway.wire.talk import Done, Looked, Request

Looking = Callable[[Sequence[Host]], Mapping[str, Looked | HeadwayError]]


@dataclass(frozen=True)
class Asks:
    """Answers for one verb. `peers` are the hosts of the whole inventory."""

    fleet: Fleet
    reach: Reach
    tell: Sink
    peers: Sequence[Host]
    floor: int | None
    by: str
    look: Looking

    def __call__(self, visit: Visit, ask: Ask) -> str | None:
        """Answer; None leaves it to the ask's own default, or was answered another way."""
        answers = {
            "floor": self._floor,
            "outside": self._outside,
            "evict": self._evict,
            "confirm": self._confirm,
        }
        answer = answers.get(ask.what)
        return answer(visit, ask) if answer is not None else None

    def _floor(self, visit: Visit, _ask: Ask) -> str:
        """Look at the others of the group; a host that serves nothing may always leave it."""
        for role in sorted(_roles_in_hand(visit)):
            others = [host for host in self.peers if is_peer(host, visit.task.host, role)]
            seen = self.look(others)
            standing = [
                policy.peer(name, found, role)
                if isinstance(found, Looked)
                else policy.Peer(name, counts=True, why=str(found))
                for name, found in seen.items()
            ]
            answer = policy.floor(role, standing, self.floor)
            if answer != policy.OK:
                return answer
        return policy.OK

    def _outside(self, visit: Visit, ask: Ask) -> str | None:
        """Judge the gate as the fleet describes it now; silence where it does not any more."""
        from headway.control.rolling import outside

        host = visit.task.host
        for gate in render(self.fleet, host).gates:
            if (gate.name, gate.part) == (ask.detail, ask.part):
                return dumps(outside.judge(self.fleet, host, gate, self.reach.ssh_config))
        return None

    def _evict(self, visit: Visit, ask: Ask) -> str | None:
        """Have a guest's node free the cards; what keeps it from that is the answer's sentence.

        Through qm nothing can be said while an order lasts, and a VM has its cards to itself.
        """
        from headway.control.rolling import node

        host = visit.task.host
        if host.via is not None and host.via.how == "qm":
            return None
        return dumps(node.freed(host, ask, self.reach, self.tell, self.by))

    def _confirm(self, visit: Visit, ask: Ask) -> None:
        """Confirm over a new connection: that it can be made is what is being asked."""
        until = time.monotonic() + ask.deadline_s
        tries, why = 0, ""
        while time.monotonic() < until:
            try:
                with self.reach.open(visit.task.host, self.tell, again=True) as session:
                    last = list(session.order(Request("confirm", self.by)))[-1]
                if isinstance(last, Done) and last.exit_code == Exit.ACCEPTED:
                    return
                why = getattr(last, "sentence", "")
            except UnreachableError as error:
                why = str(error)
            time.sleep(policy.wait_s(tries))
            tries += 1
        self.tell(Note(visit.name, f"not confirmed: {why}"))


def is_peer(other: Host, host: Host, role: str) -> bool:
    """Say whether another host shares a group with this one and runs the same role."""
    together = not host.groups or bool(set(other.groups) & set(host.groups))
    plays = any(instance.role == role for instance in other.instances)
    return other.name != host.name and together and plays


def _roles_in_hand(visit: Visit) -> set[str]:
    """Name the roles that go down for a while: of the parts that change, where any runs."""
    missing = visit.missing
    if missing is None or missing.running == "empty":
        return set()
    roles = {instance.name: instance.role for instance in visit.task.host.instances}
    return {roles[part] for part in missing.changed if part in roles}
