"""One conversation with a controller: its channel, the machine, and the record."""

import hashlib
import os
from dataclasses import dataclass
from typing import Optional, Tuple

from headway.runner import satchels
from headway.runner.changes import has_stack
from headway.runner.channel import Channel
from headway.runner.clock import Clock
from headway.runner.machine import Machine
from headway.runner.records import RecordError, Records
from headway.runner.resources.error import reason
from headway.wire.event import Event, Rested
from headway.wire.gate import Gate
from headway.wire.marks import ROOT
from headway.wire.phase import Exit, Phase
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.resources import is_container
from headway.wire.satchels import satchels_for
from headway.wire.talk import Done, FromController, Said, Wanting
from headway.wire.verdict import Verdict


@dataclass(frozen=True)
class Session:
    """What an order is carried out with."""

    channel: Channel
    machine: Machine
    records: Records
    clock: Clock

    def equip(self, gates: Tuple[Gate, ...] = (), *, weights: bool = False) -> bool:
        """Have what this machine and these gates need beside the runner; False: it did not come.

        With `weights` there may be some to fetch.
        On the host alone nobody can bring it: what is here has to do.
        """
        if not self.channel.supplies:
            return True
        cards = ("cards",) if satchels.has_cards(self.machine.disk) else ()
        fetching = ("weights",) if weights else ()
        wanted = (*cards, *fetching, *satchels_for(tuple(gate.kind for gate in gates)))
        return self.fetch(*dict.fromkeys(wanted))

    def fetch(self, *names: str) -> bool:
        """Have these satchels here; False: one did not come."""
        return not self.channel.supplies or all(self._need(name) for name in names)

    def equip_for(self, order: FromController) -> bool:
        """Have what Compose projects need, where what runs or what is ordered has one."""
        if not self.channel.supplies:
            return True
        ordered = getattr(order, "release", None)
        named = any(map(is_container, getattr(order, "units", ())))
        stacks = named or (isinstance(ordered, Release) and has_stack(ordered))
        stacks = stacks or satchels.may_share_cards(self.machine.disk)
        return self._need("stacks") if stacks or self._runs_stack() else True

    def _runs_stack(self) -> bool:
        try:
            return has_stack(self.records.release(self.records.state().running()))
        except RecordError:
            return False  # whoever needs the record says so

    def _need(self, satchel: str) -> bool:
        blob = satchels.lacking(satchel)
        if blob is None:
            return True
        self.channel.say(Wanting(satchel, blob))
        data = self.channel.parcel()
        if data is None or hashlib.sha256(data).hexdigest() != blob.sha256:
            return False
        satchels.unpack(satchel, data)
        return True

    def rest(
        self, code: Exit, outcome: str, sentence: str, verdict: Optional[Verdict] = None
    ) -> Done:
        """End an order that began no transition: say where the host rests, and why."""
        state = self.records.state()
        rested = Rested(state.phase, state.running(), verdict, int(code), outcome, sentence)
        self.channel.say(Said(Event(1, self.clock.now_ms(), "", rested)))
        return Done(int(code), sentence)

    def unwritable(self, error: OSError) -> Done:
        """Refuse (8) where the record cannot be written: which folder, why, and how to look."""
        folder = os.path.dirname(str(error.filename or ROOT + "/"))
        return self.rest(Exit.REFUSED, "refused", f"cannot write to {folder}: {reason(error)}")

    def occupied(self, state: State) -> Optional[Done]:
        """Refuse (4) while another transition is in hand here, resting or not."""
        if state.phase is Phase.IDLE:
            return None
        ways = {
            Phase.HELD: "resume, accept or rollback decides",
            Phase.STUCK: "see `invoke diagnose`, then rollback",
        }
        way = ways.get(state.phase, "resume follows it")
        why = f": {state.why}" if state.why else ""
        sentence = f"transition {state.transition} is {state.phase.value} here{why}; {way}"
        return self.rest(Exit.LOCKED, "locked", sentence)
