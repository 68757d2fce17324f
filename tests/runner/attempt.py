"""Releases of one or two small units, and a transition over them in a World."""

from headway.runner.desk import Desk
from headway.runner.freeing import freeing_of
from headway.runner.records import Records
from headway.runner.recover import pick_up
from headway.runner.teller import Teller
from headway.runner.transition import Running
from headway.runner.watch import Watch
from headway.runner.work import FreeingFor, Judge, Work, work_of
from headway.wire.event import Rested
from headway.wire.gate import Criteria, Gate, criteria_of
from headway.wire.record import SCHEMA, Orders, State, Transition
from headway.wire.release import Part, Release, SubjectSpec
from headway.wire.resources import Blob, Dir, File, Resource, Unit
from tests.runner.world import World

UNIT = """[Unit]
Description={words}
[Service]
ExecStart=/opt/{name}
Restart=always
[Install]
WantedBy=multi-user.target
"""


def blob(world: World, text: str) -> Blob:
    """Keep bytes on the host."""
    data = text.encode()
    return Blob(world.machine.blobs.put(data), len(data))


def part(world: World, name: str, words: str, files: dict[str, str] | None = None) -> Part:
    """Make a part with a unit NAME.service whose description is `words`, and files."""
    unit = Unit(
        f"{name}.service", blob(world, UNIT.format(name=name, words=words)), restart="always"
    )
    rest: list[Resource] = [Dir(f"/etc/{name}")]
    rest += [File(path, blob(world, text), 0o600) for path, text in (files or {}).items()]
    return Part(name, "service", (*rest, unit), subject=SubjectSpec(unit.name))


def criteria(release: Release, before: tuple[str, ...] = ()) -> Criteria:
    """Ask in_place and health of every part, and these kinds before anything is stopped."""
    kinds = (*before, "in_place", "health")
    gates = tuple(Gate(kind, kind, p.name) for p in release.parts for kind in kinds)
    return criteria_of(gates, "checks")


class Attempt:
    """Transitions of one world, one after the other."""

    def __init__(self, world: World, freeing: FreeingFor = freeing_of) -> None:
        """Prepare the record; `freeing` is what frees the cards of this world."""
        self.world = world
        self.freeing = freeing
        self.records = Records(world.disk)
        self.records.prepare()
        self.count = 0
        self.before: tuple[str, ...] = ()

    def order(
        self,
        start: Release,
        target: Release,
        kind: str = "rollout",
        orders: Orders | None = None,
        rungs: tuple[Release, ...] = (),
    ) -> Transition:
        """Write a transition down, as begin does."""
        self.count += 1
        judged = criteria(target, self.before)
        for release in (start, target, *rungs):
            self.records.keep_release(release)
        self.records.keep_criteria(judged)
        transition = Transition(
            schema=SCHEMA,
            id=f"t{self.count}",
            kind=kind,
            start=start.id,
            target=target.id,
            criteria=judged.id,
            orders=orders or Orders("test"),
            runner_sha256="runner",
            boot_id=self.world.clock.boot_id(),
            opened_at_ms=0,
            rungs=tuple(rung.id for rung in rungs),
        )
        self.records.keep_transition(transition)
        return transition

    def running(self, transition: Transition) -> Running:
        """Take a transition into hand, as a fresh runner does."""
        return Running(self._work(transition.id), self.records.transition(transition.id), _when)

    def open(self, transition: Transition) -> Rested:
        """Carry it out from the start."""
        return self.running(transition).open()

    def bring(self, target: Release, kind: str = "rollout", orders: Orders | None = None) -> Rested:
        """Bring the host from what it runs to `target`."""
        start = self.records.release(self.state().running())
        return self.open(self.order(start, target, kind, orders))

    def sweep(self, *rungs: Release) -> Rested:
        """Launch these in turn, and come back."""
        start = self.records.release(self.state().running())
        orders = Orders("test", relaunch=(rungs[0].parts[-1].name,))
        return self.open(self.order(start, rungs[0], "sweep", orders, rungs))

    def pick_up(self) -> Rested | None:
        """Recover, as headway-recover.service and a restarted runner do."""
        state = self.state()
        if state.transition is None:
            return None
        running = self.running(self.records.transition(state.transition))
        return pick_up(running, state, self.world.clock.boot_id())

    def state(self) -> State:
        """Read where the host stands."""
        return self.records.state()

    def _work(self, name: str) -> Work:
        def judge(tell: Teller, desk: Desk) -> Judge:
            del tell, desk
            return self.world.judge

        world = self.world
        return work_of(world.machine, world.clock, Watch(), judge, name, freeing=self.freeing)


def _when(kind: str) -> tuple[str, ...]:
    moments = {"ready": ("before",), "nccl": ("between", "after"), "thermal": ("before", "during")}
    return moments.get(kind, ("after",))
