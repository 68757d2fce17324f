"""The ladder: each rung takes a little more and says what was held before and after (FIELD 3.3).

No rung is climbed while the one below would do.

    stop      systemd stopped the units (a step before this one); told with what they held
    cgroup    SIGKILL to the whole cgroup of each unit
    holders   SIGKILL by pidfd to what is left of ours, by cgroup or recorded launch
    named     what a person named as PID:STARTTIME
    node      of a guest: its node sees processes that the guest does not
    reboot    nothing more can be done from here: where it hangs
"""

from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple

from headway.runner.cards.evict.claim import Claim, Side
from headway.runner.cards.evict.hands import Hands
from headway.runner.cards.evict.measure import Owed, excess, missing
from headway.runner.cards.evict.process import Key, Process
from headway.runner.cards.evict.sight import Sight, size
from headway.runner.clock import Clock
from headway.runner.freeing import NotFreedError
from headway.wire.event import Body, Rung
from headway.wire.loader import WireError, canonical, loads
from headway.wire.talk import Freed

EVICT_S = 180
RUNG_S = 10
"""How long a rung is given to do what it does; a driver that unwinds is waited for at the end."""
QUIET_S = 5
"""How long a guest's memory may be held by nobody before its node is asked."""
_POLL_S = 0.3

AskNode = Callable[[str, int], str]
"""Asks the node, given the ask's detail and the seconds it may take; gives the answer."""


@dataclass
class Ladder:
    """One eviction. `may_kill` are PID:STARTTIME of strangers; `until_ms` counts since boot.

    `node` asks the node of a guest, None on a machine of its own. `idle` are the bytes of each
    card that nobody explained when the release was accepted, None where no cards were seen then.
    `reclaim` makes the claim anew before each look: what somebody starts meanwhile is spared.
    `killed` says, afterwards, whether any of ours had to be.
    """

    hands: Hands
    claim: Claim
    part: str
    tell: Callable[[Body], None]
    clock: Clock
    until_ms: int
    may_kill: Tuple[str, ...] = ()
    node: Optional[AskNode] = None
    idle: Optional[Dict[str, int]] = None
    reclaim: Optional[Callable[[], Claim]] = None
    killed: bool = False

    def climb(self, before: Owed, began_ms: int) -> str:
        """Free what ours held, or raise NotFreedError; says in a few words what was done."""
        now = self._look()
        if before.lines:
            self._told("stop", before.lines, _lines(now, self._ours(now)), began_ms)
        if self._in_units(now):
            self.killed = True
            now = self._rung("cgroup", now, self._kill_units, self._in_units)
        if self._ours(now):
            self.killed = True
            now = self._rung("holders", now, self._kill_ours, self._ours)
        if self.may_kill:
            self._rung("named", now, self._kill_named, self._named)
        return self._settle(before)

    # --- rungs ---------------------------------------------------------------------------------

    def _rung(
        self,
        name: str,
        before: Sight,
        act: Callable[[Sight], Tuple[str, ...]],
        meant: Callable[[Sight], Tuple[Process, ...]],
    ) -> Sight:
        """Act once, and wait a while until nobody who is meant is left; tell both sides of it."""
        began = self.clock.boot_ms()
        until = min(began + 1000 * RUNG_S, self.until_ms)
        said = act(before)
        now = self._look()
        while meant(now) and self.clock.boot_ms() < until:
            self.clock.sleep(_POLL_S)
            now = self._look()
        sides = _lines(before, meant(before)), _lines(now, meant(now))
        self._told(name, *sides, began, "; ".join(said))
        return now

    def _kill_units(self, _now: Sight) -> Tuple[str, ...]:
        for unit in self.claim.units:
            self.hands.kill_unit(unit)
        return ()

    def _kill_ours(self, now: Sight) -> Tuple[str, ...]:
        """End each of ours, and what they start while they are ended."""
        said: Dict[Key, str] = {}
        fresh = now.ours(self.claim)
        while fresh and self.clock.boot_ms() < self.until_ms:
            said.update({one.key: self.hands.kill(one, self.claim.is_ours) for one in fresh})
            self.clock.sleep(_POLL_S)
            fresh = tuple(one for one in self._look().ours(self.claim) if one.key not in said)
        return tuple(filter(None, said.values()))

    def _kill_named(self, now: Sight) -> Tuple[str, ...]:
        return tuple(filter(None, (self._kill_one(name, now) for name in self.may_kill)))

    def _kill_one(self, name: str, now: Sight) -> str:
        """End the stranger that a person named, if it still is who it was, and holds a card."""
        pid, _, started = name.partition(":")
        found = next((one for one in now.processes if str(one.pid) == pid), None)
        if found is None:
            return f"{name}: no process of that number has a card open"
        if str(found.started) != started:
            return f"{name}: pid {pid} is another process, of start time {found.started}: no kill"
        side = self.claim.side(found)
        if side is not Side.FOREIGN or not now.holds(found):
            why = "holds no card" if side is Side.FOREIGN else f"is {side.value}"
            return f"{name}: {found.name} {why}: no kill"
        return self.hands.kill(found, self._is_foreign)

    def _is_foreign(self, process: Process) -> bool:
        return self.claim.side(process) is Side.FOREIGN

    def _ours(self, now: Sight) -> Tuple[Process, ...]:
        return now.ours(self.claim)

    def _in_units(self, now: Sight) -> Tuple[Process, ...]:
        return tuple(one for one in self._ours(now) if self.claim.reached_by_unit(one))

    def _named(self, now: Sight) -> Tuple[Process, ...]:
        return tuple(one for one in now.strangers(self.claim) if one.id in self.may_kill)

    # --- the end -------------------------------------------------------------------------------

    def _settle(self, before: Owed) -> str:
        """Wait until the memory is back; ask the node where this guest sees nobody who holds it."""
        quiet_ms = self.clock.boot_ms()
        while True:
            now = self._look()
            left = now.holders_of(self.claim)
            owed = missing(before, now, self.claim)
            more = () if self.idle is None else excess(now, self.idle)
            at = self.clock.boot_ms()
            if not (left or owed or more):
                return _done(before, now, self.claim)
            quiet_ms = at if left else quiet_ms
            over = at >= self.until_ms
            if self.node is not None and not left and (over or at - quiet_ms >= 1000 * QUIET_S):
                return self._ask(self.node, (*owed, *more))
            if over:
                break
            self.clock.sleep(_POLL_S)
        if not (left or owed):
            return "; ".join(filter(None, (_done(before, now, self.claim), *more)))
        hung = tuple(self.hands.hangs(one) for one in now.ours(self.claim))
        rows = (*owed, *hung)
        self.tell(Rung(self.part, "reboot", before.lines, rows, 0, "only a reboot frees this"))
        raise NotFreedError(f"needs a reboot: {'; '.join(hung or owed)}")

    def _ask(self, node: AskNode, held: Tuple[str, ...]) -> str:
        began = self.clock.boot_ms()
        ended = 0
        for cgroup in self.claim.cgroups:
            left_s = max(RUNG_S, (self.until_ms - self.clock.boot_ms()) // 1000)
            detail = canonical({"cgroup": cgroup, "held": list(held)}).decode()
            freed = _freed(node(detail, left_s))
            ended += len(freed.ended)
            self.killed |= bool(freed.ended)
            rows = tuple(f"pid {h.name()} ({h.command}) in {h.cgroup}" for h in freed.left)
            took = self.clock.boot_ms() - began
            self.tell(Rung(self.part, "node", held, rows, took, freed.sentence))
            if freed.sentence or freed.left:
                why = freed.sentence or f"it could not end {', '.join(rows)}"
                raise NotFreedError(f"needs the node: {'; '.join(held)}; {why}")
        return f"{ended} of its processes ended by the node"

    def _look(self) -> Sight:
        if self.reclaim is not None:
            self.claim = self.reclaim()
        return self.hands.sight(self.claim)

    def _told(
        self,
        rung: str,
        before: Tuple[str, ...],
        after: Tuple[str, ...],
        began_ms: int,
        sentence: str = "",
    ) -> None:
        took = self.clock.boot_ms() - began_ms
        self.tell(Rung(self.part, rung, before, after, took, sentence))


def _lines(sight: Sight, processes: Tuple[Process, ...]) -> Tuple[str, ...]:
    return tuple(sight.line(one) for one in processes)


def _freed(answer: str) -> Freed:
    try:
        return loads(Freed, answer)
    except WireError:
        return Freed(sentence=answer)


def _done(before: Owed, now: Sight, claim: Claim) -> str:
    """Say what is back, and who else holds cards: nobody is ended for that without a name."""
    rows = [f"{size(sum(before.ours.values()))} back"] if any(before.ours.values()) else []
    rows += [f"not ours: {now.line(one)}" for one in now.strangers(claim)]
    return "; ".join(rows)
