"""One attempt to bring this host to a release: the story, phase by phase (DESIGN 3).

    OPEN       ready gates, floor                     nothing is touched
    TRYING     guards, then part by part: stop, evict, write, start, gates
    PROVEN     confirm, when the way in was touched or somebody outside judged
    KEEPING    the acceptance is one rename; then guards off
    RETURNING  evidence, then backwards: stop, evict, write, start, healthy
    HELD       unproven, waiting for a person         STUCK  could not go back

Each phase is entered by `_enter`, after everything it needs is durable, and only along the table
in phases.py. Recovery enters the same methods; there is no other path.
"""

from dataclasses import dataclass, replace
from typing import Callable, Iterator, List, Optional, Set, Tuple

from headway.runner import ballast, evidence, images, retention
from headway.runner.acceptance import with_accepted
from headway.runner.beneath import beneath, uncovered
from headway.runner.changes import (
    Change,
    changes,
    launched,
    stacks_first,
    started_units,
    touched,
    touches_way_in,
)
from headway.runner.hearing import Hearing, sentence
from headway.runner.phases import Trigger, after
from headway.runner.records import RecordError
from headway.runner.resources import ResourceError
from headway.runner.steps import StepError
from headway.runner.supervisor import current
from headway.runner.supervisor_error import SupervisorError
from headway.runner.work import Work
from headway.wire.event import Moved, Rested, StepBegan, StepDone
from headway.wire.gate import Gate, Report, Subject
from headway.wire.loader import canonical
from headway.wire.phase import Exit, Phase
from headway.wire.record import Acceptance, Rejection, State, Transition
from headway.wire.release import Origin, Part, Release
from headway.wire.verdict import Verdict, combine

CONFIRM_S = 15 * 60
FLOOR_S = 60


@dataclass(frozen=True)
class Trial:
    """How a try of the target ended: what to do next, and why."""

    trigger: Trigger
    verdict: Optional[Verdict]
    why: str
    reject: bool = False


class Running:
    """A transition in the hands of its one runner, from the phase the record says."""

    def __init__(
        self, work: Work, transition: Transition, when: Callable[[str], Tuple[str, ...]]
    ) -> None:
        """`when` says of a kind of gate at which moments it is asked (judge.when)."""
        self.work = work
        self.transition = transition
        self.start = work.records.release(transition.start)
        self.target = work.records.release(transition.target)
        self.changes = changes(self.start, self.target, transition.orders.relaunch)
        self.units = tuple(
            dict.fromkeys(unit for change in self.changes for unit in change.units())
        )
        self.hearing = Hearing(work, transition, self.units, when)
        self._launched: Set[str] = set()

    # --- OPEN ----------------------------------------------------------------------------------

    def open(self) -> Rested:
        """Ask what must be so before anything is touched; then try."""
        self._enter(Trigger.BEGIN, replace(self._state(), transition=self.transition.id))
        bad = self._unready()
        if bad:
            verdict = combine(report.verdict for report in bad)
            code = Exit.REFUSED if verdict is Verdict.FAIL else Exit.HELD
            return self._close(code, verdict, sentence(bad[0]))
        if self.transition.orders.floor:
            value = self.work.desk.ask("floor", "", "may this host leave?", FLOOR_S, "no answer")
            if value != "ok":
                return self._close(Exit.REFUSED, None, f"the floor does not hold: {value}")
        if self.work.desk.wish():
            return self._close(Exit.REFUSED, None, "called off before anything was touched")
        try:
            before = images.take(self.work.machine, self.changes, self.start)
        except ResourceError as error:
            return self._close(Exit.REFUSED, None, f"there would be no way back: {error}")
        drift = tuple(wrong for c in self.changes for wrong in self.work.steps.wrong(c.old))
        self.transition = replace(self.transition, before=before, drift=drift)
        self.work.records.keep_transition(self.transition)
        try:
            self.work.steps.guard(self.transition.id, self.units)
        except StepError as error:
            return self.close(str(error))
        self._enter(Trigger.READY)
        return self.trying()

    def _unready(self) -> List[Report]:
        """Ask what must be so before anything is stopped; give what does not pass."""
        reports = [
            self.hearing.judge(gate, change.new)
            for change in self.changes
            if change.new is not None
            for gate in self.hearing.before(change.name)
        ]
        return [report for report in reports if report.verdict is not Verdict.PASS]

    def close(self, why: str = "the runner ended before anything was touched") -> Rested:
        """Leave OPEN as it was found: guards off, what they kept down runs again.

        Whoever cannot take them off dies of it and is started again, until it can.
        """
        self.work.steps.unguard(self.transition.id, self.units)
        for change in self.changes:
            self._start_down(change.name, started_units(change.old))
        return self._close(Exit.REFUSED, None, why)

    # --- TRYING --------------------------------------------------------------------------------

    def trying(self) -> Rested:
        """Bring part after part to the target and judge each; the first that fails ends it."""
        if self.transition.rungs:
            return self._sweep()
        trial = self._try_all()
        self.work.records.keep_reports(self.transition.id, tuple(self.hearing.reports))
        if trial.trigger is Trigger.PROVED:
            self._enter(Trigger.PROVED)
            return self.proven()
        if after(Phase.TRYING, trial.trigger) is Phase.RETURNING:
            return self.returning(trial)
        return self.rest(trial)

    def _try_all(self) -> Trial:
        for change in self.changes:
            try:
                trial = self._bring(change)
            except StepError as error:
                if error.stuck:  # going back would fail as this did
                    return Trial(Trigger.CANNOT_RETURN, Verdict.FAIL, str(error))
                return self._failed(str(error), reject=error.blame)
            if trial is not None:
                return trial
            gates = self.hearing.after_start(change.name)
            if not gates and change.new is not None:
                return self._unjudged(f"no gate judges {change.name}: nothing would be proved")
            for gate in gates:
                trial = self._try_gate(gate, change)
                if trial is not None:
                    return trial
            self._remember(change.name, change.new)
        return Trial(Trigger.PROVED, Verdict.PASS, "")

    def _sweep(self) -> Rested:
        """Launch the release of every rung and have it judged; then go back, whatever was said.

        What must be so before anything is stopped (room, cool air) must be so before each of them.
        All rungs write the same paths, so what was taken before the first one leads back from each.
        """
        running, (part,) = self.start, self.transition.orders.relaunch
        for name in self.transition.rungs:
            self.target = self.work.records.release(name)
            self.changes = changes(running, self.target, (part,))
            self.work.tell(StepBegan(part, "rung", name))
            began = self.work.clock.boot_ms()
            bad = self._unready()
            trial = self._unjudged(sentence(bad[0])) if bad else self._try_all()
            took = self.work.clock.boot_ms() - began
            self.work.tell(StepDone(part, "rung", took, trial.why))
            running = self.target
            if bad or trial.verdict is None or trial.trigger is Trigger.CANNOT_RETURN:
                break  # warm air, a person who called it off, or a machine that is to blame
        self.work.records.keep_reports(self.transition.id, tuple(self.hearing.reports))
        self.changes = changes(self.start, self.target, (part,))
        self._enter(Trigger.SWEPT, why=trial.why or "every launch was judged")
        return self.go_back(Exit.ACCEPTED)

    def _bring(self, change: Change) -> Optional[Trial]:
        """Stop, write, start; after a resume, a part whose new side runs is left running.

        A gate that is asked while the part is down may end the try before its start.
        """
        steps = self.work.steps
        moved = self._launch(change.new)
        tried_before = change.name in self.transition.tried and not self.transition.rungs
        if tried_before and self._alive(change.new):
            return None
        if change.name not in self.transition.tried:
            tried = (*self.transition.tried, change.name)
            self.transition = replace(self.transition, tried=tried)
            self.work.records.keep_transition(self.transition)
        self._put_down(change, moved)
        under = self._state().under
        steps.write(change, self.target, under)
        for gate in self.hearing.between(change.name):
            trial = self._try_gate(gate, change, between=True)
            if trial is not None:
                return trial
        self.hearing.starts(change.name)
        again = images.units_uncovered(change, uncovered(under, change, self.target))
        steps.start(change.name, (*started_units(change.new), *again))
        return None

    def _put_down(self, change: Change, moved: Set[str]) -> None:
        """Stop both sides and have their cards back, but not of units `moved` to another part.

        That one launched them already: nobody would judge them again.
        """
        units = tuple(unit for unit in change.units() if unit not in moved)
        self.work.freeing.note(change.name, units, self._others(units))
        self.work.steps.stop(change.name, units)
        if self.work.freeing.owes(change.name):
            self.work.steps.evict(change.name, self.work.freeing.free)

    def _remember(self, name: str, part: Optional[Part]) -> None:
        """Note who was launched for a part that was proved: what outlives it is known by that."""
        units = started_units(part)
        self.work.freeing.remember(name, units, self._others(units))

    def _others(self, units: Tuple[str, ...]) -> Tuple[str, ...]:
        """Name the units of both releases that are not among these."""
        parts = (*self.start.parts, *self.target.parts)
        names = (name for part in parts for name in launched(part))
        return tuple(name for name in dict.fromkeys(names) if name not in units)

    def _try_gate(self, gate: Gate, change: Change, *, between: bool = False) -> Optional[Trial]:
        """Judge one gate; None means on to the next. INVALID is asked once more."""
        if change.new is None:
            return None
        for attempt in (1, 2):
            report = self.hearing.judge(gate, change.new, between=between)
            if report.verdict is Verdict.PASS:
                return self._wished()
            if report.verdict is Verdict.FAIL:
                return self._failed(sentence(report), reject=True)
            wished = self._wished()
            if wished is not None:
                return wished
            if attempt == 2:  # noqa: PLR2004 # the second and last
                return self._unjudged(sentence(report))
        return None

    def _failed(self, why: str, *, reject: bool) -> Trial:
        triggers = {
            "rollout": Trigger.FAILED,
            "rollback": Trigger.CANNOT_RETURN,
            "repair": Trigger.FAILED_AGAIN,
            "sweep": Trigger.FAILED,
        }
        blamed = reject and self.transition.kind == "rollout"
        return Trial(triggers[self.transition.kind], Verdict.FAIL, why, blamed)

    def _unjudged(self, why: str) -> Trial:
        goes_back = self.transition.orders.on_invalid == "return"
        if goes_back and self.transition.kind == "rollout":
            return Trial(Trigger.UNJUDGED_RETURN, Verdict.INVALID, why)
        return Trial(Trigger.UNJUDGED, Verdict.INVALID, why)

    def _wished(self) -> Optional[Trial]:
        """Heed an abort or a hold between gates and inside their waits."""
        wish = self.work.desk.wish()
        if not wish:
            return None
        request = self.work.records.request(self.transition.id, wish)
        by = request.by if request else "somebody"
        self.work.records.drop_request(self.transition.id, wish)
        if wish == "abort" and self.transition.kind in ("rollout", "sweep"):
            return Trial(Trigger.FAILED, None, f"aborted by {by}")
        return Trial(Trigger.UNJUDGED, None, f"held by {by}")

    # --- PROVEN --------------------------------------------------------------------------------

    def proven(self) -> Rested:
        """Keep by itself, or ask for a confirmation that must come over a new connection."""
        if not self.must_be_confirmed():
            return self.keeping(self.transition.orders.by)
        reach = any(touches_way_in(change) for change in self.changes)
        why = "the way into this host was touched" if reach else "it was judged from outside"
        limit = self.transition.orders.deadlines_s.get("confirm", CONFIRM_S)
        if self.work.desk.ask("confirm", "", why, limit, "silence") == "yes":
            return self.keeping(self.transition.orders.by)
        wished = self._wished()
        if wished is not None and wished.trigger is Trigger.FAILED:
            return self.returning(wished)
        if reach:
            silent = Trial(Trigger.SILENT_REACH, None, "nobody confirmed that this host is reached")
            return self.returning(silent)
        return self.rest(Trial(Trigger.SILENT, None, "nobody confirmed"))

    def must_be_confirmed(self) -> bool:
        """Say whether this transition is kept only on a word from outside."""
        reach = any(touches_way_in(change) for change in self.changes)
        return self.hearing.outside() or reach or self.transition.orders.confirm

    # --- KEEPING -------------------------------------------------------------------------------

    def keeping(self, by: str) -> Rested:
        """Accept the target in one rename of the state; all that follows can be done again."""
        state = self._state()
        reports = tuple(self.hearing.reports)
        self.work.records.keep_reports(self.transition.id, reports)
        digest = evidence.digest(canonical(list(reports)))
        known = next((a.load_ms for a in state.accepted if a.release == self.target.id), {})
        acceptance = Acceptance(
            release=self.target.id,
            criteria=self.transition.criteria,
            at_ms=self.work.clock.now_ms(),
            by=by,
            reports_sha256=digest,
            load_ms={**known, **self.hearing.load_ms},
        )
        accepted = with_accepted(state, acceptance, self.transition.kind)
        rejected = tuple(old for old in state.rejected if old.release != self.target.id)
        kept = (self.target, *self._adopted(accepted))
        under = beneath(state.under, self.transition.before, self.start, kept)
        trigger = Trigger.ACCEPTED if state.phase is Phase.HELD else Trigger.CONFIRMED
        new = replace(state, accepted=accepted, rejected=rejected, parked=None, under=under)
        self._enter(trigger, new)
        return self.keep()

    def _adopted(self, accepted: Tuple[Acceptance, ...]) -> Iterator[Release]:
        """Name the adopted releases one may still go back to: to a damaged record nobody can."""
        for acceptance in accepted:
            try:
                release = self.work.records.release(acceptance.release)
            except RecordError:
                continue
            if release.origin is Origin.ADOPTED:
                yield release

    def keep(self) -> Rested:
        """Set the accepted release up to stay: enabled, unguarded, running."""
        steps = self.work.steps
        try:
            steps.set_enabled(self.target)
            steps.unguard(self.transition.id, self.units)
            for change in self.changes:
                self._start_down(change.name, started_units(change.new))
        except StepError as error:
            return self._rest(Exit.UNKNOWN, "accepted", None, f"accepted, but {error}")
        self._enter(Trigger.KEPT, replace(self._state(), transition=None))
        retention.sweep(self.work.machine, self.work.records)
        outcome = {"rollback": "rolled back"}.get(self.transition.kind, "accepted")
        return self._rest(
            Exit.ACCEPTED, outcome, Verdict.PASS, f"{self.target.id} is accepted on this host"
        )

    # --- RETURNING -----------------------------------------------------------------------------

    def returning(self, trial: Trial) -> Rested:
        """Enter RETURNING with the reason on disk, keep the evidence, and go back."""
        state = self._state()
        rejected = state.rejected
        if trial.reject:
            mine = Rejection(
                self.target.id, self.work.clock.now_ms(), self.transition.id, trial.why
            )
            others = tuple(old for old in rejected if old.release != self.target.id)
            rejected = (mine, *others)[: retention.REJECTED]
        self._enter(trial.trigger, replace(state, rejected=rejected), trial.why)
        evidence.snapshot(self.work.machine, self.transition.id, self.target)
        return self.go_back()

    def go_back(self, code: Exit = Exit.WENT_BACK) -> Rested:
        """Backwards over what was tried: stop, write, start, healthy; then guards off.

        Done again after a crash or a cut it does no harm: a part that is whole, running and
        healthy is left alone.
        """
        why = self._state().why
        ballast.drop_if_full(self.work.machine.disk)
        self._launched.clear()
        try:
            self.work.steps.guard(self.transition.id, self.units)
            tried = touched(self.changes, self.transition.tried)
            for change in stacks_first(reversed(tried)):
                self._take_back(change)
            self.work.steps.set_enabled(self.start)
            self.work.steps.unguard(self.transition.id, self.units)
            for change in self.changes:
                self._start_down(
                    change.name, images.units_to_restart(change, self.transition.before, self.start)
                )
        except StepError as error:
            stuck = f"{why}; going back failed: {error}"
            return self.rest(Trial(Trigger.CANNOT_RETURN, Verdict.FAIL, stuck))
        self._enter(Trigger.RETURNED, replace(self._state(), transition=None))
        retention.sweep(self.work.machine, self.work.records)
        swept = bool(self.transition.rungs) and code is Exit.ACCEPTED
        outcome = "swept" if swept else "went back"
        return self._rest(code, outcome, None, f"back on {self.start.id}: {why}")

    def _take_back(self, change: Change) -> None:
        """Bring one part back, or raise StepError with what keeps it from being healthy."""
        before = self.transition.before
        units = images.units_to_restart(change, before, self.start)
        moved = self._launch(change.old)
        if not self._is_whole(change, units):
            self._put_down(change, moved)
            self.work.steps.unwrite(change, self.start, before)
            self.work.steps.start(change.name, units)
        if change.old is None:
            return
        for gate in self.hearing.on_return(change.name, self.start.id):
            report = self.hearing.judge(gate, change.old)
            as_before = gate.kind == "in_place" and self._as_it_was(change.old)
            if report.verdict is not Verdict.PASS and not as_before:
                raise StepError(sentence(report), blame=False)
        self._remember(change.name, change.old)

    def _is_whole(self, change: Change, units: Tuple[str, ...]) -> bool:
        """Say whether the old side stands as it was: in place, running, nothing of the new."""
        if change.old is None or not units:
            return False
        if any(self._current(unit) is None for unit in units):
            return False
        now = images.take(self.work.machine, (change,), self.start)
        if images.contents(now) != images.contents(
            images.before_of(change, self.transition.before)
        ):
            return False
        return self._as_it_was(change.old)

    def _as_it_was(self, part: Part) -> bool:
        """Say whether a part of the old side differs in nothing but what differed at OPEN."""
        return set(self.work.steps.wrong(part)) <= set(self.transition.drift)

    # --- HELD and STUCK ------------------------------------------------------------------------

    def rest(self, trial: Trial) -> Rested:
        """Rest for a person: unproven and guarded (HELD), or not to be brought back (STUCK)."""
        phase = self._enter(trial.trigger, why=trial.why)
        if phase is Phase.STUCK:
            return self._rest(Exit.STUCK, "stuck", trial.verdict, trial.why)
        return self._rest(Exit.HELD, "held", trial.verdict, trial.why)

    def rest_again(self) -> Rested:
        """Say once more where this host rests; recovery leaves HELD and STUCK to a person."""
        state = self._state()
        stuck = state.phase is Phase.STUCK
        code, outcome = (Exit.STUCK, "stuck") if stuck else (Exit.HELD, "held")
        return self._rest(code, outcome, None, state.why)

    def again(self) -> Rested:
        """A person resumes: judge what runs once more, and go on with the parts that follow."""
        self._enter(Trigger.JUDGE_AGAIN)
        return self.trying()

    def back(self, by: str) -> Rested:
        """A person sends it back: done as ordered, that is exit code 0."""
        state = self._state()
        self._enter(Trigger.BACK, why=f"{state.why}; sent back by {by}")
        return self.go_back(Exit.ACCEPTED)

    # --- inside --------------------------------------------------------------------------------

    def _launch(self, part: Optional[Part]) -> Set[str]:
        """Note that a part's units are launched now; give those that other parts launched."""
        mine = set(launched(part))
        others = self._launched - mine
        self._launched |= mine
        return others

    def _alive(self, part: Optional[Part]) -> bool:
        units = started_units(part)
        return bool(units) and all(self._current(unit) for unit in units)

    def _start_down(self, name: str, units: Tuple[str, ...]) -> None:
        down = tuple(unit for unit in units if self._current(unit) is None)
        if down:
            self.work.steps.start(name, down)

    def _current(self, unit: str) -> Optional[Subject]:
        """Look at a launch; where nobody answers for it, that is a step that failed."""
        try:
            return current(self.work.machine, unit)
        except SupervisorError as error:
            raise StepError(f"look at {unit}: {error}", blame=False) from None

    def _state(self) -> State:
        return self.work.records.state()

    def _enter(self, trigger: Trigger, state: Optional[State] = None, why: str = "") -> Phase:
        """Move along the table: one durable rename of all that changes with it, then the event."""
        old = self._state()
        phase = after(old.phase, trigger)
        now = self.work.clock.now_ms()
        last = self.transition.id if phase is Phase.IDLE else old.last
        new = replace(state or old, phase=phase, since_ms=now, why=why, last=last)
        self.work.records.save(new)
        self.work.tell(Moved(old.phase, phase, why))
        return phase

    def _close(self, code: Exit, verdict: Optional[Verdict], why: str) -> Rested:
        self._enter(Trigger.NOT_READY, replace(self._state(), transition=None))
        outcome = "refused" if code is Exit.REFUSED else "not judged"
        return self._rest(code, outcome, verdict, why)

    def _rest(self, code: Exit, outcome: str, verdict: Optional[Verdict], sentence: str) -> Rested:
        state = self._state()
        rested = Rested(state.phase, state.running(), verdict, int(code), outcome, sentence)
        self.work.tell(rested)
        return rested
