"""`invoke evict`: frees cards of what belongs to no running subject, outside any transition.

A unit that is up is a neighbour here, like any other living subject: only what is left of units
that are down is ours, and what was recorded and lies in no living unit.
"""

from functools import partial
from typing import Dict, Optional, Tuple

from headway.runner.cards.evict.claim import Claim
from headway.runner.cards.evict.claiming import claim_of, living
from headway.runner.cards.evict.eviction import NOBODY, is_guest
from headway.runner.cards.evict.hands import RealHands
from headway.runner.cards.evict.ladder import EVICT_S, Ladder
from headway.runner.cards.evict.launches import Launched, Launches
from headway.runner.cards.evict.measure import excess, owed
from headway.runner.cards.evict.sight import Sight
from headway.runner.changes import launched
from headway.runner.freeing import NotFreedError
from headway.runner.orders.session import Session
from headway.wire.event import Answer, Ask, Asked, Body, Event, Replied
from headway.wire.phase import Exit
from headway.wire.release import Part
from headway.wire.talk import Done, Evict, Said


def evict(session: Session, order: Evict, parts: Tuple[Part, ...]) -> Done:
    """Free what is left of the parts that the order names; `parts` are all this host may run."""
    hands, clock = RealHands(session.machine.run), session.clock
    guest = is_guest(session.machine.disk)
    told = _Told(session)
    recorded = _recorded(session, order, parts)
    idle = recorded.idle
    claims = partial(_claim, session, order, parts, recorded)
    began = clock.boot_ms()
    ladder = Ladder(
        hands=hands,
        claim=claims(),
        part=", ".join(order.parts),
        tell=told,
        clock=clock,
        until_ms=began + 1000 * order.orders.deadlines_s.get("evict", EVICT_S),
        may_kill=order.orders.may_kill,
        node=told.ask if guest else None,
        idle=idle or ({} if guest else None),
        reclaim=claims,
    )
    try:
        before = owed(hands.sight(ladder.claim), ladder.claim, clock.boot_id())
        done = ladder.climb(before, began)
    except NotFreedError as error:
        return session.rest(Exit.STUCK, "stuck", str(error))
    code, sentence = ending(hands.sight(ladder.claim), ladder.claim, done, idle, guest=guest)
    if code is Exit.ACCEPTED:
        return Done(code, sentence)
    return session.rest(code, "stuck" if code is Exit.STUCK else "refused", sentence)


def _recorded(session: Session, order: Evict, parts: Tuple[Part, ...]) -> Launched:
    """Put together what is recorded of the named parts."""
    launches = Launches(session.machine.disk, session.clock.boot_id())
    names = [part.name for part in _named(order, parts)]
    known = [one for one in map(launches.of, names) if one is not None]
    return Launched(
        cgroups=tuple(cgroup for one in known for cgroup in one.cgroups),
        processes=tuple(name for one in known for name in one.processes),
        idle={uuid: count for one in known for uuid, count in one.idle.items()},
    )


def _claim(session: Session, order: Evict, parts: Tuple[Part, ...], recorded: Launched) -> Claim:
    """Claim what is left of the named parts; a unit that somebody starts meanwhile is spared."""
    machine = session.machine
    up = living(machine, _units(parts))
    down = tuple(unit for unit in _units(_named(order, parts)) if unit not in up)
    return claim_of(machine, down, up, recorded)


def _named(order: Evict, parts: Tuple[Part, ...]) -> Tuple[Part, ...]:
    return tuple(part for part in parts if not order.parts or part.name in order.parts)


def _units(parts: Tuple[Part, ...]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in launched(part)))


def ending(
    now: Sight, claim: Claim, done: str, idle: Dict[str, int], *, guest: bool
) -> Tuple[Exit, str]:
    """Say whether the cards are free of ours, and how to end whoever else is there.

    Memory that nobody in a guest explains is others', who are outside: its node was asked by then
    and found nobody of ours. Without a node to ask, only a reboot frees it.
    """
    more = excess(now, idle) if idle else ()
    if more and not guest:
        return Exit.STUCK, f"needs a reboot: {'; '.join(more)}: only a reboot frees that"
    said = [done, *(f"{line} in this guest: not ours, says its node" for line in more)]
    strangers = now.strangers(claim)
    if strangers:
        said.append("to end them: " + " ".join(f"--kill {one.id}" for one in strangers))
    sentence = "; ".join(filter(None, ("nothing of ours is left", *said)))
    return (Exit.REFUSED if strangers else Exit.ACCEPTED), sentence


class _Told:
    """Says events of no transition to the controller, and hears its answers to what is asked."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seq = 0

    def __call__(self, body: Body) -> None:
        """Say one event."""
        self._seq += 1
        event = Event(self._seq, self._session.clock.now_ms(), "", body)
        self._session.channel.say(Said(event))

    def ask(self, detail: str, limit_s: int) -> str:
        """Ask for the node, and wait for the answer."""
        number, clock = self._seq + 1, self._session.clock
        self(Asked(Ask(number, "evict", "", detail, limit_s, NOBODY)))
        until = clock.boot_ms() + 1000 * limit_s
        answer: Optional[Answer] = None
        while answer is None and self._session.channel.open and clock.boot_ms() < until:
            heard = self._session.channel.hear((until - clock.boot_ms()) / 1000)
            if isinstance(heard, Answer) and heard.n == number:
                answer = heard
        answer = answer or Answer(number, NOBODY, "silence")
        self(Replied(answer))
        return answer.value
