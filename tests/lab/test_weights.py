"""Weights on a real host: fetched within a limit, cut and resumed, changed, and gone back to.

The engine is the real llama-server; the hub is the stand-in of hub.py, on the lab's bridge.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.lab.fleet import Fleet, Said
from tests.lab.host import GATEWAY, Host, HostSpec
from tests.lab.hub import Hub
from tests.lab.lab import Lab
from tests.lab.looks import argv, services, state, until
from tests.lab.proof import Proofs
from tests.lab.real import ROLE, UNIT

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

TOKEN = "hf_lab_canary_7431"  # noqa: S105 # the stand-in's own
REPO = "lab/copy"
WEIGHTS = """\
  - weights:
      source: "lab/copy@{{ revision }}"
      file: copy.gguf
      files: ['copy.gguf', '*.json']
      endpoint: "{{ endpoint }}"
      token: "{{ hf_token }}"
      max_mib_s: "{{ cap }}"
  - unit:
"""
GATES = """\
  - in_place: {}
  - ready: {}
  - health: {engine: llama_cpp, model: copy, deadline_s: 60}
  - options: {engine: llama_cpp}
"""
OPTIONS: dict[str, object] = {
    "model": "{{ weights_path }}",
    "alias": "copy",
    "ctx-size": 2048,
    "parallel": 1,
    "threads": 1,
    "port": 8000,
    "metrics": True,
}


@dataclass
class Bench:
    """A host, its fleet, and the hub it fetches from."""

    hub: Hub
    fleet: Fleet
    host: Host

    def describe(self, revision: str, cap: int = 0) -> None:
        """Say which revision the host should run, and how fast it may come."""
        own = {"revision": revision, "cap": cap, "endpoint": self.hub.url}
        secret = {"hf_token": "{{ token_of_lab }}"}
        self.fleet.describe(self.host, engine={"role": "real", "options": OPTIONS, **own, **secret})

    def rollout(self, revision: str, cap: int = 0) -> Said:
        """Pin what is not pinned yet, and roll out."""
        self.describe(revision, cap)
        pinned = self.fleet.invoke("pin", self.host)
        assert pinned.code == 0, pinned.stderr
        return self.fleet.invoke("rollout", self.host)

    def folder(self, revision: str) -> Path:
        """Find the folder of a revision on the host, as seen from here."""
        commit = self.hub.repositories[REPO].branches[revision]
        pins = yaml.safe_load((self.fleet.folder / "weights.yaml").read_text())
        assert pins[f"{REPO}@{revision}"]["commit"] == commit
        (found,) = self.host.path("/srv/weights").glob(f"lab--copy-{commit[:16]}*")
        return found

    def running(self) -> str:
        """Say which weights the engine runs from, by its command line."""
        words = argv(self.host, UNIT).decode().split("\0")
        return words[words.index("--model") + 1]


@pytest.fixture(scope="module")
def bench(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Give a host on v1, fetched from a hub that wants a token."""
    [host] = lab.up([HostSpec("weights")])
    folder = tmp_path_factory.mktemp("weights")
    model = host.path("/opt/models/copy.gguf").read_bytes()
    with Hub(GATEWAY) as hub:
        for revision in ("v1", "v2", "v3", "v4"):
            about = f'{{"revision": "{revision}"}}\n'.encode()
            # What stands behind a GGUF's tensors is read by nobody, and makes other bytes of it.
            files = {"config.json": about, "copy.gguf": model + about * 32, "other.gguf": b"x"}
            hub.publish(REPO, files, revision)
        hub.repositories[REPO].token = TOKEN
        fleet = Fleet(lab, folder)
        role = folder / "roles/real/role.yaml"
        role.parent.mkdir()
        role.write_text(ROLE.replace("  - unit:\n", WEIGHTS, 1) + GATES)
        variables = folder / "inventory/group_vars/all.yaml"
        variables.parent.mkdir(parents=True)
        (folder / "token").write_text(TOKEN + "\n")
        variables.write_text("token_of_lab: !secret {file: token}\n")
        one = Bench(hub, fleet, host)
        said = one.rollout("v1")
        assert said.code == 0, (said.sentence, said.stderr)
        yield one
        host.ssh(["systemctl", "stop", UNIT])


def sha256(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_engine_runs_from_the_pinned_revision(bench: Bench, prove: Proofs) -> None:
    """Every byte as published, read-only, only what was chosen; the token in none of the sinks."""
    folder = bench.folder("v1")
    files = bench.hub.repositories[REPO].commits[bench.hub.repositories[REPO].branches["v1"]]
    assert (folder / "copy.gguf").read_bytes() == files["copy.gguf"]
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) == [
        "config.json",
        "copy.gguf",
    ]
    assert {path.stat().st_mode & 0o222 for path in folder.iterdir()} == {0}
    assert bench.running() == f"/srv/weights/{folder.name}/copy.gguf"
    assert {one.authorization for one in bench.hub.of("storage")} == {""}
    hidden = f"[{TOKEN[0]}]{TOKEN[1:]}"  # a grep must not find itself
    told = bench.host.ssh(f"journalctl --all | grep -c '{hidden}'; ps axe | grep -c '{hidden}'")
    assert told.stdout.split() == ["0", "0"]
    calls = [path.read_text() for path in (bench.fleet.folder / "calls").rglob("std*")]
    assert calls
    assert not any(TOKEN in text for text in calls)
    prove(
        "weights",
        "v1 of a private repository is pinned and rolled out to llama-server",
        "it runs from the commit's own folder, bytes as published; the token went to the hub alone",
    )


def test_a_fetch_is_cut_within_its_limit_and_goes_on(bench: Bench, prove: Proofs) -> None:
    """10 MiB/s at most; cut after 8 MB each time, it asks for the rest; the engine runs on."""
    before = services(bench.host, UNIT)
    bench.hub.cut_after = 8_000_000
    bench.hub.asked.clear()
    began = time.monotonic()
    bench.describe("v2", cap=10)
    assert bench.fleet.invoke("pin", bench.host).code == 0
    with bench.fleet.begin("rollout", bench.host) as controller:
        until("a second piece is asked for", lambda: len(bench.hub.of("storage")) > 1)
        assert services(bench.host, UNIT) == before
        said = controller.said()
    took = time.monotonic() - began
    bench.hub.cut_after = None
    assert said.code == 0, (said.sentence, said.stderr)
    size = (bench.folder("v2") / "copy.gguf").stat().st_size
    ranges = [one.range for one in bench.hub.of("storage") if one.method == "GET"]
    assert ranges == ["", *(f"bytes={n}-" for n in range(8_000_000, size, 8_000_000))]
    (staged,) = (
        one
        for one in said.bodies("step_done")
        if one["step"] == "stage" and one["part"] == "engine"
    )
    assert staged["took_ms"] > 1000 * size / (10 * 1024 * 1024)
    assert bench.running() == f"/srv/weights/{bench.folder('v2').name}/copy.gguf"
    prove(
        "weights",
        f"{size // 1000} kB at 10 MiB/s at most, the connection cut every 8 MB",
        f"{len(ranges)} ranges, each from where the last ended; the engine ran on meanwhile",
        f"staged in {staged['took_ms']} ms, rolled out in {took:.1f} s",
    )


def test_what_came_stays_when_storage_is_gone(bench: Bench, prove: Proofs) -> None:
    """The controller is lost in the middle, and storage too; the next rollout goes on there."""
    before = services(bench.host, UNIT)
    bench.describe("v3", cap=2)
    assert bench.fleet.invoke("pin", bench.host).code == 0
    partial = bench.host.path("/srv/weights")

    def come() -> int:
        return sum(path.stat().st_size for path in partial.glob(".headway-coming-*/copy.gguf.part"))

    with bench.fleet.begin("rollout", bench.host) as controller:
        until("some of it came", lambda: come() > 3_000_000)
        controller.kill()
    # With nobody to tell, it ends at the next word to the controller.
    until("the fetch has ended", lambda: _still(come), 40)
    stayed = come()
    assert 3_000_000 < stayed < 25_000_000
    assert services(bench.host, UNIT) == before
    assert state(bench.host)["phase"] == "IDLE"
    bench.hub.asked.clear()
    said = bench.rollout("v3")
    assert said.code == 0, (said.sentence, said.stderr)
    (asked,) = (one for one in bench.hub.of("storage") if one.method == "GET")
    assert int(asked.range[len("bytes=") : -1]) >= stayed
    prove(
        "weights",
        "the controller is killed while v3 comes; it is rolled out again",
        f"{stayed // 1000} kB had stayed, and only the rest was asked for",
    )


def _still(size: "object") -> bool:
    """Tell whether a size stays for two seconds."""
    assert callable(size)
    first = size()
    time.sleep(2)
    return bool(size() == first)


def test_truncated_weights_are_named_before_anything_stops(bench: Bench, prove: Proofs) -> None:
    """Those to go back to, and those to go to; nothing at all is fetched, no launch is touched."""
    before = services(bench.host, UNIT)
    mine = bench.folder("v3") / "copy.gguf"
    was = mine.stat()
    data = mine.read_bytes()
    os.truncate(mine, was.st_size - 1)
    bench.hub.asked.clear()
    to_new = bench.rollout("v4")
    same = bench.rollout("v3")
    again = bench.fleet.invoke("restart", bench.host)
    fetched = [one for one in bench.hub.of("storage") if one.path.endswith("copy.gguf")]
    assert fetched == []
    assert to_new.code == same.code == again.code == 8, (to_new.code, same.code, again.code)
    wrong = f"copy.gguf has {was.st_size - 1} bytes, not {was.st_size}"
    assert "no way back to release" in to_new.sentence
    assert all(wrong in said.sentence for said in (to_new, same, again)), (
        to_new.sentence,
        same.sentence,
        again.sentence,
    )
    assert services(bench.host, UNIT) == before
    assert mine.stat().st_size == was.st_size - 1
    # The very bytes, put back by hand with their times, are what was fetched.
    mine.write_bytes(data)
    os.utime(mine, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert bench.fleet.invoke("rollout", bench.host).code == 0
    prove(
        "weights",
        "the accepted release's weights lose their last byte; rollout, the same again, restart",
        "exit 8 three times, the file and both sizes named; the launch is the same one",
        f"{len(fetched)} fetches of weights meanwhile",
    )


def test_every_byte_is_hashed_when_asked(bench: Bench, prove: Proofs) -> None:
    """A flipped byte under the same size and time shows in no look, and by its hash."""
    mine = bench.folder("v3") / "copy.gguf"
    was = mine.stat()
    good = bench.fleet.invoke("check", bench.host, "--weights-sha256")
    with mine.open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        byte = file.read(1)
        file.seek(-3, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(mine, ns=(was.st_atime_ns, was.st_mtime_ns))
    bad = bench.fleet.invoke("check", bench.host, "--weights-sha256")
    with mine.open("r+b") as file:
        file.seek(-3, os.SEEK_END)
        file.write(byte)
    os.utime(mine, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (good.code, bad.code) == (0, 1), (good.stderr, bad.stderr)
    assert "copy.gguf hashes to" in "\n".join(bad.report("weights")["evidence"])
    assert sha256(mine)[:12] in "\n".join(bad.report("weights")["evidence"])
    prove("weights", "one bit flipped, size and time as before", "check --weights-sha256 names it")


def test_going_back_takes_the_old_weights_and_asks_nobody(bench: Bench, prove: Proofs) -> None:
    """The hub is gone: the older folder is there, and its engine runs from it.

    What the release that is left has lost is named first, and keeps nobody from leaving it.
    """
    old = f"/srv/weights/{bench.folder('v2').name}/copy.gguf"
    left = bench.folder("v3") / "copy.gguf"
    size = left.stat().st_size
    os.truncate(left, size - 1)
    bench.hub.asked.clear()
    said = bench.fleet.invoke("rollback", bench.host)
    assert said.code == 0, (said.sentence, said.stderr)
    steps = [next(iter(row["event"]["body"])) for row in said.told("host_said")]
    noted = [body["text"] for body in said.bodies("noted")]
    assert any(f"copy.gguf has {size - 1} bytes, not {size}" in text for text in noted), noted
    assert steps.index("noted") < steps.index("step_done"), "it is named before anything stops"
    assert bench.running() == old
    assert bench.hub.asked == []
    told = bench.host.ssh(
        "curl -s localhost:8000/v1/completions -d '"
        '{"prompt": "The secret marker is ZEBRA. The secret marker is", "max_tokens": 8}'
        "'"
    )
    assert "ZEBRA" in told.stdout
    kept = sorted(path.name for path in bench.host.path("/srv/weights").glob("lab--copy-*"))
    assert len(kept) >= 3
    prove(
        "weights",
        "rollback with the hub not asked once",
        "the engine runs from the older folder and answers; the folders of kept releases stay",
        f"{len(kept)} folders",
    )


def test_prune_lets_go_only_of_what_no_release_names(bench: Bench, prove: Proofs) -> None:
    """Shown first; the folders of kept releases, and one that somebody else made, stay."""
    gone, other = "/srv/weights/lab--gone-0", "/srv/weights/by-hand"
    link = hashlib.sha256(gone.encode()).hexdigest()[:16]
    bench.host.ssh(
        f"mkdir {gone} {other}; echo '{{}}' > {gone}/.headway-weights.json; echo x > {gone}/x;"
        f"ln -s {gone} /var/lib/headway/weights/{link}"
    )
    folders = bench.host.path("/srv/weights")
    before = {path.name for path in folders.iterdir()}
    shown = bench.fleet.invoke("prune", bench.host)
    assert [one["name"] for row in shown.told("host_pruned") for one in row["unneeded"]] == [gone]
    assert {path.name for path in folders.iterdir()} == before
    assert bench.fleet.invoke("prune", bench.host, "--delete").code == 0
    assert {path.name for path in folders.iterdir()} == before - {"lab--gone-0"}
    prove(
        "weights", "prune, then prune --delete", "only the folder that no kept release names goes"
    )
