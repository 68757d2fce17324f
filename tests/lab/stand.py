"""A host that stands on release A, and moments at which something happens to its way to B.

Both releases load for a while, so that a health gate has something to wait for, and B shows in
files, in a folder and in argv. What a release looks like is learned once, from outside.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from tests.lab.fleet import Controller, Fleet, Said
from tests.lab.host import Host
from tests.lab.looks import Whole, argv, reaches, state, step_done, until, whole

UNIT = "engine.service"
GO = "/var/go"
LOADS = {"options": {"delay_s": "0.6"}}
A: Mapping[str, object] = {"colour": "red", **LOADS}
B: Mapping[str, object] = {"colour": "blue", "extra": "/srv/deep/only-b", **LOADS}
TRIES = 4


@dataclass(frozen=True)
class Moment:
    """A phase on the way to B, and how a rollout is made to stay there for a while.

    `step` is the step just done; `more` are variables that change criteria, never the release.
    `alone`: the controller is lost in TRYING already, since it would confirm.
    """

    name: str
    phase: str
    step: str = ""
    more: Mapping[str, object] = field(default_factory=dict, hash=False)
    alone: bool = False


OPEN = Moment("OPEN", "OPEN", more={"pause": True})
STOPPED = Moment("TRYING, stopped", "TRYING", "stop")
WRITTEN = Moment("TRYING, written", "TRYING", "write")
STARTED = Moment("TRYING, a gate waits", "TRYING", "start")
PROVEN = Moment("PROVEN", "PROVEN", alone=True)
HELD = Moment("HELD", "HELD", more={"ask": ["sleep", "60"], "ask_s": 1})
KEEPING = Moment("KEEPING", "KEEPING")
RETURNING = Moment("RETURNING", "RETURNING", more={"ask": ["false"]})


@dataclass
class Stand:
    """One host with a fleet of its own."""

    fleet: Fleet
    host: Host
    a: Whole
    b: Whole
    seen: set[bytes] = field(default_factory=set)

    @contextmanager
    def at(self, moment: Moment) -> Iterator[Controller]:
        """Roll B out and come back at this very moment, with the controller still there."""
        self.host.path(GO).unlink(missing_ok=True)
        self.fleet.describe(self.host, engine={**B, **moment.more})
        words = ["--confirm", "--confirm-within", "60"] if moment.alone else []
        with self.fleet.begin("rollout", self.host, "--again", *words) as controller:
            if moment.alone:
                reaches(self.host, "TRYING", "start")
                controller.kill()
            reaches(self.host, moment.phase, moment.step)
            yield controller

    def looks(self) -> str:
        """Say which release the host is on, whole and running: A, B or what differs from both."""
        now = whole(self.host, UNIT)
        if now == self.a:
            return "A"
        return "B" if now == self.b else f"neither: {now.differences(self.a)}"

    def rests(self, phase: str = "IDLE") -> dict[str, Any]:
        """Wait until the transition rests in this phase; note what ran meanwhile."""

        def there() -> bool:
            self.seen.add(argv(self.host, UNIT))
            return bool(state(self.host)["phase"] == phase)

        self.seen.clear()
        until(f"{self.host.name} rests {phase}", there, 60)
        return state(self.host)

    def ran_b(self) -> bool:
        """Tell whether B was seen running while the host came to rest."""
        return any(b"blue" in words for words in self.seen)

    def is_at(self, moment: Moment) -> bool:
        """Tell whether the record says this moment, as a host that is off says it."""
        now = state(self.host)
        return now["phase"] == moment.phase and (
            not moment.step or step_done(self.host, moment.step)
        )

    def back_to_a(self) -> Said | None:
        """Bring the host to A where it is not there."""
        if state(self.host)["phase"] == "IDLE" and self.looks() == "A":
            return None
        said = self.fleet.invoke("rollback", self.host)
        assert said.code == 0, said.sentence
        assert self.looks() == "A"
        return said


def stand(fleet: Fleet, host: Host) -> Stand:
    """Bring a host to A, to B, and back, and learn what each looks like."""

    def look(release: Mapping[str, object]) -> Whole:
        fleet.describe(host, engine=release)
        said = fleet.invoke("rollout", host)
        assert said.code == 0, (said.stderr, said.told("host_ended"))
        return whole(host, UNIT)

    made = Stand(fleet, host, look(A), look(B))
    made.back_to_a()
    return made


Trial = Callable[[Stand], object]


def each(stands: Sequence[Stand], trials: Mapping[str, Trial]) -> str:
    """Carry out trials on whichever host is free, and say what failed and how; "" is all well."""
    queue: SimpleQueue[tuple[str, Trial]] = SimpleQueue()
    for item in trials.items():
        queue.put(item)
    failed: list[str] = []

    def work(one: Stand) -> None:
        while True:
            try:
                name, trial = queue.get_nowait()
            except Empty:
                return
            try:
                one.back_to_a()
                trial(one)
            except Exception as error:  # noqa: BLE001 # the others go on; all is told at the end
                failed.append(f"{name} on {one.host.name}: {type(error).__name__}: {error}")

    with ThreadPoolExecutor(len(stands)) as pool:
        list(pool.map(work, stands))
    return "\n".join(failed)
