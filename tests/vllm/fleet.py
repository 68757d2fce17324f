"""A host that runs vLLM itself by the built-in role, and what a test looks at from outside."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from tests.lab.fleet import Controller, Fleet, Said
from tests.lab.host import Host
from tests.lab.looks import until
from tests.vllm.installed import MODEL, VENV

UNIT = "chat.service"
PORT = 8000
DEPTHS = [1000, 4000, 10_000]
WAIT_S = 400
ENV = {
    "HF_HUB_OFFLINE": 1,
    "TRANSFORMERS_OFFLINE": 1,
    "DO_NOT_TRACK": 1,
    "VLLM_NO_USAGE_STATS": 1,
    "VLLM_CPU_KVCACHE_SPACE": 1,  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": 1,
    "LD_LIBRARY_PATH": f"{VENV}/lib",  # libnuma
}
OPTIONS: dict[str, object] = {
    "max_model_len": 16_384,
    "max_num_seqs": 8,
    "dtype": "float32",
    "enforce_eager": True,
    "enable_auto_tool_choice": True,
    "tool_call_parser": "hermes",
    "reasoning_parser": "qwen3",
    "enable_prompt_tokens_details": True,
}
GATES: dict[str, object] = {
    "needle": {"depths": DEPTHS, "positions_percent": [50], "deadline_s": 300},
    "decode": {"texts": ["prose"], "runs": 3, "max_tokens": 64, "max_cv_percent": 100},
    "burst": {"requests": 12, "at_once": 4, "requests_after_kill": 16, "max_tokens": 16},
    "chat": {"reasoning": True, "max_tokens": 128},
    "soak": {"length_s": 20, "at_once": 2, "max_tokens": 32, "max_slower_percent": 60},
    "metrics": {},
    "swap": {},
}
FEWER: dict[str, object] = {"needle": {"depths": [1000], "positions_percent": [50]}}
LONG_STREAM: dict[str, object] = {
    "texts": ["prose"],
    "warmup": 0,
    "runs": 1,
    "max_tokens": 8000,
    "request_s": 60,
    "flat_s": 20,
}


@dataclass
class Vllm:
    """A host of the lab, and a fleet that describes vLLM on it as the part `chat`."""

    host: Host
    fleet: Fleet
    fingerprint: str = "0" * 12

    def describe(self, gates: Mapping[str, object] | None = None, **changed: object) -> None:
        """Say what runs: the options above with `changed` among them, judged by these gates too."""
        options = {**OPTIONS, **changed}
        expect = {"context": options["max_model_len"], "kv_dtype": options["dtype"]}
        self.fleet.describe(
            self.host,
            chat={
                "role": "vllm",
                "model": MODEL,
                "venv_path": VENV,
                "venv_fingerprint": self.fingerprint,
                "options": options,
                "env": ENV,
                "acceptance": {"config": {"expect": expect}, **(gates or FEWER)},
                "restart_s": 3,
                "stop_s": 20,
            },
        )

    def begin(self, verb: str, *words: str) -> Controller:
        """Start a verb."""
        return self.fleet.begin(verb, self.host, *words)

    def invoke(self, verb: str, *words: str) -> Said:
        """Carry a verb through; starting vLLM takes a minute, and judging it another."""
        with self.begin(verb, *words) as controller:
            return controller.said(WAIT_S)

    def learn_fingerprint(self) -> Said:
        """Roll out with a wrong fingerprint: nothing is touched, and the right one is said."""
        self.describe()
        said = self.invoke("rollout")
        found = re.search(r"with fingerprint (\w{12})", said.stderr + json.dumps(said.story))
        assert found, (said.code, said.stderr)
        self.fingerprint = found[1]
        return said

    # -- what a person and a fault do

    def by_hand(self, *service: str) -> None:
        """Start vLLM by a unit that a person wrote, with these lines in its [Service]."""
        options = [
            word
            for name, value in OPTIONS.items()
            for word in ("--" + name.replace("_", "-"), "" if value is True else str(value))
            if word
        ]
        words = [f"{VENV}/bin/python3", f"{VENV}/bin/vllm", "serve", MODEL, *options]
        start = shlex.join([*words, "--served-model-name", "copy", "--port", str(PORT)])
        settings = [f"Environment={name}={value}" for name, value in ENV.items()]
        lines = ["[Service]", f"ExecStart={start}", *settings, *service]
        self.host.path(f"/etc/systemd/system/{UNIT}").write_text("\n".join(lines) + "\n")
        done = self.host.ssh(f"systemctl daemon-reload && systemctl start {UNIT}")
        assert done.returncode == 0, done.stderr

    def kill(self, name: str, signal: str = "KILL") -> int:
        """Send a signal to the one process of that name, and give its pid."""
        [pid] = [pid for pid, one in self.processes().items() if one == name]
        self.host.ssh(["kill", f"-{signal}", str(pid)])
        return pid

    # -- looks from outside

    def processes(self) -> dict[int, str]:
        """Give the first word of every process of vLLM on the host, by pid, wherever it lies."""
        listed = self.host.ssh(["ps", "-eo", "pid=,args="]).stdout.splitlines()
        rows = (line.split(None, 1) for line in listed)
        found = {int(row[0]): row[1] for row in rows if len(row) > 1}
        return {
            pid: "api" if "bin/vllm serve" in args else args.split()[0]
            for pid, args in found.items()
            if "bin/vllm serve" in args or args.startswith("VLLM::")
        }

    def names(self) -> list[str]:
        """Name them, sorted: one launch is an api server, one core and one worker."""
        return sorted(self.processes().values())

    def show(self, *names: str, unit: str = UNIT) -> dict[str, str]:
        """Read properties of the unit over plain ssh."""
        words = ["systemctl", "show", unit, "--property=" + ",".join(names)]
        rows = self.host.ssh(words).stdout.splitlines()
        return dict(row.split("=", 1) for row in rows)

    def ask(self, path: str, body: object = None, *, limit_s: int = 60) -> str:
        """Ask the engine by curl on the host; "" where nobody answers."""
        words = ["curl", "-sS", "-m", str(limit_s), f"http://127.0.0.1:{PORT}{path}"]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        return self.host.ssh(shlex.join(words), timeout_s=limit_s + 10).stdout

    def series(self, name: str) -> str:
        """Give the lines of a series of /metrics."""
        lines = self.ask("/metrics", limit_s=5).splitlines()
        return "\n".join(line for line in lines if line.startswith(name + "{"))

    def is_up(self) -> bool:
        """Tell whether it names its model."""
        return '"copy"' in self.ask("/v1/models", limit_s=3)

    def wait_up(self) -> None:
        """Return as soon as it does."""
        until("vLLM is up", self.is_up, 180)
