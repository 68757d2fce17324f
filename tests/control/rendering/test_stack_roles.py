"""The roles that are Compose projects render: engines, and the routers before them."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from headway.control.errors import ConfigError
from headway.control.lint import lint
from headway.control.rendering.render import Rendered, render
from headway.control.secrets import Secret
from headway.wire.resources import File, Pin, Stack
from tests.control.rendering.fleets import fleet, host

DIGEST = "sha256:" + "ab" * 32
UPSTREAMS = [
    {"name": "a", "url": "http://127.0.0.1:8001", "model": "chat"},
    {"name": "b", "url": "http://127.0.0.1:8002/v1", "model": "chat"},
]
CHAT: Mapping[str, Any] = {
    "listens": [8001],
    "model": "/srv/models/Qwen3-8B",
    "gpus": ["GPU-aa", "GPU-bb"],
    "options": {"tensor_parallel_size": 2, "hf_overrides": {"a": "$x"}},
}
EMBED: Mapping[str, Any] = {
    "listens": [8002],
    "model": "/srv/models/bge",
    "alias": "embed",
    "load_s": 60,
    "acceptance": {"needle": None},
}
ROLES: Mapping[str, Mapping[str, Any]] = {
    "vllm_stack": {"image": "acme/vllm:v1", "engines": {"chat": CHAT, "embed": EMBED}},
    "haproxy": {"image": "haproxy:2.8", "upstreams": UPSTREAMS},
    "litellm": {"image": "acme/litellm:v1", "upstreams": UPSTREAMS},
    "ramjet": {
        "image": "acme/ramjet:v1",
        "words": ["serve"],
        "options": {"config": "/etc/headway/ramjet.conf"},
        "config": {"upstreams": ["http://127.0.0.1:8001"]},
        "health_path": "/healthz",
        "models": ["chat"],
    },
}


def rendered(
    root: Path, role: str, lying: Mapping[str, str] | None = None, /, **own: Any
) -> Rendered:
    """Render one instance called `main`, every image pinned."""
    return render(
        fleet(root, lying or {}),
        host({"main": role}, **own),
        pin=lambda ref, *_: Pin(ref, digest=DIGEST),
    )


def files(made: Rendered) -> dict[str, str]:
    """Give what lies in the project's folder, by name."""
    return {
        one.path.removeprefix("/srv/main/"): made.blobs[one.blob.sha256].decode()
        for part in made.release.parts
        for one in part.resources
        if isinstance(one, File)
    }


def gates(made: Rendered, part: str) -> dict[str, Any]:
    """Give the parameters of a part's gates by name."""
    return {gate.name: gate.params for gate in made.gates if gate.part == part}


def composed(made: Rendered, service: str) -> Any:
    """Read a service of the rendered Compose file."""
    return yaml.safe_load(files(made)["compose.yaml"])["services"][service]


@pytest.mark.parametrize("role", ROLES)
def test_each_service_is_a_part_with_gates_of_its_own(role: str, tmp_path: Path) -> None:
    """The project itself restarts nothing; what runs is judged by what it is and does."""
    made = rendered(tmp_path, role, **ROLES[role])

    services = [part.name for part in made.release.parts if part.subject]
    engines = ["main.chat", "main.embed"]
    assert services == (engines if role == "vllm_stack" else ["main.router"])
    for name in services:
        assert {"in_place", "ready", "health", "restarts", "images", "options"} <= set(
            gates(made, name)
        )
    assert list(gates(made, "main")) == ["in_place"]


@pytest.mark.parametrize("role", ROLES)
def test_a_project_of_ours_stops_softly_and_names_its_words(role: str, tmp_path: Path) -> None:
    """Docker's own 10 s end in mid-kernel; a command as a string loses words; no count: all."""
    made = rendered(tmp_path, role, **ROLES[role])

    for service in yaml.safe_load(files(made)["compose.yaml"])["services"].values():
        assert service["stop_grace_period"] == "60s"
        assert service["restart"] == "unless-stopped"
        assert isinstance(service["command"], list)
        assert "count" not in str(service)


@pytest.mark.parametrize("role", ROLES)
def test_lint_has_nothing_to_say_of_a_built_in_role(role: str, tmp_path: Path) -> None:
    """With pins of its own, as a fleet has them."""
    pins = {
        ref: {
            "digest": DIGEST,
            "platforms": ["linux/amd64"],
            "size": 1,
            "resolved_at": "2026-11-30T04:00:00Z",
        }
        for ref in (str(ROLES[role]["image"]),)
    }

    found = lint(
        fleet(tmp_path, {"pins.yaml": yaml.safe_dump(pins)}), [host({"main": role}, **ROLES[role])]
    )

    assert [str(one) for one in found] == []


def test_an_engine_of_ours_has_its_cards_and_its_options(tmp_path: Path) -> None:
    """By id, with room for NCCL, and a start_period of twice the load."""
    made = rendered(tmp_path, "vllm_stack", **ROLES["vllm_stack"], nccl={"NCCL_P2P_LEVEL": "SYS"})

    chat = composed(made, "chat")
    [device] = chat["deploy"]["resources"]["reservations"]["devices"]
    assert device["device_ids"] == ["GPU-aa", "GPU-bb"]
    assert (chat["ipc"], chat["init"], chat["ulimits"]["memlock"]) == ("host", True, -1)
    assert chat["environment"]["NCCL_P2P_LEVEL"] == "SYS"
    assert chat["environment"]["NCCL_DEBUG"] == "INFO"
    assert chat["healthcheck"]["start_period"] == "1200s"
    assert composed(made, "embed")["healthcheck"]["start_period"] == "120s"
    assert "deploy" not in composed(made, "embed")
    part = made.release.part("main.chat")
    assert part is not None
    assert [" ".join(row) for row in part.argv] == [
        "/srv/models/Qwen3-8B",
        "--served-model-name Qwen3-8B",
        "--host 127.0.0.1",
        "--port 8001",
        "--tensor-parallel-size 2",
        '--hf-overrides {"a":"$x"}',
    ]


def test_engines_of_one_project_are_judged_apart(tmp_path: Path) -> None:
    """Each by its own model, cards and acceptance."""
    made = rendered(tmp_path, "vllm_stack", **ROLES["vllm_stack"])

    chat, embed = gates(made, "main.chat"), gates(made, "main.embed")
    assert (chat["health"]["model"], embed["health"]["model"]) == ("Qwen3-8B", "embed")
    assert (chat["ready"]["gpus"], embed["ready"]["gpus"]) == (["GPU-aa", "GPU-bb"], [])
    assert (chat["ready"]["cards"], embed["ready"]["cards"]) == (2, 0)
    assert {"nccl", "gpu", "needle"} <= set(chat)
    assert not {"nccl", "gpu", "needle"} & set(embed)


def test_an_operator_s_own_files_go_out_as_they_are(tmp_path: Path) -> None:
    """Several files, engines of another kind, and a router that is headway's, too."""
    compose = dedent("""\
        # as we wrote it
        services:
          chat: {image: "acme/llama:v1", command: [--port, "8001"], environment: [GIVEN, NOBODYS]}
          front: {image: "acme/front:v1", command: [run]}
          other: {image: "acme/other:v1"}
        """)
    own = {
        "engines": {"chat": {"listens": [8001], "alias": "copy", "engine": "llama_cpp"}},
        "owns": {"front": {"listens": [8080], "health_path": "/up"}},
        "folder": "chat",
        "files": ["compose.yaml"],
        "env": {"GIVEN": "1"},
    }

    made = rendered(tmp_path, "vllm_stack", {"chat/compose.yaml": compose}, **own)

    assert files(made)["compose.yaml"] == compose
    assert [part.name for part in made.release.parts] == ["main", "main.chat", "main.front"]
    assert made.release.parts[1].env_names == ("GIVEN",)
    assert gates(made, "main.chat")["journal"]["require"] == ["@listening"]
    assert gates(made, "main.front")["page"]["path"] == "/up"
    assert "options" not in gates(made, "main.front")


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("vllm_stack", "VLLM_API_KEY"),
        ("litellm", "LITELLM_MASTER_KEY"),
        ("haproxy", "VLLM_API_KEY"),
        ("ramjet", "RAMJET_KEY"),
    ],
)
def test_a_secret_is_root_s_alone(role: str, name: str, tmp_path: Path) -> None:
    """It goes in by PROJECT.env, and stands in no other file and in no argument."""
    made = rendered(tmp_path, role, **ROLES[role], env={name: Secret.of("canary", "vault:1")})

    assert [path for path, text in files(made).items() if "canary" in text] == ["main.env"]
    [secret] = [
        one
        for part in made.release.parts
        for one in part.resources
        if isinstance(one, File) and one.path == "/srv/main/main.env"
    ]
    assert (secret.mode, secret.blob.secret) == (0o600, True)
    [service] = (
        yaml.safe_load(files(made)["compose.yaml"])["services"].values()
        if role != "vllm_stack"
        else [composed(made, "chat")]
    )
    assert service["env_file"] == [{"path": "main.env", "required": False}]


def test_litellm_s_models_are_the_upstreams(tmp_path: Path) -> None:
    """Each below /v1 once; a key is named by its variable; the gate asks for every model."""
    third = {
        "name": "c",
        "url": "https://gpu3",
        "model": "embed",
        "served": "bge",
        "provider": "openai",
        "key": "GPU3_KEY",
    }
    made = rendered(tmp_path, "litellm", **{**ROLES["litellm"], "upstreams": [*UPSTREAMS, third]})

    config = yaml.safe_load(files(made)["config.yaml"])
    assert [one["litellm_params"]["api_base"] for one in config["model_list"]] == [
        "http://127.0.0.1:8001/v1",
        "http://127.0.0.1:8002/v1",
        "https://gpu3/v1",
    ]
    assert config["model_list"][0]["litellm_params"]["model"] == "hosted_vllm/chat"
    assert config["model_list"][2] == {
        "model_name": "embed",
        "litellm_params": {
            "model": "openai/bge",
            "api_base": "https://gpu3/v1",
            "api_key": "os.environ/GPU3_KEY",
        },
        "model_info": {"id": "c"},
    }
    assert config["general_settings"] == {"master_key": "os.environ/LITELLM_MASTER_KEY"}
    through = gates(made, "main.router")["through"]
    assert (through["models"], through["key"]) == (["chat", "embed"], "LITELLM_MASTER_KEY")
    assert through["path"] == "/health/liveliness"


def test_haproxy_checks_every_upstream(tmp_path: Path) -> None:
    """By its health page; https is verified; the address is the URL's own."""
    third = {"name": "c", "url": "https://gpu3/v1", "model": "chat"}
    made = rendered(tmp_path, "haproxy", **{**ROLES["haproxy"], "upstreams": [*UPSTREAMS, third]})

    config = files(made)["haproxy.cfg"]
    servers = [row.strip() for row in config.splitlines() if row.startswith("  server ")]
    assert servers == [
        "server a 127.0.0.1:8001",
        "server b 127.0.0.1:8002",
        "server c gpu3:443 ssl verify required ca-file /etc/ssl/certs/ca-certificates.crt",
    ]
    assert "  option httpchk GET /health\n" in config
    assert gates(made, "main.router")["through"]["models"] == ["chat"]


@pytest.mark.parametrize("role", ["haproxy", "litellm"])
def test_another_upstream_restarts_the_router(role: str, tmp_path: Path) -> None:
    """Its mounted file moves no config hash of Compose's own: the override's label does."""
    before = rendered(tmp_path, role, **ROLES[role])
    after = rendered(tmp_path, role, **{**ROLES[role], "upstreams": UPSTREAMS[:1]})

    assert files(before)["headway.pins.yaml"] != files(after)["headway.pins.yaml"]
    assert before.release.id != after.release.id


def test_ramjet_is_told_everything(tmp_path: Path) -> None:
    """Its words and its configuration are the inventory's; without one nothing is mounted."""
    made = rendered(tmp_path, "ramjet", **ROLES["ramjet"])

    assert composed(made, "router")["command"] == ["serve", "--config", "/etc/headway/ramjet.conf"]
    assert files(made)["ramjet.conf"] == '{"upstreams":["http://127.0.0.1:8001"]}\n'
    bare = rendered(tmp_path, "ramjet", image="acme/ramjet:v1", health_path="/healthz")
    assert "ramjet.conf" not in files(bare)
    assert "through" not in gates(bare, "main.router")
    assert "options" not in gates(bare, "main.router")


@pytest.mark.parametrize("role", ROLES)
def test_what_the_inventory_must_say_is_asked_for(role: str, tmp_path: Path) -> None:
    """An image, and what stands behind a router; each by the name of what is missing."""
    if role == "vllm_stack":
        with pytest.raises(ConfigError, match="service chat has no image"):
            rendered(tmp_path, role, engines={"chat": CHAT})
        return
    with pytest.raises(ConfigError, match=r"'image' is undefined|'image': no variable"):
        rendered(
            tmp_path, role, **{key: value for key, value in ROLES[role].items() if key != "image"}
        )


def test_options_of_an_engine_are_written_as_a_unit_writes_them(tmp_path: Path) -> None:
    """One given twice under two spellings is an error at the template's line."""
    twice = {**CHAT, "options": {"max_model_len": 1, "max-model-len": 2}}

    with pytest.raises(ConfigError, match="is given twice") as error:
        rendered(tmp_path, "vllm_stack", image="acme/vllm:v1", engines={"chat": twice})

    assert "vllm_stack/compose.yaml.j2:" in error.value.where


def test_a_project_has_one_stack(tmp_path: Path) -> None:
    """What Compose is given is one resource of the instance's own part."""
    made = rendered(tmp_path, "haproxy", **ROLES["haproxy"])

    [stack] = [
        one for part in made.release.parts for one in part.resources if isinstance(one, Stack)
    ]
    assert (stack.project, stack.directory, stack.owns) == ("main", "/srv/main", ("router",))
