"""Broken hosts as data: tests/cases/broken/NAME.yaml breaks one thing of a host that was well.

    did: what happened, in a sentence      first: the finding that has to come first
    breaks, mends: shell over plain ssh    until: asked again and again until it is so
    host: engine (default) or docker       says: what its evidence has to have

The engine is the real llama-server, the cards are stand-ins, the kernel's ring is a file.
"""

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.lab.command import LabError
from tests.lab.fleet import Fleet
from tests.lab.host import Host
from tests.lab.real import BIN, OPTIONS

CASES = Path(__file__).parents[1] / "cases" / "broken"
WITHIN_S = 20
PRELUDE = f"""\
B={BIN}; W=$B/llama-server; MODEL=/opt/models/copy.gguf; R=/var/lib/headway
O=/etc/systemd/system/engine.service.d
wrap() {{
  mv $W $W.real; printf '#!/bin/sh\\n%s\\n' "$1" > $W; chmod 755 $W
  systemctl restart engine || true
}}
unwrap() {{ mv -f $W.real $W; }}
kernel() {{
  now=$(cut -d ' ' -f 1 /proc/uptime | tr -d .)0000; rm -f /dev/kmsg
  printf '5,0,0,-;Linux version 6.1.0\\n4,1,%s,-;%s\\n' "$now" "$1" > /dev/kmsg
}}
copy() {{ to=$1; shift; tar -C $R --exclude ./ballast "$@" -c . | tar -C $to -x; }}
"""
AGAIN = {"engine": "systemctl reset-failed engine || true; systemctl restart engine"}
WELL = {"engine": "curl -fs http://127.0.0.1:8000/health", "docker": "docker ps"}
ROLE = f"""\
description: the real llama-server, kept up as the field does
subject: "{{{{ instance }}}}.service"
listens: [8000]
resources:
  - dir: {{path: /etc/engine}}
  - env_file: {{path: /etc/engine/env, values: {{COLOUR: red}}}}
  - unit:
      name: "{{{{ instance }}}}.service"
      sections:
        Unit: {{StartLimitIntervalSec: 600, StartLimitBurst: 1000}}
        Service:
          Restart: on-failure
          RestartSec: 100ms
          Environment: LD_LIBRARY_PATH={BIN}
          EnvironmentFile: /etc/engine/env
          LogRateLimitIntervalSec: 1s
          LogRateLimitBurst: 1000000
          TimeoutStopSec: 5
        Install: {{WantedBy: multi-user.target}}
      exec:
        program: "{BIN}/llama-server"
        options: "{{{{ options }}}}"
gates:
  - in_place: {{}}
  - health: {{engine: llama_cpp, model: copy, deadline_s: 30}}
"""


@dataclass(frozen=True)
class Broken:
    """One way to break a host, and what has to be found first."""

    name: str
    did: str
    first: str
    breaks: str
    mends: str = ""
    until: str = ""
    says: str = ""
    host: str = "engine"


def cases() -> Iterator[Broken]:
    """Read them all."""
    for path in sorted(CASES.glob("*.yaml")):
        yield Broken(path.stem, **yaml.safe_load(path.read_text()))


def sick(fleet: Fleet, host: Host) -> None:
    """Describe the engine of these cases for a host, and roll it out."""
    role = fleet.folder / "roles/sick/role.yaml"
    role.parent.mkdir(exist_ok=True)
    role.write_text(ROLE)
    engine: Mapping[str, object] = {"role": "sick", "options": OPTIONS}
    fleet.describe(host, engine=engine)
    said = fleet.invoke("rollout", host, "--no-lint")  # Restart=on-failure is meant
    assert said.code == 0, (said.stderr, said.sentence)


def breaks(host: Host, case: Broken) -> None:
    """Break it, and wait until that shows."""
    shell(host, case.breaks)
    until(host, case.until)


def mends(host: Host, case: Broken) -> None:
    """Undo it, and wait until the host is well again."""
    shell(host, case.mends)
    shell(host, AGAIN.get(case.host, ""))
    until(host, WELL[case.host])


def shell(host: Host, script: str) -> None:
    """Run a script as root over plain ssh; what fails in it is a fault of the case."""
    if script:
        done = host.ssh(["sh", "-e", "-c", PRELUDE + script])
        if done.returncode:
            raise LabError(f"{host.name}: {shlex.quote(script)}: {done.stderr.strip()}")


def until(host: Host, condition: str) -> None:
    """Ask until a shell condition is met."""
    end = time.monotonic() + WITHIN_S
    while condition and host.ssh(["sh", "-c", PRELUDE + condition]).returncode:
        if time.monotonic() > end:
            raise LabError(f"{host.name}: not so within {WITHIN_S} s: {condition}")
        time.sleep(0.05)
