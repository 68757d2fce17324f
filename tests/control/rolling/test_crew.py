"""One host at a time, asked ahead, stopped by budget and Ctrl-C, followed after a lost line.

The hosts are doubles: folders of this machine, with a runner double that follows a script.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.control.errors import ConfigError
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.rolling.crew import Crew, Outcome
from headway.control.rolling.visit import Answering, Task, Visit
from headway.control.telling.story import (
    Connecting,
    HostEnded,
    HostSaid,
    Lost,
    Note,
    Told,
    Turn,
)
from headway.wire.event import Ask
from headway.wire.gate import criteria_of
from headway.wire.phase import Exit
from headway.wire.record import Orders
from headway.wire.release import Part, release_of
from headway.wire.resources import Blob, File
from headway.wire.talk import Order, Rollback, Rollout
from tests.control.doubles import LocalTransport, installed, scripted

BLOB = Blob("b" * 64, 4)
RELEASE = release_of((Part("llama", "engine", (File("/etc/llama.env", BLOB),)),))
ROLLOUT = Rollout(RELEASE, criteria_of((), "c"), Orders("op"))
ROLLBACK = Rollback(Orders("op"))

# The double keeps its "transition" in files of its folder, so that it outlives a connection.
RUNNER = """
import os, time
HOME = os.getcwd()
def wrote(name):
    return os.path.exists(HOME + "/" + name)
def write(name, text=""):
    with open(HOME + "/" + name, "a") as file:
        file.write(text)
seq = 0
def event(body, transition="t1"):
    global seq
    seq += 1
    say({"said": {"event": {"seq": seq, "at_ms": 1, "transition": transition, "body": body}}})
def moved(frm, to):
    event({"moved": {"frm": frm, "to": to, "why": ""}})
def rested(code, outcome, transition="t1"):
    event({"rested": {"phase": "IDLE", "accepted": "r", "verdict": None, "exit_code": code,
                      "outcome": outcome, "sentence": outcome}}, transition)
    say({"done": {"exit_code": code, "sentence": outcome}})
def missing():
    say({"missing": {"blobs": [{"sha256": "b" * 64, "size": 4, "secret": False}],
                     "changed": ["llama"], "running": "old"}})
    size = hear()["bytes"]["size"]
    write("blob", hear_bytes(size).decode())
    assert "go" in hear()
order = hear()
write("orders", list(order)[0] + " ")
"""
UNCHANGED = 'rested(0, "unchanged", "")'
ACCEPTED = 'missing(); moved("IDLE", "OPEN"); time.sleep(0.05); rested(0, "accepted")'
FAILED = 'missing(); moved("IDLE", "OPEN"); rested(1, "went back")'


@dataclass
class Bench:
    """Hosts as doubles, a story that is kept, and a crew to run them."""

    folder: Path
    told: list[Told] = field(default_factory=list)
    transports: dict[str, list[LocalTransport]] = field(default_factory=dict)

    def run(  # what a test chooses
        self,
        scripts: dict[str, str],
        *,
        order: Order = ROLLOUT,
        budget: int = 0,
        ahead: int = 8,
        answer: Answering = lambda _visit, _ask: None,
        lost_s: float = 5,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Run one verb over hosts that follow these scripts."""
        crew = Crew(self.told.append, "op", budget=budget, ahead=ahead)
        visits = []
        for name, script in scripts.items():
            (self.folder / name).mkdir(exist_ok=True)
            reach = Reach(scripted(RUNNER + script), self.dial)
            installed(reach.pack, self.folder / name)
            task = Task(Host(name, name, (), {}), order, {BLOB.sha256: b"1234"})
            visits.append(
                Visit(
                    task,
                    reach,
                    self.told.append,
                    answer=answer,
                    moved=crew.moved,
                    lost_s=lost_s,
                )
            )
        threading.Thread(target=meanwhile, daemon=True).start()
        return crew.one_by_one(visits)

    def dial(self, host: Host) -> LocalTransport:
        """Connect to a double."""
        transport = LocalTransport(self.folder / host.name)
        self.transports.setdefault(host.name, []).append(transport)
        return transport

    def heard(self, kind: type) -> list[Told]:
        """Give what was told of a kind."""
        return [told for told in self.told if isinstance(told, kind)]

    def ended(self) -> dict[str, tuple[int, str]]:
        """Say how each host ended."""
        return {
            told.host: (told.exit_code, told.outcome)
            for told in self.told
            if isinstance(told, HostEnded)
        }

    def until(self, wanted: Callable[[Told], bool]) -> None:
        """Wait until something was told."""
        until = time.monotonic() + 10
        while not any(wanted(told) for told in tuple(self.told)):
            assert time.monotonic() < until, "it was never told"
            time.sleep(0.01)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return an empty bench."""
    return Bench(tmp_path)


def test_unchanged_hosts_have_no_turn(bench: Bench) -> None:
    """All are asked at once, over one connection each, and none is told to begin."""
    outcome = bench.run({f"gpu{n}": UNCHANGED for n in range(1, 6)})
    assert outcome == Outcome((Exit.ACCEPTED,) * 5, ())
    assert bench.heard(Turn) == []
    assert len(bench.heard(Connecting)) == 5
    assert set(bench.ended().values()) == {(0, "unchanged")}


def test_a_host_begins_after_the_one_before_was_accepted(bench: Bench) -> None:
    """The second one is connected and waits with nothing sent until the first one has ended."""
    outcome = bench.run({"gpu1": ACCEPTED, "gpu2": ACCEPTED})
    assert outcome == Outcome((Exit.ACCEPTED, Exit.ACCEPTED), ())
    story = [(type(told).__name__, told.host) for told in bench.told if hasattr(told, "host")]
    assert story.index(("HostEnded", "gpu1")) < story.index(("Turn", "gpu2"))
    assert story.index(("Connecting", "gpu2")) < story.index(("HostEnded", "gpu1"))
    assert len(bench.transports["gpu2"]) == 1


def test_after_a_failure_nothing_is_sent_to_the_next_host(bench: Bench) -> None:
    """Host 1 goes back: host 2 was asked, and is left without a blob and without a Go."""
    outcome = bench.run({"gpu1": FAILED, "gpu2": ACCEPTED, "gpu3": UNCHANGED})
    assert Exit.WENT_BACK in outcome.codes
    assert "gpu2" in outcome.untouched
    assert not (bench.folder / "gpu2/blob").exists()
    assert [turn.host for turn in bench.heard(Turn) if isinstance(turn, Turn)] == ["gpu1"]


def test_a_budget_lets_the_rollout_go_on(bench: Bench) -> None:
    """--budget 1: one host may fail, the second failure stops."""
    scripts = {"gpu1": FAILED, "gpu2": ACCEPTED, "gpu3": FAILED, "gpu4": ACCEPTED}
    outcome = bench.run(scripts, budget=1)
    assert outcome.codes == (Exit.WENT_BACK, Exit.ACCEPTED, Exit.WENT_BACK)
    assert outcome.untouched == ("gpu4",)


def test_an_unreachable_host_spends_the_budget_in_its_place(bench: Bench) -> None:
    """Host 2 cannot be reached: host 1 had its turn, host 3 gets none."""
    scripts = {"gpu1": ACCEPTED, "gpu2": "sys.exit(9)", "gpu3": ACCEPTED}
    outcome = bench.run(scripts)
    assert bench.ended()["gpu1"] == (0, "accepted")
    assert bench.ended()["gpu2"] == (5, "unreachable")
    assert outcome.untouched == ("gpu3",)


def test_a_window_bounds_the_connections(bench: Bench) -> None:
    """Of many hosts only so many are connected to ahead of their turn."""
    scripts = {f"gpu{n}": ACCEPTED for n in range(1, 6)}
    bench.run(scripts, ahead=2)
    connected = 0
    for told in bench.told:
        connected += isinstance(told, Connecting) - isinstance(told, HostEnded)
        assert connected <= 2


def test_what_is_no_rollout_connects_only_at_its_turn(bench: Bench) -> None:
    """A rollback begins as soon as it is ordered, so it is not ordered ahead."""
    script = 'moved("IDLE", "OPEN"); rested(0, "accepted")'
    bench.run({"gpu1": script, "gpu2": script}, order=ROLLBACK, ahead=0)
    story = [(type(told).__name__, told.host) for told in bench.told if hasattr(told, "host")]
    assert story.index(("HostEnded", "gpu1")) < story.index(("Connecting", "gpu2"))


# --- a connection that goes -----------------------------------------------------------------------

CUT = """
if "follow" in order:
    since = order["follow"]["since"]
    assert order["follow"]["transition"] == "t1" and since == 2, order
    seq = since
    rested(0, "accepted")
else:
    missing(); moved("IDLE", "OPEN"); moved("OPEN", "TRYING"); time.sleep(60)
"""


def test_a_lost_transition_is_followed_from_where_it_was(bench: Bench) -> None:
    """The line goes after two events: the visit comes back and asks for what came since."""
    bench.run({"gpu1": CUT}, meanwhile=lambda: cut_after(bench, seq=2))
    assert bench.ended() == {"gpu1": (0, "accepted")}
    assert len(bench.heard(Lost)) == 1
    assert [told.again for told in bench.told if isinstance(told, Connecting)] == [False, True]
    assert (bench.folder / "gpu1/orders").read_text() == "rollout follow "


def cut_after(bench: Bench, seq: int) -> None:
    """Cut the connection of gpu1 once an event was heard."""
    bench.until(lambda told: isinstance(told, HostSaid) and told.event.seq == seq)
    bench.transports["gpu1"][0].streams[0].cut()


def test_a_host_that_was_lost_while_it_waited_is_asked_again_at_its_turn(bench: Bench) -> None:
    """Its line goes while host 1 is in hand: nothing had begun, so its turn begins anew."""
    slow = 'missing(); moved("IDLE", "OPEN"); time.sleep(1); rested(0, "accepted")'

    def cut_the_waiting() -> None:
        bench.until(lambda told: isinstance(told, HostSaid))
        while not (bench.folder / "gpu2/orders").exists():
            time.sleep(0.01)
        time.sleep(0.2)
        bench.transports["gpu2"][0].streams[0].cut()

    outcome = bench.run({"gpu1": slow, "gpu2": ACCEPTED}, meanwhile=cut_the_waiting)
    assert outcome == Outcome((Exit.ACCEPTED, Exit.ACCEPTED), ())
    assert len(bench.transports["gpu2"]) == 2


STAGING = """
if wrote("staged"):
    missing(); moved("IDLE", "OPEN"); rested(0, "accepted")
else:
    missing(); write("staged")
    event({"step_began": {"part": "llama", "step": "stage", "detail": ""}}); time.sleep(60)
"""


def test_a_rollout_that_never_opened_is_ordered_again(bench: Bench) -> None:
    """The line goes while the host stages: the same rollout is ordered once more."""
    bench.run({"gpu1": STAGING}, meanwhile=lambda: cut_after(bench, seq=1))
    assert bench.ended() == {"gpu1": (0, "accepted")}
    assert (bench.folder / "gpu1/orders").read_text() == "rollout rollout "


OPENED_UNSEEN = """
if "follow" in order:
    rested(0, "accepted")
elif wrote("open"):
    rested(4, "locked", "")
else:
    missing(); write("open")
    event({"step_began": {"part": "llama", "step": "stage", "detail": ""}}); time.sleep(60)
"""


def test_a_transition_that_opened_unseen_is_followed(bench: Bench) -> None:
    """Ordered again, the host says locked: by what we ordered before, so it is followed."""
    bench.run({"gpu1": OPENED_UNSEEN}, meanwhile=lambda: cut_after(bench, seq=1))
    assert bench.ended() == {"gpu1": (0, "accepted")}
    assert (bench.folder / "gpu1/orders").read_text() == "rollout rollout follow "


def test_an_outcome_that_cannot_be_learnt_is_unknown(bench: Bench) -> None:
    """The host never comes back within the limit: 6, and what to do next."""
    script = 'missing(); moved("IDLE", "OPEN"); sys.exit(3)'
    bench.run({"gpu1": f"sys.exit(9) if 'follow' in order else None; {script}"}, lost_s=0.7)
    assert bench.ended() == {"gpu1": (6, "unknown")}
    (last,) = bench.heard(HostEnded)
    assert isinstance(last, HostEnded)
    assert "invoke resume" in last.sentence


def test_a_rollback_is_never_ordered_twice(bench: Bench) -> None:
    """A second rollback goes further back: lost before its first word, it is unknown."""
    bench.run({"gpu1": "time.sleep(0.1); sys.exit(9)"}, order=ROLLBACK, ahead=0)
    assert bench.ended() == {"gpu1": (6, "unknown")}
    assert (bench.folder / "gpu1/orders").read_text() == "rollback "


# --- asks -----------------------------------------------------------------------------------------

ASKED = """
if "follow" in order:
    answer = hear()["answer"]; write("answer", answer["value"])
    event({"replied": {"answer": answer}}); rested(0, "accepted")
else:
    missing(); moved("IDLE", "OPEN")
    event({"asked": {"ask": {"n": 7, "what": "floor", "part": "", "detail": "", "deadline_s": 9,
                             "default": "no"}}})
    answer = hear()["answer"]
    if wrote("cut"):
        time.sleep(60)
    write("answer", answer["value"])
    event({"replied": {"answer": answer}}); rested(0, "accepted")
"""


def floor_only(_visit: Visit, ask: Ask) -> str | None:
    """Answer one kind of ask."""
    return "ok" if ask.what == "floor" else None


def test_an_ask_is_answered_while_the_host_waits(bench: Bench) -> None:
    """The answer is found in a thread and said over the same connection."""
    bench.run({"gpu1": ASKED}, answer=floor_only)
    assert bench.ended() == {"gpu1": (0, "accepted")}
    assert (bench.folder / "gpu1/answer").read_text() == "ok"


def test_an_answer_that_may_be_lost_is_said_again(bench: Bench) -> None:
    """The line goes after the answer was sent and before the host went by it."""
    (bench.folder / "gpu1").mkdir()
    (bench.folder / "gpu1/cut").touch()
    bench.run({"gpu1": ASKED}, answer=floor_only, meanwhile=lambda: cut_when_answered(bench))
    assert bench.ended() == {"gpu1": (0, "accepted")}
    assert (bench.folder / "gpu1/answer").read_text() == "ok"


def cut_when_answered(bench: Bench) -> None:
    """Cut the connection once the answer went out."""
    bench.until(lambda told: isinstance(told, HostSaid) and told.event.seq == 2)
    stream = bench.transports["gpu1"][0].streams[0]
    while b'"answer"' not in stream.sent:
        time.sleep(0.01)
    stream.cut()


# --- Ctrl-C ---------------------------------------------------------------------------------------

SLOW = """
missing(); moved("IDLE", "OPEN")
if wrote("patient"):
    time.sleep(0.5); rested(0, "accepted")
else:
    assert hear()["request"]["what"] == "abort"
    rested(1, "went back")
"""


def press(bench: Bench, times: int) -> None:
    """Press Ctrl-C so many times once gpu1 has opened, each after the one before was heard."""
    bench.until(lambda told: isinstance(told, HostSaid))
    for n in range(1, times + 1):
        os.kill(os.getpid(), signal.SIGINT)
        bench.until(lambda _told, n=n: len(bench.heard(Note)) >= n)  # type: ignore[misc]


def test_ctrl_c_once_lets_this_host_end(bench: Bench) -> None:
    """The transition in hand goes on to its end; the next host does not start."""
    (bench.folder / "gpu1").mkdir()
    (bench.folder / "gpu1/patient").touch()
    outcome = bench.run({"gpu1": SLOW, "gpu2": ACCEPTED}, meanwhile=lambda: press(bench, 1))
    assert outcome == Outcome((Exit.ACCEPTED,), ("gpu2",), called_off=True)


def test_ctrl_c_twice_sends_this_host_back(bench: Bench) -> None:
    """The host hears abort and says itself how it ended."""
    outcome = bench.run({"gpu1": SLOW, "gpu2": ACCEPTED}, meanwhile=lambda: press(bench, 2))
    assert outcome == Outcome((Exit.WENT_BACK,), ("gpu2",), called_off=True)


def test_ctrl_c_three_times_leaves_and_says_what_the_host_does(bench: Bench) -> None:
    """A host that does not answer is left: unknown, and it goes on by itself."""
    script = 'missing(); moved("IDLE", "OPEN"); time.sleep(60)'
    outcome = bench.run({"gpu1": script}, meanwhile=lambda: press(bench, 3))
    assert outcome == Outcome((Exit.UNKNOWN,), ())
    assert bench.ended() == {"gpu1": (6, "left")}
    notes = [told.text for told in bench.told if isinstance(told, Note)]
    assert notes[-1] == "we leave; the host goes on by itself"


def test_what_may_not_begin_touches_no_host(bench: Bench) -> None:
    """It is looked for once, when the first host would get its turn: none has heard Go by then."""

    def faulty() -> None:
        raise ConfigError("start.sh:3", "the rest is cut off")

    crew = Crew(bench.told.append, "op", ahead=2, before_first=faulty)
    visits = []
    for name in ("gpu1", "gpu2"):
        (bench.folder / name).mkdir()
        reach = Reach(scripted(RUNNER + ACCEPTED), bench.dial)
        task = Task(Host(name, name, (), {}), ROLLOUT, {BLOB.sha256: b"1234"})
        visits.append(Visit(task, reach, bench.told.append, moved=crew.moved))
    with pytest.raises(ConfigError, match="cut off"):
        crew.one_by_one(visits)
    assert bench.heard(Turn) == []
    assert bench.heard(HostSaid) == []


def test_a_fault_of_ours_is_never_a_host_that_was_not_touched(bench: Bench) -> None:
    """What breaks in a thread ends the verb with the fault, after the host was told unknown."""

    def tell(told: Told) -> None:
        if isinstance(told, HostSaid):
            raise ZeroDivisionError("a sink")
        bench.told.append(told)

    crew = Crew(tell, "op", ahead=1)
    (bench.folder / "gpu1").mkdir()
    reach = Reach(scripted(RUNNER + ACCEPTED), bench.dial)
    task = Task(Host("gpu1", "gpu1", (), {}), ROLLOUT, {BLOB.sha256: b"1234"})
    with pytest.raises(ZeroDivisionError):
        crew.one_by_one([Visit(task, reach, tell, moved=crew.moved)])
    assert bench.ended() == {"gpu1": (6, "unknown")}
