"""vLLM itself on a lab host: every gate, every way to die that the field reports, A to B and back.

One host, one story: a start takes most of a minute, so each test goes on from where the one before
left the engine. Processes are counted by ps, units looked at by systemctl, answers asked by curl.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.fleet import Fleet, Said
from tests.lab.host import HostSpec
from tests.lab.lab import Lab
from tests.lab.looks import until
from tests.lab.proof import Proofs
from tests.vllm.fleet import DEPTHS, GATES, LONG_STREAM, UNIT, WAIT_S, Vllm
from tests.vllm.installed import installed

pytestmark = [pytest.mark.lab, pytest.mark.vllm]

ONE_LAUNCH = ["VLLM::EngineCore", "VLLM::Worker", "api"]
ASKED = (
    *("ready", "in_place", "health", "restarts", "options", "journal", "config", "needle", "chat"),
    *("decode", "burst", "soak", "metrics", "swap"),
)
LEFT_S = 12  # an orphan that would go by itself had gone by then


@pytest.fixture(scope="module")
def vllm(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vllm]:
    """Give a bookworm host that sees vLLM and the copy model, with nothing rolled out yet."""
    [host] = lab.up([HostSpec("vllm", nspawn=installed().nspawn)], fresh=True)
    yield Vllm(host, Fleet(lab, tmp_path_factory.mktemp("vllm")))
    host.ssh(["systemctl", "stop", UNIT])


@pytest.fixture(scope="module")
def orphans(vllm: Vllm) -> dict[int, str]:
    """Run vLLM by an operator's own unit, kill its server, and give what lives on."""
    vllm.by_hand("KillMode=process", "Restart=no")
    vllm.wait_up()
    vllm.kill("api")
    until("the unit failed", lambda: vllm.show("ActiveState")["ActiveState"] == "failed")
    time.sleep(LEFT_S)
    return vllm.processes()


@pytest.fixture(scope="module")
def accepted(vllm: Vllm, orphans: dict[int, str]) -> Said:
    """Roll vLLM out by the built-in role onto that host, judged by every gate."""
    assert orphans
    refused = vllm.learn_fingerprint()
    assert refused.code == 8, refused.stderr
    vllm.describe(GATES)
    return vllm.invoke("rollout", "--no-way-back")


def verdicts(said: Said) -> dict[str, str]:
    """Give every gate's first verdict."""
    found: dict[str, str] = {}
    for body in said.bodies("reported"):
        found.setdefault(body["report"]["gate"], body["report"]["verdict"])
    return found


def evidence(report: dict[str, Any]) -> str:
    """Give a report's evidence as text."""
    return "\n".join(report["evidence"])


def test_who_outlived_its_server_does_not_outlive_a_rollout(
    vllm: Vllm, orphans: dict[int, str], accepted: Said, prove: Proofs
) -> None:
    """SIGKILL of the API server leaves EngineCore and Worker for good (vllm#55510)."""
    assert sorted(orphans.values()) == ["VLLM::EngineCore", "VLLM::Worker"]
    assert accepted.code == 0, (accepted.sentence, accepted.stderr)

    now = vllm.processes()
    assert not orphans.keys() & now.keys()
    assert sorted(now.values()) == ONE_LAUNCH
    prove(
        "kill of the API server",
        f"a hand-made unit's vLLM is killed -9; {LEFT_S} s later EngineCore and Worker run on",
        "the rollout ends both before its start: one server, one EngineCore, one Worker",
    )


def test_every_gate_judges_it(accepted: Said, prove: Proofs) -> None:
    """The release counts because it answered, asked by everything there is to ask."""
    found = verdicts(accepted)
    assert found == dict.fromkeys(ASKED, "PASS")

    needle = accepted.report("needle")
    assert re.search(r"10000 tokens, marker at 50 %: (99|100)\d\d counted", evidence(needle))
    cold = {one["name"]: one["value"] for one in needle["measurements"]}
    took_ms = sum(body["report"]["took_ms"] for body in accepted.bodies("reported"))
    prove(
        "every gate, real vLLM",
        "the built-in role, the copy model, by rollout over SSH: " + ", ".join(ASKED),
        "PASS each, and accepted",
        f"{took_ms // 1000} s with its start",
    )
    prove(
        "needle to 10k, real vLLM",
        "fresh markers at " + ", ".join(map(str, DEPTHS)) + " tokens by its own /tokenize",
        "quoted exactly, cold and warm",
        f"cold after {', '.join(str(cold[f'cold_ttft@{depth}']) for depth in DEPTHS)} ms",
    )


def test_a_killed_server_leaves_nothing_of_its_launch(
    vllm: Vllm, accepted: Said, prove: Proofs
) -> None:
    """KillMode=control-group ends what outlives it; a restart in the middle of that copes."""
    assert accepted.code == 0
    before = vllm.processes()
    vllm.describe()

    vllm.kill("api")
    said = vllm.invoke("restart")

    assert said.code == 0, (said.sentence, said.stderr)
    now = vllm.processes()
    assert not before.keys() & now.keys()
    assert sorted(now.values()) == ONE_LAUNCH
    [stop] = [done for done in said.bodies("step_done") if done["step"] == "stop"]
    prove(
        "kill of the API server, by the role",
        "its server is killed -9, and `invoke restart` follows at once",
        "nothing of the old launch is left, one launch runs, accepted",
        f"{stop['detail']} in {stop['took_ms'] / 1000:.1f} s",
    )


def test_a_killed_worker_ends_its_server_well_and_it_comes_back(
    vllm: Vllm, accepted: Said, prove: Proofs
) -> None:
    """The server exits with status 0 (vllm#48966): Restart=on-failure would leave it down."""
    assert accepted.code == 0
    before = vllm.processes()

    vllm.kill("VLLM::Worker")
    until("it is to be started again", lambda: vllm.show("SubState")["SubState"] == "auto-restart")
    ended = vllm.show("ExecMainCode", "ExecMainStatus", "Result")
    vllm.wait_up()

    assert ended == {"ExecMainCode": "1", "ExecMainStatus": "0", "Result": "success"}
    now = vllm.processes()
    assert not before.keys() & now.keys()
    assert sorted(now.values()) == ONE_LAUNCH
    assert vllm.show("NRestarts") == {"NRestarts": "1"}
    check = vllm.invoke("check", "--gate", "restarts")
    assert (check.code, verdicts(check)) == (1, {"restarts": "FAIL"})
    [status] = vllm.invoke("status").told("host_status")
    assert status["alive"] == {"chat": "active (running), restarted 1 times by systemd"}
    prove(
        "kill of a worker",
        "VLLM::Worker is killed -9",
        "the server exits with status 0, Restart=always brings one launch back",
        f"status: {status['alive']['chat']}; check: restarts FAIL",
    )


def test_a_stream_that_sigterm_cuts_is_no_pass(vllm: Vllm, accepted: Said, prove: Proofs) -> None:
    """What its client hears is a matter of luck: `abort` and [DONE], an error, or nothing more.

    In the last case the engine is dead, the port closed, and the server waits for the client.
    """
    assert accepted.code == 0
    vllm.describe({"decode": LONG_STREAM})

    with vllm.begin("check", "--gate", "decode") as check:
        until("a stream is live", lambda: "} 1.0" in vllm.series("vllm:num_requests_running"))
        time.sleep(3)
        vllm.kill("api", "TERM")
        said = check.said(WAIT_S)

    report = said.report("decode")
    assert (said.code, report["verdict"]) == (1, "FAIL"), evidence(report)
    assert re.search(r"finish_reason abort|EngineCore|closed|answered no more", evidence(report))
    prove(
        "SIGTERM with a live stream",
        "the server gets SIGTERM while decode measures a stream of 8000 tokens",
        f"FAIL, {report['fate']}",
        report["evidence"][0],
    )
    vllm.wait_up()


def test_from_one_option_set_to_another(vllm: Vllm, accepted: Said, prove: Proofs) -> None:
    """What was declared runs, by vLLM's own word; the words of the old set are gone."""
    assert accepted.code == 0
    vllm.describe(max_model_len=8192, max_num_seqs=4, dtype="bfloat16")

    with vllm.begin("rollout") as rollout:
        until("B is up", lambda: '"max_model_len":8192' in vllm.ask("/v1/models", limit_s=3), 200)
        vllm.kill("VLLM::Worker")
        died = rollout.said(300)
    reports = [body["report"] for body in died.bodies("reported")]
    [fatal] = [report for report in reports if report["verdict"] == "FAIL"]
    assert died.code == 1, (died.sentence, died.stderr)
    assert '"max_model_len":16384' in vllm.ask("/v1/models")
    assert vllm.names() == ONE_LAUNCH

    said = vllm.invoke("rollout", "--again")
    assert said.code == 0, (said.sentence, said.stderr)
    config = evidence(said.report("config"))
    assert "context: 8192 (/v1/models)" in config
    assert re.search(r"kv_dtype: (torch\.)?bfloat16", config)
    assert verdicts(said)["options"] == "PASS"
    assert vllm.names() == ONE_LAUNCH
    prove(
        "kill of a worker under the guard",
        "VLLM::Worker of B is killed -9 while B is judged",
        f"gate {fatal['gate']} FAIL, {fatal['fate']}; exit 1; the old option set serves again",
        fatal["evidence"][0],
    )
    prove(
        "option set to option set",
        "max_model_len 16384 to 8192, max_num_seqs 8 to 4, float32 to bfloat16, by rollout",
        "config and options PASS: what was declared is what vLLM runs with",
        ", ".join(line for line in config.splitlines() if line.startswith(("context", "kv_"))),
    )
