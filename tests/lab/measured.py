"""A host whose engine is the stand-in, judged by what is measured of it.

The stand-in takes a step of speculative decoding as long as a deeper draft makes it: the longest
acceptance is not the fastest. It is no engine (tests/engines/standin).
"""

from dataclasses import dataclass

from tests.engines import archive
from tests.lab.fleet import Controller, Fleet, Said
from tests.lab.host import Host

UNIT = "engine.service"
RATES = (100, 150, 130, 105)
"""Tokens a second of one stream, by the depth of the draft."""
ACCEPTED = (0, 70, 100, 110)
"""Draft tokens accepted in 100 steps: the deepest draft has the longest acceptance."""
TTFT_MS = 40
"""As an engine takes; without it a busy core is a third of what is compared, not a thousandth."""

ROLE = f"""\
description: the stand-in engine, measured
defaults:
  draft_depth: 1
  percent: 100             # of the time that a token takes
  fails_s: 0               # requests of other clients that fail, a second
  within_percent: 0
  burst: 0
  limit_c: 0
  watch_s: 0
subject: "{{{{ instance }}}}.service"
listens: [8000]
resources:
  - dir: {{path: /etc/engine}}
  - env_file:
      path: /etc/engine/env
      values:
        STANDIN: >-
          {{"tokens_s": {{{{ {list(RATES)}[draft_depth] }}}}, "ttft_ms": {TTFT_MS},
          "draft_depth": {{{{ draft_depth }}}},
          "accepted_percent": {{{{ {list(ACCEPTED)}[draft_depth] }}}},
          "token_percent": {{{{ percent }}}}, "others_fail_s": {{{{ fails_s }}}}}}
  - unit:
      name: "{{{{ instance }}}}.service"
      sections:
        Unit: {{StartLimitIntervalSec: 600}}
        Service:
          EnvironmentFile: /etc/engine/env
          Restart: always
          RestartSec: 1
          LogRateLimitIntervalSec: 1s
          LogRateLimitBurst: 1000000
          TimeoutStopSec: 5
        Install: {{WantedBy: multi-user.target}}
      exec:
        program: /usr/bin/python3
        words: [/opt/standin/engines.pyz]
        options: {{port: 8000}}
gates:
  - ready: {{freeze: "{{{{ freeze }}}}"}}
  - thermal:
      when: "{{{{ limit_c > 0 }}}}"
      limit_c: "{{{{ limit_c }}}}"
      exporter: http://127.0.0.1:9100/metrics
      series: intake
      every_s: 1
  - health: {{engine: vllm, deadline_s: 30}}
  - swap: {{}}
  - needle: {{engine: vllm, depths: [1000], positions_percent: [50]}}
  - decode:
      engine: vllm
      texts: [prose]
      warmup: 0
      runs: 2
      max_tokens: 64
      max_cv_percent: 50
      within_percent: "{{{{ within_percent }}}}"
  - burst:
      when: "{{{{ burst > 0 }}}}"
      engine: vllm
      requests: "{{{{ burst }}}}"
      at_once: 4
  - watch: {{when: "{{{{ watch_s > 0 }}}}", engine: vllm, length_s: "{{{{ watch_s }}}}"}}
"""


@dataclass
class Measured:
    """Such a host, and headway as an operator types it."""

    fleet: Fleet
    host: Host

    def __post_init__(self) -> None:
        """Bring role, class and engine where they belong."""
        role = self.fleet.folder / "roles/measured/role.yaml"
        role.parent.mkdir(parents=True)
        role.write_text(ROLE)
        group = self.fleet.folder / "inventory/group_vars/all.yaml"
        group.parent.mkdir(parents=True)
        group.write_text("class: lab\n")
        archive.write(self.host.path("/opt/standin/engines.pyz"))

    def describe(self, **release: object) -> None:
        """Say what the host should run."""
        self.fleet.describe(self.host, engine={"role": "measured", **release})

    def rollout(self, **release: object) -> Said:
        """Roll the engine out with these variables."""
        self.describe(**release)
        return self.fleet.invoke("rollout", self.host)

    def begin(self, **release: object) -> Controller:
        """Start such a rollout and return at once."""
        self.describe(**release)
        return self.fleet.begin("rollout", self.host)
