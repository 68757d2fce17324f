"""What is done to one part: stop, evict, write, start; and the same backwards.

Every step says when it begins and how long it took. A step that fails raises StepError; `blame`
says whether the release is at fault (its unit does not start) or the machine (a full disk).
`stuck`: going back would fail as this did (a process that cannot die holds the cards).
"""

from typing import Callable, Iterable, Optional, Set, Tuple

from headway.runner import guard, resources, satchels, supervisor, systemd
from headway.runner.beneath import uncovered
from headway.runner.changes import (
    Change,
    leaving,
    owned,
    paths,
    switching,
    units_of,
)
from headway.runner.clock import Clock
from headway.runner.freeing import NotFreedError
from headway.runner.images import before_of
from headway.runner.machine import Machine
from headway.runner.supervisor_error import SupervisorError
from headway.runner.watch import Watch
from headway.wire.event import Body, Noted, StepBegan, StepDone
from headway.wire.record import Before
from headway.wire.release import Part, Release
from headway.wire.resources import dropin_path

STOP_S = 300
START_S = 300


class StepError(Exception):
    """A step did not do what it is for: one sentence."""

    def __init__(self, sentence: str, *, blame: bool, stuck: bool = False) -> None:
        """Keep whether the release itself is at fault, or the machine for whatever would run."""
        super().__init__(sentence)
        self.blame = blame
        self.stuck = stuck


class Steps:
    """The hands of one transition. `killed` are parts of which a unit did not go by itself."""

    def __init__(
        self, machine: Machine, tell: Callable[[Body], None], clock: Clock, watch: Watch
    ) -> None:
        self.machine = machine
        self.tell = tell
        self.clock = clock
        self.watch = watch
        self.killed: Set[str] = set()

    # --- forward -----------------------------------------------------------------------------

    def stop(self, name: str, units: Tuple[str, ...]) -> None:
        """Stop these units and see that each is down; cards have no room for two."""

        def work() -> str:
            said = []
            for unit in units:
                self.watch.expect(STOP_S + 30)
                how = supervisor.stop(self.machine, unit, STOP_S)
                self.killed.update({name} if how == systemd.KILLED else ())
                said.append(f"{unit} {how}")
            return ", ".join(said)

        self._step(name, "stop", work, units, blame=False)

    def evict(self, name: str, free: Callable[[str], str]) -> None:
        """Have the cards of a part that is stopped back; what cannot be had makes it stuck."""
        self._step(name, "evict", lambda: free(name), blame=False)

    def write(self, change: Change, target: Release, under: Tuple[Before, ...]) -> None:
        """Write the new side; what only the old one had goes, what lay beneath it comes back."""

        def work() -> str:
            if change.new is None:
                self._disable(change.old)
            going, was = leaving(change.old, target), uncovered(under, change, target)
            resources.go_back(going, switching(change.new), was, self.machine)
            self._reload(change.units())
            return ""

        self._step(change.name, "write", work, change.units(), blame=False)

    def start(self, name: str, units: Tuple[str, ...]) -> None:
        """Start these units; a unit that does not start is the release's fault."""

        def work() -> str:
            started = []
            for unit in units:
                self.watch.expect(START_S + 30)
                supervisor.start(self.machine, unit, START_S)
                started.append(unit)
            return ", ".join(started)

        self._step(name, "start", work, units, blame=True)

    # --- back --------------------------------------------------------------------------------

    def unwrite(self, change: Change, start: Release, before: Tuple[Before, ...]) -> None:
        """Write the old side again, and put back or take away what the new one brought."""

        def work() -> str:
            kept = owned(start)
            going = [res for res in switching(change.new) if not kept.intersection(paths(res))]
            was = before_of(change, before)
            resources.go_back(going, switching(change.old), was, self.machine)
            self._reload(change.units())
            return ""

        self._step(change.name, "write", work, change.units(), blame=False)

    def wrong(self, part: Optional[Part]) -> Tuple[str, ...]:
        """Say what of all that a part switches is not as it wants it."""
        found = (resources.diff(each, self.machine, enabled=False) for each in switching(part))
        return tuple(sentence for sentence in found if sentence is not None)

    def tidy(self, changes: Iterable[Change]) -> None:
        """Remove the temporary files that a write cut in the middle may have left."""
        for change in changes:
            for resource in (*switching(change.old), *switching(change.new)):
                for path in paths(resource):
                    self.machine.disk.drop_temporary(path)
            for unit in supervisor.units(change.units()):
                self.machine.disk.drop_temporary(dropin_path(unit, guard.NAME))

    # --- guards ------------------------------------------------------------------------------

    def guard(self, transition: str, units: Tuple[str, ...]) -> None:
        """Guard these units and let them start in this boot alone."""

        def work() -> str:
            guard.token_on(self.machine, transition)
            guard.put(self.machine, transition, units)
            self._reload(units)
            return ", ".join(units)

        self._step("", "guard", work, units, blame=False)

    def unguard(self, transition: str, units: Tuple[str, ...]) -> None:
        """Give these units their own restart policy back."""

        def work() -> str:
            guard.off(self.machine, units)
            self._reload(units)
            guard.token_off(self.machine, transition)
            return ", ".join(units)

        self._step("", "unguard", work, units, blame=False)

    def set_enabled(self, release: Release) -> None:
        """Enable and disable the units of a release as it says."""

        def work() -> str:
            changed = []
            for unit in (unit for part in release.parts for unit in units_of(part)):
                if systemd.is_enabled(self.machine.run, unit.name) is not unit.enabled:
                    change = systemd.enable if unit.enabled else systemd.disable
                    change(self.machine.run, [unit.name])
                    changed.append(unit.name)
            return ", ".join(changed)

        self._step("", "enable", work, blame=False)

    # --- inside ------------------------------------------------------------------------------

    def _step(
        self,
        part: str,
        step: str,
        work: Callable[[], str],
        units: Tuple[str, ...] = (),
        *,
        blame: bool,
    ) -> None:
        self.tell(StepBegan(part, step))
        began = self.clock.boot_ms()
        self.watch.expect(120)
        try:
            supervisor.answers(self.machine, units)
        except SupervisorError as error:
            raise StepError(f"{step} of {part}: {error}", blame=False) from None
        try:
            detail = work()
        except NotFreedError as error:
            raise StepError(f"{step} of {part}: {error}", blame=False, stuck=True) from None
        except SupervisorError as error:
            raise StepError(f"{step} of {part}: {error}", blame=blame) from None
        except (resources.ResourceError, OSError) as error:
            raise StepError(f"{step} of {part}: {error}", blame=False) from None
        self.tell(StepDone(part, step, self.clock.boot_ms() - began, detail))

    def _reload(self, names: Iterable[str]) -> None:
        """Have systemd read its units again, where there are any; say whom that cuts off cards."""
        if not supervisor.units(names):
            return
        before: Tuple[str, ...] = ()
        shared = satchels.has_cards(self.machine.disk) and satchels.lacking("stacks") is None
        if shared:
            from headway.runner.containers import reloading  # where containers may hold cards

            before = reloading.reaching(self.machine)
        systemd.daemon_reload(self.machine.run)
        for sentence in reloading.cut_off(self.machine, before) if before else ():
            self.tell(Noted(sentence))

    def _disable(self, part: Optional[Part]) -> None:
        names = [unit.name for unit in units_of(part)]
        enabled = [name for name in names if systemd.is_enabled(self.machine.run, name)]
        if enabled:
            systemd.disable(self.machine.run, enabled)
