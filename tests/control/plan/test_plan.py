"""A plan says what would change, what restarts and for how long, and what the way back is."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.control.plan import HostPlan, plan
from headway.control.plan.changes import text_of
from headway.control.plan.masking import masked
from headway.control.plan.text import plan_json, plan_text
from headway.control.rendering.render import Rendered, render
from headway.control.secrets import Secret
from headway.wire.loader import kind_of
from headway.wire.phase import Exit, Phase
from headway.wire.record import Acceptance, Parked, Rejection, State
from headway.wire.release import EMPTY, Origin, Release
from headway.wire.resources import File
from headway.wire.talk import Difference, Looked
from tests.control.rendering.fleets import fleet, host

ROLE = """\
    defaults: {port: 8080, options: {}, key: "", found: /opt/engine/venv}
    subject: "{{ instance }}.service"
    resources:
      - venv: {found: "{{ found }}", fingerprint: abc}
      - env_file: {path: "/etc/{{ instance }}.env", values: {API_KEY: "{{ key }}"}}
      - file: {path: "/etc/{{ instance }}.conf", content: "port {{ port }}\\n"}
      - unit:
          name: "{{ instance }}.service"
          exec: {program: "{{ venv }}/bin/engine", options: "{{ options }}"}
          sections: {Unit: {Description: engine}, Install: {WantedBy: multi-user.target}}
    """


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """Give a function that renders instances of one role with these variables."""

    def make(*names: str, **variables: Any) -> Rendered:
        instances = dict.fromkeys(names, "engine")
        key = Secret.of(str(variables.pop("secret", "hf_123456")), "inventory/hosts.yaml:3")
        built = fleet(tmp_path, {"roles/engine/role.yaml": ROLE})
        return render(built, host(instances, {"key": key, **variables}))

    return make


def looked(accepted: Rendered | None, differences: Mapping[str, str | None], **more: Any) -> Looked:
    """Make a host's answer: `differences` by name, with the text that lies there."""
    release = accepted.release if accepted else EMPTY
    loads = {part.name: 12_000 for part in release.parts}
    kept = (Acceptance(release.id, "c", 0, "me", "", load_ms=loads),) if accepted else ()
    state = replace(State(accepted=kept), **more.pop("state", {}))
    return Looked(
        state=state,
        accepted=release,
        alive={part.name: "active, 0 restarts" for part in release.parts},
        differences=tuple(
            Difference("a", _kind(name), name, f"{name} differs", text)
            for name, text in differences.items()
        ),
        **more,
    )


def _kind(name: str) -> str:
    return "unit" if name.endswith(".service") else "file"


def test_the_accepted_release_in_place_and_alive_is_nothing_to_do(made: Any) -> None:
    """Exit 0, and one line."""
    found = plan(made("a"), looked(made("a"), {}))
    assert found.nothing_to_do
    assert found.exit_code is Exit.ACCEPTED
    assert plan_text(found) == f"gpu1: nothing to do, {found.release} is accepted and runs"


def test_another_option_restarts_its_part_alone(made: Any) -> None:
    """What restarts is what the host will restart: the part in which anything differs."""
    old, new = made("a", "b"), made("a", "b")
    (first, second) = new.release.parts
    changed = replace(first, argv=(*first.argv, ("--port", "1")))
    new = replace(new, release=replace(new.release, id="new", parts=(changed, second)))
    found = plan(new, looked(old, {}))
    assert found.exit_code is Exit.CHANGES
    assert [(one.part, one.what, one.why) for one in found.restarts] == [
        ("a", "restart", "engine options")
    ]
    assert found.down_ms == 12_000


def test_options_are_compared_one_by_one(made: Any) -> None:
    """Changed, added, removed; in the order of the old command line, then of the new one."""
    old = made("a", options={"ctx_size": 4096, "mlock": True, "alias": ["x", "y"]})
    new = made("a", options={"ctx_size": 8192, "alias": ["x", "y"], "np": 2})
    table = [
        (one.name, one.before, one.after, one.how) for one in plan(new, looked(old, {})).options
    ]
    assert table == [
        ("--ctx-size", "4096", "8192", "changed"),
        ("--mlock", "on", "", "removed"),
        ("--np", "", "2", "added"),
    ]


def test_an_adopted_command_line_is_read_as_options(made: Any) -> None:
    """What ran before headway was recorded as words, written with equals signs or not."""
    new = made("a", options={"ctx_size": 8192})
    (part,) = new.release.parts
    words = ("/opt/engine/venv/bin/engine", "--ctx-size=4096", "--api-key", "sk-1", "-v")
    adopted = Release(1, "old", Origin.ADOPTED, (replace(part, argv=(words,)),), unheld=("a venv",))
    found = plan(new, replace(looked(None, {}), accepted=adopted))
    assert [(one.name, one.before, one.after) for one in found.options] == [
        ("--ctx-size", "4096", "8192"),
        ("--api-key", "***", ""),
        ("-v", "on", ""),
    ]
    assert found.way_back.lost[0] == "a venv"
    assert "before headway" in found.way_back.sentence


def test_a_changed_file_is_shown_as_a_diff(made: Any) -> None:
    """From what lies there now to what would, with the place in the fleet that it comes from."""
    found = plan(made("a", port=2), looked(made("a", port=1), {"/etc/a.conf": "port 1\n"}))
    (one,) = found.changed
    assert one.diff == (
        "--- /etc/a.conf",
        "+++ roles/engine/role.yaml:6",
        "@@ -1 +1 @@",
        "-port 1",
        "+port 2",
    )


def test_a_new_file_is_shown_whole(made: Any) -> None:
    """Nothing lies there: everything is added."""
    (one,) = plan(made("a"), looked(None, {"/etc/a.conf": None})).changed
    assert one.diff[0] == "--- /dev/null"
    assert one.diff[-1] == "+port 8080"


def test_a_unit_is_compared_as_systemctl_cat_shows_it(made: Any) -> None:
    """The host gives fragment and drop-ins under their paths; the same text makes no diff."""
    new = made("a")
    unit = new.release.parts[0].resources[-1]
    same = text_of(unit, new.blobs)
    assert same is not None
    assert same.startswith("# /etc/systemd/system/a.service\n[Unit]\n")
    (one,) = plan(new, looked(new, {"a.service": same})).changed
    assert one.diff == ()


def test_a_secret_file_is_named_and_never_shown(made: Any) -> None:
    """Neither what it was nor what it will be."""
    new = made("a", secret="hf_new_value")  # noqa: S106 # the canary
    found = plan(new, looked(made("a"), {"/etc/a.env": None}))
    (one,) = found.changed
    assert one.diff == ("content is secret and not shown",)
    assert "hf_" not in plan_text(found) + str(plan_json(found))


def test_what_goes_away_is_named(made: Any) -> None:
    """A part that is no longer wanted is stopped, and what it had goes back to what was there."""
    found = plan(made("a"), looked(made("a", "b"), {}))
    assert {one.name for one in found.changed} == {"/etc/b.env", "/etc/b.conf", "b.service"}
    assert [(one.part, one.what) for one in found.restarts] == [("b", "stop")]
    assert found.down_ms == 0


def test_drift_of_the_accepted_release_is_repaired(made: Any) -> None:
    """The same release again, for the part that differs."""
    same = made("a")
    found = plan(same, looked(same, {"/etc/a.conf": "port 9\n"}))
    assert found.exit_code is Exit.CHANGES
    assert found.restarts[0].why == "drift: /etc/a.conf differs"
    assert "rests held" in found.way_back.sentence


def test_a_service_that_is_down_is_started(made: Any) -> None:
    """In place is not alive."""
    same = made("a")
    found = plan(same, replace(looked(same, {}), alive={"a": "failed, exit code 1"}))
    assert found.restarts[0].why == "a.service is failed, exit code 1"


def test_drift_of_an_unchanged_part_stays(made: Any) -> None:
    """Another release writes the parts it changes, and no others."""
    found = plan(made("a", "b"), looked(made("a"), {"/etc/a.conf": "port 9\n"}))
    assert found.changed[0].sentence.startswith("drift, which this rollout leaves as it is")
    assert [one.part for one in found.restarts] == ["b"]


def test_a_first_rollout_has_an_unknown_load_and_an_empty_way_back(made: Any) -> None:
    """A new part takes nothing down; what lies there is put back."""
    found = plan(made("a"), looked(None, {}))
    assert found.down_ms == 0
    assert found.way_back.release == "empty"
    assert "put back" in found.way_back.sentence
    assert found.way_back.takes_ms == 0


def test_a_restart_without_a_record_has_no_figure(made: Any) -> None:
    """A figure that nobody measured is not made up."""
    host_says = looked(made("a", port=1), {})
    unknown = replace(host_says, state=State())
    found = plan(made("a", port=2), unknown)
    assert found.down_ms is None
    assert found.way_back.takes_ms is None
    assert "expected downtime: unknown" in plan_text(found)


def test_what_is_not_headways_cannot_be_brought_back(made: Any) -> None:
    """A virtual environment somebody else made is checked, and that is all."""
    found = plan(made("a", port=2), looked(made("a"), {}))
    assert found.way_back.lost == (
        "a: /opt/engine/venv is not headway's: it is checked, not restorable",
    )
    assert "cannot be brought back: a: /opt/engine/venv" in plan_text(found)


def test_obstacles_come_first(made: Any) -> None:
    """Rejected here, in hand, parked: what would refuse a rollout stands at the top."""
    new = made("a")
    state = {
        "phase": Phase.HELD,
        "why": "gate journal",
        "rejected": (Rejection(new.release.id, 0, "t", "gate marker: wrong answer"),),
        "parked": Parked("ann", 0, "fan"),
    }
    lines = plan_text(plan(new, looked(None, {}, state=state))).split("\n")
    assert lines[1:4] == [
        "  ! a transition is in hand here (HELD: gate journal)",
        "  ! this release failed here before (gate marker: wrong answer): refused without --again",
        "  ! parked by ann (fan): unpark it first",
    ]


def test_color_is_for_terminals(made: Any) -> None:
    """Plain lines hold no control characters; a terminal's diff is colored."""
    found = plan(made("a", port=2), looked(made("a", port=1), {"/etc/a.conf": "port 1\n"}))
    assert "\x1b" not in plan_text(found)
    assert "\x1b[32m+port 2\x1b[0m" in plan_text(found, color=True)


def test_programs_get_the_same_as_people(made: Any) -> None:
    """JSON values, the exit code among them."""
    found = plan_json(plan(made("a", options={"np": 2}), looked(made("a"), {})))
    assert found["options"][0]["how"] == "added"
    assert found["exit_code"] == 10
    assert isinstance(found["restarts"][0], dict)


def test_a_long_diff_is_cut(made: Any) -> None:
    """Nobody reads a thousand lines before a rollout."""
    old = "".join(f"line {n}\n" for n in range(1000))
    (one,) = plan(made("a"), looked(made("a", port=1), {"/etc/a.conf": old})).changed
    assert len(one.diff) == 401
    assert one.diff[-1] == "... and 604 more lines"


def test_a_plan_is_data(made: Any) -> None:
    """Equal plans are equal: nothing in it depends on when it was made."""
    host_says = looked(made("a", port=1), {})
    assert plan(made("a"), host_says) == plan(made("a"), host_says)
    assert isinstance(plan(made("a"), host_says), HostPlan)
    assert kind_of(File) == "file"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "ExecStart=/bin/v --api-key sk-123456 --port 1",
            "ExecStart=/bin/v --api-key *** --port 1",
        ),
        ("--hf-token=hf_abc", "--hf-token=***"),
        ("Environment=HF_TOKEN=hf_abc", "Environment=HF_TOKEN=***"),
        ('OPENAI_API_KEY="sk 1"', "OPENAI_API_KEY=***"),
        ("  api_key: sk-123", "  api_key: ***"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("URL=postgres://me:abc@db/x", "URL=postgres://***@db/x"),
        ("pulls with hf_0123456789abcdef", "pulls with hf_***"),
        ("http://gpu1:8000/v1", "http://gpu1:8000/v1"),
        ("--max-model-len 4096", "--max-model-len 4096"),
        ("max_token: 4096", "max_token: 4096"),
        ("--api-key ${VLLM_API_KEY}", "--api-key ***"),
        ("ConditionPathExists=/etc/keys", "ConditionPathExists=/etc/keys"),
    ],
)
def test_what_looks_like_a_secret_is_blotted_out(line: str, shown: str) -> None:
    """Units that were there before headway hold secrets that no inventory knows."""
    assert masked(line) == shown
