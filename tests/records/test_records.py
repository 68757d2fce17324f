"""Records of every shipped version still load, and still go back (DESIGN 8.4)."""

import difflib
import shutil
from pathlib import Path

import pytest

from headway.runner import guard
from headway.runner.acceptance import rollback_target
from headway.runner.records import Records
from headway.wire.event import Moved, Rested
from headway.wire.loader import Json, dump, parse
from headway.wire.marks import ROOT
from headway.wire.phase import Exit, Phase
from headway.wire.talk import Request
from tests.records.make import FOLDER, seen, stand
from tests.records.types import TYPES_FILE, described
from tests.runner.attempt import Attempt
from tests.runner.world import World

VERSIONS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
HELP = """The types of the record changed:
{diff}
A field that was added needs a default, or records of shipped versions no longer load; one that was
renamed or taken away needs code that reads the old one. When that is done and tests/records is
green but for this test: `python -m tests.records.make`, and commit what it wrote."""


def test_a_change_of_the_record_s_types_is_noticed() -> None:
    """Whoever changes one learns here what else has to be done."""
    then, now = TYPES_FILE.read_text().splitlines(), described().splitlines()
    diff = [row for row in difflib.ndiff(then, now) if row[0] in "+-"]

    assert not diff, HELP.format(diff="\n".join(diff))


@pytest.fixture(params=VERSIONS)
def stood(request: pytest.FixtureRequest) -> Json:
    """How the host of a version's record stood on A, on B and in the end."""
    return {
        "folder": FOLDER / request.param,
        **parse((FOLDER / request.param / "host.json").read_text()),
    }


@pytest.fixture
def attempt(stood: Json, tmp_path: Path) -> Attempt:
    """The host as it stood in the end, with the record of then."""
    world = World(tmp_path / "host")
    stand(world, stood["now"])
    shutil.copytree(stood["folder"] / "record", world.disk.real(ROOT))
    attempt = Attempt(world)
    attempt.count = 100
    return attempt


def test_every_file_reads_and_is_written_as_it_was(attempt: Attempt) -> None:
    """What is written back loses nothing that was there."""
    records = attempt.records
    state = records.state()
    assert state.phase is Phase.HELD
    assert dump(state).items() >= parse(read(records, "state.json")).items()
    for name in records.releases():
        whole = records.whole_release(name, attempt.world.machine.blobs)
        assert dump(whole).items() >= parse(read(records, f"releases/{name}.json")).items()
    for acceptance in state.accepted:
        assert records.criteria(acceptance.criteria) is not None
    for name in records.transitions():
        folder = f"transitions/{name}"
        found = dump(records.transition(name))
        assert found.items() >= parse(read(records, f"{folder}/transition.json")).items()
        rows = read(records, f"{folder}/events.ndjson").count(b"\n")
        events = records.events(name)
        assert len(events) == rows > 3
        assert isinstance(events[-1].body, Rested)
        assert any(isinstance(event.body, Moved) for event in events)
        assert records.reports(name)
    assert state.transition
    assert records.request(state.transition, "resume") == Request("resume", "somebody", "once more")


def read(records: Records, path: str) -> bytes:
    """Read a file of the record."""
    data = records.disk.read(f"{ROOT}/{path}")
    assert data is not None, path
    return data


def test_a_held_transition_of_then_goes_back_and_then_further(
    attempt: Attempt, stood: Json
) -> None:
    """A later version sends D back to B, and rolls back to A: byte for byte, from the record."""
    records = attempt.records
    held = records.state().transition or ""
    a = records.release(records.state().accepted[1].release)

    records.drop_request(held, "resume")
    records.put_request(held, Request("back", "somebody"))
    back = attempt.pick_up()
    assert back is not None
    assert (back.exit_code, back.outcome) == (Exit.ACCEPTED, "went back"), back.sentence
    assert seen(attempt.world) == stood["b"]

    assert rollback_target(records.state()) == a.id
    further = attempt.bring(a, "rollback")
    assert further.exit_code == Exit.ACCEPTED, further.sentence
    assert seen(attempt.world) == stood["a"]
    assert guard.guarded(attempt.world.machine) == []
    assert records.state().phase is Phase.IDLE
