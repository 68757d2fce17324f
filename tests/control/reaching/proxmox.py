"""Doubles of a Proxmox node and of its pct and qm: programs of a guest run here.

The scripts stand for the real ones: their words, exit codes and output are those of FIELD 4 (read
from the sources of pve-container and qemu-server), and what they know of guests is files.
"""

import sys
from pathlib import Path

from headway.control.inventory.guests import KIND_OF
from headway.control.inventory.model import Host, How, Via
from tests.control.doubles import LocalTransport

PVE1 = Host("pve1", "10.0.0.9", (), {})
_FOLDERS = {"lxc": "lxc", "qemu": "qemu-server"}

_SCRIPT = """\
#!{python} -ISu
import json, os, pathlib, subprocess, sys
ROOT, TOOL = pathlib.Path({root!r}), {tool!r}
FOLDER = {folder!r}
verb, *words = sys.argv[1:]
if verb == "guest":
    verb, *words = words
vmid = words[0]
conf = ROOT / "etc/pve/nodes/pve1" / FOLDER / (vmid + ".conf")
def die(why):
    sys.stderr.write(why + "\\n")
    sys.exit(255)
if not conf.exists():
    sys.stderr.write(f"Configuration file 'nodes/pve1/{{FOLDER}}/{{vmid}}.conf' does not exist\\n")
    sys.exit(2)
running = (ROOT / "running" / vmid).exists()
if verb == "status":
    print("status: " + ("running" if running else "stopped"))
    sys.exit()
if verb == "config":
    print(conf.read_text(), end="")
    sys.exit()
with (ROOT / "calls").open("a") as calls:
    calls.write(" ".join(words[1:]).partition(" -- ")[0] + "\\n")
"""
_PCT = """
if not running:
    die(f"container '{vmid}' not running!")
at = words.index("--")
env = {} if words[1:at] == ["--keep-env", "0"] else dict(os.environ)
env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
os.execvpe(words[at + 1], words[at + 1:], env)
"""
_QM = """
if not running:
    die(f"VM {vmid} not running")
if "agent: 1" not in conf.read_text():
    die("No QEMU guest agent configured")
if (ROOT / "no-agent").exists():
    die("QEMU guest agent is not running")
def say(answer):
    print(json.dumps(answer, indent=3, sort_keys=True, separators=(",", " : ")))
    sys.exit()
jobs = ROOT / "jobs"
if verb == "exec-status":
    job = jobs / words[1]
    asked = int(job.with_suffix(".asked").read_text()) + 1
    job.with_suffix(".asked").write_text(str(asked))
    say(json.loads(job.read_text()) if asked > 1 else {"exited": 0})
at = words.index("--")
data = sys.stdin.buffer.read() if "--pass-stdin" in words[:at] else b""
if len(data) > 1 << 20:
    die("'input-data' (STDIN) is limited to 1 MiB, aborting")
ran = subprocess.run(words[at + 1:], input=data, capture_output=True, env={"PATH": "/usr/bin:/bin"})
answer = {"exited": 1, "out-data": ran.stdout.decode("latin-1")}
answer.update({"exitcode": ran.returncode} if ran.returncode >= 0 else {"signal": -ran.returncode})
if ran.stderr:
    answer["err-data"] = ran.stderr.decode("latin-1")
if (ROOT / "cut").exists():
    answer["out-truncated"] = True
if (ROOT / "slow").exists():
    jobs.mkdir(exist_ok=True)
    (jobs / "77").write_text(json.dumps(answer))
    (jobs / "77.asked").write_text("0")
    sys.stderr.write("timeout reached, returning pid\\n")
    say({"pid": 77})
say(answer)
"""


class Node(LocalTransport):
    """A node whose guests' programs run below the same folder as its own."""

    def __init__(self, root: Path, facts: dict[str, str] | None = None) -> None:
        tools = root / "bin"
        super().__init__(
            root,
            {
                "PATH=$PATH:/usr/sbin:/sbin": f"PATH={tools}:$PATH",
                "cd /etc/pve/nodes": f"cd {root}/etc/pve/nodes",
                **(facts or {}),
            },
        )
        tools.mkdir(exist_ok=True)
        (root / "running").mkdir(exist_ok=True)
        for tool, kind, does in (("pct", "lxc", _PCT), ("qm", "qemu", _QM)):
            head = _SCRIPT.format(
                python=sys.executable, root=str(root), tool=tool, folder=_FOLDERS[kind]
            )
            (tools / tool).write_text(head + does)
            (tools / tool).chmod(0o755)

    def guest(
        self, vmid: int, kind: str = "lxc", *, node: str = "pve1", up: bool = True, conf: str = ""
    ) -> None:
        """Give the cluster a guest."""
        path = self.root / "etc/pve/nodes" / node / _FOLDERS[kind] / f"{vmid}.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(conf)
        if up:
            (self.root / "running" / str(vmid)).touch()

    def calls(self) -> list[str]:
        """List the options with which programs were started in guests."""
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def _translated(self, word: str) -> str:
        if word in {"pct", "qm"}:
            return str(self.root / "bin" / word)
        return super()._translated(word)


def guest(how: How, vmid: int = 129, node: Host = PVE1) -> Host:
    """Make a guest of a node, as the inventory would."""
    via = Via(node, vmid, KIND_OF[how], how, "inventory/hosts.yaml:7")
    return Host("ct1", "10.0.0.29", (), {}, via=via)
