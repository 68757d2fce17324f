"""Canary secrets: one grep over everything that a rollout writes, says or starts (DESIGN 8.5).

The inventory holds a secret of every source, the host's old files hold others that nobody told
headway of. After plans, rollouts, a failure, a rotation and a rollback they lie in root's 0600
files on the host, in the old files where they lay, and nowhere else.
"""

import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.control.secrets import Redactor
from tests.control.test_vault import MADE, PASSWORD
from tests.lab.fleet import Controller, Fleet
from tests.lab.host import Host, HostSpec
from tests.lab.lab import Lab
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

ENV, ROTATED = 'canary-env-5f"0c\\1', "canary-rotated-77a1"
FILE, COMMAND, TEMPLATE = "canary-file-91bd", "canary-command-c3e0", "canary template 4d/1a+b"
VAULT, INLINE = "k-1234-vault", "s3cret käse"
KNOWN = (ENV, ROTATED, FILE, COMMAND, TEMPLATE, VAULT, INLINE)
OLD = ("canary-old-unit", "canary-old-env", "canary-old-config", "canary-old-dropin")

ROLE = """\
description: the stand-in engine with secrets wherever a release can hold them
defaults: {colour: red, wrong: false}
subject: engine.service
listens: [8000]
resources:
  - dir: {path: /etc/engine}
  - env_file:
      path: /etc/engine/env
      values:
        BY_ENV: "{{ by_env }}"
        BY_FILE: "{{ by_file }}"
        BY_COMMAND: "{{ by_command }}"
        BY_VAULT: "{{ by_vault }}"
        INLINE: "{{ inline }}"
        COLOUR: "{{ colour }}"
  - template: {path: /etc/engine/config, source: config.j2, mode: '0600'}
  - file: {path: /etc/engine/plain, content: "colour {{ colour }}\\n", mode: '0600'}
  - unit:
      name: engine.service
      sections:
        Unit: {Description: "{{ colour }} engine", StartLimitIntervalSec: 900}
        Service:
          EnvironmentFile: /etc/engine/env
          Restart: always
          LogRateLimitIntervalSec: 0
          TimeoutStopSec: 5
        Install: {WantedBy: multi-user.target}
      exec:
        program: /usr/bin/python3
        words: [/opt/standin/engine.py]
        options: {port: 8000, alias: copy}
gates:
  - in_place: {}
  - ready: {}
  - health: {deadline_s: 20}
  - options: {}
  - command: {argv: [sh, -c, '. /etc/engine/env; echo "key $BY_FILE"; test "$COLOUR" != blue']}
"""
INVENTORY = """\
all:
  hosts:
    canary1:
      {connection}
      by_env: !secret {{env: CANARY}}
      by_file: !secret {{file: ../kept/secret}}
      by_command: !secret {{command: [cat, ../kept/printed]}}
      by_vault: !secret {{vault: {{file: vault.yaml, key: api_key}}}}
      inline: !vault |
{inline}
      in_template: !secret {{file: ../kept/template}}
      colour: {colour}
      roles: [{{role: canary, name: engine}}]
"""
LOGGED = "engine says " + " | ".join((*KNOWN, *OLD)[:1] + (*KNOWN, *OLD)[2:])
OLD_FILES: Mapping[str, tuple[str, int]] = {
    "/etc/systemd/system/engine.service": (
        "[Service]\nEnvironment=OLD_API_KEY=canary-old-unit\nExecStart=/usr/bin/sleep infinity\n",
        0o644,
    ),
    "/etc/systemd/system/engine.service.d/key.conf": (
        "[Service]\nEnvironment=PG=canary-old-dropin\n",
        0o600,
    ),
    "/etc/engine/env": ("URL=postgres://canary-old-env@db\n", 0o600),
    "/etc/engine/plain": ("x canary-old-config\n", 0o600),
}


class Operator:
    """Types verbs in a fleet whose machine is watched: what runs with which words."""

    def __init__(self, fleet: Fleet, host: Host, folder: Path) -> None:
        self.fleet = fleet
        self.host = host
        self.folder = folder
        self.argv: set[bytes] = set()
        self.calls = 0

    def describe(self, colour: str) -> None:
        """Write the inventory."""
        values = {**self.fleet.lab.connection(self.host), "ansible_become_password": "lab-ops"}
        rows = [
            f"{name}: {str(value).lower() if value is True else value}"
            for name, value in values.items()
        ]
        inline = "\n".join(f"        {row}" for row in MADE["inline"].splitlines())
        text = INVENTORY.format(connection="\n      ".join(rows), inline=inline, colour=colour)
        path = self.fleet.folder / "inventory/hosts.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def types(self, *words: str, code: int) -> None:
        """Carry a verb through, for people and not as NDJSON unless it is asked for."""
        self.calls += 1
        folder = self.fleet.folder / "calls" / str(self.calls)
        folder.mkdir(parents=True)
        with Controller(folder, words) as controller:
            ended = controller.process.wait(120)
        said = (folder / "stdout").read_text() + (folder / "stderr").read_text()
        assert ended == code, f"{words}: {ended}\n{said}"
        assert "Traceback" not in said, said

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Collect the words of every process of this machine, its hosts' too, again and again."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.01):
                self.argv.update(words for pid in _pids() if (words := _words(pid)))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _pids() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 # names only


def _words(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def forms(canary: str) -> list[bytes]:
    """Give a canary as sinks may encode it: plainly, in JSON, in URLs, in base64."""
    redactor = Redactor([canary])
    return [form.encode() for form in redactor._forms]


FORMS = {form: canary for canary in (*KNOWN, *OLD) for form in forms(canary)}


def canaries_in(data: bytes) -> set[str]:
    """Name the canaries that stand in these bytes."""
    return {canary for form, canary in FORMS.items() if form in data}


def leaks_below(folder: Path, kept: Callable[[Path], bool]) -> dict[str, set[str]]:
    """Name the files below a folder in which a canary stands, but for those where it is kept."""
    found = {}
    for above, _, names in os.walk(folder):
        for path in (Path(above) / name for name in names):
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            seen = canaries_in(path.read_bytes())
            if seen and not kept(path):
                found[str(path)] = seen
    return found


@pytest.fixture
def operator(
    lab: Lab, hosts: Callable[..., list[Host]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Operator:
    """An operator with a fleet full of secrets, and a host somebody once set up by hand."""
    [host] = hosts(HostSpec("canary1", login="ops"), fresh=True)
    fleet = Fleet(lab, tmp_path / "fleet")
    kept = tmp_path / "kept"
    for folder in (kept, tmp_path / "tmp", tmp_path / "cache"):
        folder.mkdir()
    for name, text in (("secret", FILE), ("printed", COMMAND), ("template", TEMPLATE)):
        (kept / name).write_text(text + "\n")
    (kept / "vault-password").write_bytes(PASSWORD)
    (fleet.folder / "vault.yaml").write_text(MADE["sealed"])
    (fleet.folder / "templates/config.j2").write_text("password = {{ in_template }}\n")
    role = fleet.folder / "roles/canary/role.yaml"
    role.parent.mkdir()
    role.write_text(ROLE)
    environment = {
        "CANARY": ENV,
        "ANSIBLE_VAULT_PASSWORD_FILE": str(kept / "vault-password"),
        "TMPDIR": str(tmp_path / "tmp"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name, (text, mode) in OLD_FILES.items():
        host.path(name).parent.mkdir(parents=True, exist_ok=True)
        host.path(name).write_text(text)
        host.path(name).chmod(mode)
    host.inside(["systemctl", "daemon-reload"])
    host.inside(["systemctl", "start", "engine.service"])
    return Operator(fleet, host, tmp_path)


def test_no_canary_is_anywhere_but_in_root_s_own_files(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, prove: Proofs
) -> None:
    """Every verb that says something, over a rollout, a failure, a rotation and two rollbacks."""
    host = operator.host
    on_host = ("--host", host.name)
    with operator.watched():
        operator.describe("red")
        operator.types("lint", code=0)
        for words in (("inventory",), ("inventory", "--json"), ("status",), ("facts", "--json")):
            operator.types(*words, *on_host, code=0)
        for words in (("plan",), ("plan", "--json")):
            operator.types(*words, *on_host, code=10)
        operator.types("rollout", *on_host, "--no-way-back", code=0)
        operator.types("check", *on_host, code=0)
        operator.describe("blue")
        operator.types("plan", *on_host, code=10)
        operator.types("rollout", *on_host, "--json", code=1)
        operator.describe("green")
        monkeypatch.setenv("CANARY", ROTATED)
        operator.types("plan", *on_host, code=10)
        operator.types("rollout", *on_host, code=0)
        operator.types("check", *on_host, "--json", code=0)
        operator.types("rollback", *on_host, code=0)
        for words in (("status", "--json"), ("history",), ("history", "--json"), ("status",)):
            operator.types(*words, *on_host, code=0)
    journal = host.inside(["journalctl", "--all", "--no-pager", "--output=export"]).encode()

    written = host.folder / "upper"

    def is_kept(path: Path) -> bool:
        found = path.stat()
        private = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o600, 0, 0)
        inside = path.relative_to(written).as_posix()
        return private and inside.startswith(("var/lib/headway/blobs/", "etc/engine/"))

    leaks = {
        **leaks_below(operator.folder, lambda path: "kept" in path.parts),
        **leaks_below(written, is_kept),
        **_leaks_in_memory(host),
    }
    if seen := canaries_in(journal):
        leaks["journal"] = seen
    if seen := canaries_in(b"\n".join(operator.argv)):
        leaks["argv"] = seen
    assert leaks == {}
    assert any(b"headway/runner/" in words for words in operator.argv), "no runner was seen"
    held = host.path("/etc/engine/env").read_text()
    assert all(canary in held for canary in (FILE, COMMAND, VAULT, INLINE)), held
    prove(
        "secrets",
        f"{operator.calls} verbs, {len(KNOWN)} secrets of 5 sources and {len(OLD)} in old files",
        "no canary in any output, event, database, log, journal, argv or temporary file",
        f"{len(FORMS)} spellings, {len(operator.argv)} command lines",
    )


@pytest.mark.oncall
def test_no_canary_is_in_a_report(operator: Operator, prove: Proofs) -> None:
    """What the engine logged of its own keys is in the record of a failure, and in no report.

    Old keys stood in files that were there before headway, the others come from the inventory.
    """
    host = operator.host
    on_host = ("--host", host.name)
    says = host.path("/opt/standin/engine.py")
    wrapped = says.read_text().replace(
        "def main() -> None:", f"print({LOGGED!r}, flush=True)\n\n\ndef main() -> None:"
    )
    says.write_text(wrapped)
    operator.describe("red")
    operator.types("adopt", *on_host, code=0)
    operator.types("rollout", *on_host, "--no-way-back", code=0)
    operator.describe("blue")
    operator.types("rollout", *on_host, code=1)
    out = operator.folder / "pasted"

    operator.types("report", *on_host, "--out", str(out), code=0)
    operator.types("report", *on_host, "--out", str(out / "again"), code=0)
    operator.types("report", *on_host, "--out", str(out / "hidden"), "--hide-names", code=0)

    journals = b"".join(
        path.read_bytes() for path in host.path("/var/lib/headway/failed").rglob("*.journal")
    )
    planted = canaries_in(journals)
    assert planted == {*KNOWN, *OLD} - {ROTATED}, "the record of the failure has them"
    pasted = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    assert {path: seen for path, data in pasted.items() if (seen := canaries_in(data))} == {}
    first = {
        path.name: data
        for path, data in pasted.items()
        if "again" not in path.parts and "hidden" not in path.parts
    }
    again = {path.name: data for path, data in pasted.items() if "again" in path.parts}
    assert first == again
    assert sum(map(len, first.values())) < 200_000
    assert b"engine says" in first[f"report-{host.name}.md"]
    hidden = b"".join(data for path, data in pasted.items() if "hidden" in path.parts)
    assert host.name.encode() not in hidden
    assert host.address.encode() not in hidden
    prove(
        "report",
        f"an engine that logs {len(planted)} secrets, a failure, three reports",
        "all in the record, none in a report; twice the same bytes",
        f"{sum(map(len, first.values())) // 1000} kB",
    )


def _leaks_in_memory(host: Host) -> dict[str, set[str]]:
    """Look into the host's own file systems in memory, through its PID 1."""
    root = Path(f"/proc/{host.leader()}/root")
    folders = ("run", "tmp", "dev/shm")
    return {
        path: seen
        for folder in folders
        for path, seen in leaks_below(root / folder, lambda path: "journal" in path.parts).items()
    }
