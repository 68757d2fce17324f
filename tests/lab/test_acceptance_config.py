"""What acceptance had to show of options, settings and the launch itself, in whole rollouts."""

from collections.abc import Iterator, Mapping

import pytest

from tests.lab.fleet import evidence
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.looks import argv, reaches, services, until
from tests.lab.proof import Proofs
from tests.lab.real import BIN, OPTIONS, UNIT, Real, real_engine
from tests.lab.recipes import OPS_PASSWORD

pytestmark = [pytest.mark.lab, pytest.mark.acceptance]

MORE: Mapping[str, object] = {
    "threads-batch": 1,
    "batch-size": 512,
    "ubatch-size": 256,
    "seed": 1,
    "temp": "0.7",
    "top-k": 40,
    "top-p": "0.9",
    "min-p": "0.05",
    "repeat-penalty": "1.0",
    "n-predict": 256,
    "timeout": 600,
    "cont-batching": True,
    "props": True,
    "slots": True,
    "verbosity": 4,
}
# The classic: a comment behind a backslash ends the command there, and no message tells of it.
CUT = f"""\
#!/bin/sh
exec {BIN}/llama-server --model /opt/models/copy.gguf --alias copy --ctx-size 8192 --parallel 1 \\
  --threads 1 --port 8000 --metrics --threads-batch 1 --batch-size 512 \\
  # 13 more options: "$@"
"""
GATES = """\
  - health: {engine: llama_cpp, model: copy, deadline_s: 60}
  - options: {engine: llama_cpp}
  - config: {engine: llama_cpp, expect: {context: 8192, slots: 1, kv_dtype: f16}}
  - chat: {engine: llama_cpp, tools: false, max_tokens: 32}
  - metrics: {engine: llama_cpp, expect: [{metric: waiting, value: 0}]}
  - command: {when: "{{ ask != [] }}", argv: "{{ ask }}", deadline_s: 30}
"""


@pytest.fixture(scope="module")
def real(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Give a host that accepted the engine once."""
    with real_engine(lab, "config", tmp_path_factory.mktemp("config"), GATES) as one:
        yield one


def test_a_sound_engine_passes(real: Real, prove: Proofs) -> None:
    """Config, chat and metrics of the real llama-server; its usage is what it counted."""
    said = real.accepted
    assert said.code == 0, (said.sentence, said.stderr)

    config, chat = said.report("config"), said.report("chat")
    assert (config["verdict"], config["findings"]) == ("PASS", []), evidence(config)
    assert "context: 8192 (/props)" in evidence(config)
    assert (chat["verdict"], said.report("metrics")["verdict"]) == ("PASS", "PASS")
    assert evidence(chat).count("usage as counted: ") == 2
    prove(
        "config and chat, real engine",
        "llama-server with the copy model is rolled out with declared context, slots and KV dtype",
        "all as declared; a chat whole and streamed, its usage equal to the engine's counters",
        f"config {config['took_ms']} ms, chat {chat['took_ms']} ms",
    )


@pytest.mark.parametrize("verbose", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_wrong_kv_dtype_goes_back(real: Real, prove: Proofs, *, verbose: bool) -> None:
    """Declared is f16, the options say f32: the engine runs, answers, and is sent back by name."""
    before = argv(real.host, UNIT)
    more = {"verbosity": 4} if verbose else {}

    said = real.rollout(options={**OPTIONS, "cache-type-k": "f32", **more})

    assert said.code == 1, (said.sentence, said.stderr)
    assert (said.report("health")["verdict"], said.report("options")["verdict"]) == ("PASS", "PASS")
    report = said.report("config")
    assert (report["verdict"], report["fate"]) == ("FAIL", "SAME"), evidence(report)
    where = "the log" if verbose else "argv, --cache-type-k"
    assert f"kv_dtype is f32 ({where}), declared is == f16" in report["evidence"][0]
    assert argv(real.host, UNIT) == before
    prove(
        f"wrong KV dtype, told by {where}",
        "llama-server is rolled out with an f32 KV cache where f16 is declared",
        "health and options PASS, config FAIL by name, exit 1, the old argv runs",
    )


def test_9_of_22_options_go_back(real: Real, prove: Proofs) -> None:
    """A launcher's comment cuts its command: healthy, and not what the release says."""
    before = argv(real.host, UNIT)
    options = {**OPTIONS, **MORE}
    assert len(options) == 22

    said = real.rollout(options=options, launcher=CUT)

    assert said.code == 1, (said.sentence, said.stderr)
    assert said.report("health")["verdict"] == "PASS"
    report = said.report("options")
    missing = [line for line in report["evidence"] if line.startswith("missing: --")]
    assert (report["verdict"], len(missing)) == ("FAIL", 13), evidence(report)
    assert argv(real.host, UNIT) == before
    prove(
        "9 of 22 options",
        "a launcher script whose command a comment cuts after 9 of 22 options is rolled out",
        "health PASS, options FAIL with the 13 that are missing, exit 1, the old argv runs",
    )


def test_a_scheduler_takes_the_subject_away(real: Real, prove: Proofs) -> None:
    """Stopped by somebody else in mid-judgement: nothing was judged, and nobody fights for it."""
    real.describe(options={**OPTIONS, "temp": "0.6"}, ask=["sleep", "6"])
    with real.fleet.begin("rollout", real.host) as controller:
        reaches(real.host, "TRYING", "start")
        until("the last gate waits", lambda: "sleep" in _running(real.host))
        order = f"echo {OPS_PASSWORD} | sudo -S systemctl stop engine"
        assert real.host.ssh(["su", "ops", "-c", order]).returncode == 0
        said = controller.said()

    assert said.code == 3, (said.sentence, said.stderr)
    report = said.report("command")
    assert (report["verdict"], report["fate"]) == ("INVALID", "TAKEN"), evidence(report)
    assert "stopped by a stop job at" in evidence(report)
    assert "before it, sudo: ops : " in evidence(report), evidence(report)
    assert services(real.host, UNIT)[UNIT].active == "inactive"
    prove(
        "taken away",
        "another user stops the unit by sudo while its last gate is asked",
        "INVALID (TAKEN) with the time and the order, held, exit 3, nothing started against it",
        next(line for line in report["evidence"] if "sudo" in line),
    )
    assert real.fleet.invoke("rollback", real.host).code == 0


def _running(host: Host) -> str:
    return host.ssh(["ps", "-eo", "comm"]).stdout
