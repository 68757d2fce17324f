"""`ready` on a lab host with stand-in cards, before anything is stopped; and NCCL's variables.

The engine holds 40,000 MiB of each of two cards. CUDA is a stand-in, too: it opens whatever cards
the new environment says (CARDS), which shows that the process which asked had that environment.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import fleet as fleets
from tests.lab.cards import Cards, cards
from tests.lab.fleet import Fleet, Said
from tests.lab.host import Host, HostSpec
from tests.lab.lab import REPO, Lab
from tests.lab.looks import state
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.gpu]

ITEM = "ready and NCCL"
HELD = 40_000
CUDA = "usr/lib/x86_64-linux-gnu/libcuda.so.1"
UUIDS = [f"GPU-{4 * u}-{2 * u}-{2 * u}-{2 * u}-{6 * u}" for u in ("a0", "a1")]
CLASS = {
    "cards": 2,
    "card": "NVIDIA H200",
    "memory_mib": 143000,
    "driver": "580.65",
    "p2p": True,
    "nccl": {"NCCL_P2P_LEVEL": "NVL", "CARDS": 2},
}


@dataclass
class Desk:
    """A host with two cards, and an engine that is accepted and runs on both."""

    host: Host
    cards: Cards
    fleet: Fleet

    def rollout(self, colour: str, **declared: object) -> Said:
        """Bring the host to an engine of this colour, on a class that declares this, too."""
        whole = {**CLASS, **declared}
        options = {"card": [f"{index}={HELD}" for index in range(2)]}
        engine = {"colour": colour, "options": options, "class": "h200x2"}
        self.fleet.describe(self.host, engine={**engine, "classes": {"h200x2": whole}})
        return self.fleet.invoke("rollout", self.host, "--again")

    def launch(self) -> str:
        """Name the launch that runs."""
        words = ["systemctl", "show", "--value", "--property=InvocationID", "engine"]
        return self.host.ssh(words).stdout.strip()

    def refused(self, said: Said, launch: str, *evidence: str) -> None:
        """See that it was refused by `ready` with these words, and that nothing was touched."""
        report = said.report("ready")
        assert (said.code, report["verdict"]) == (8, "FAIL"), (said.sentence, report)
        for words in evidence:
            assert any(words in line for line in report["evidence"]), (words, report["evidence"])
        assert self.launch() == launch
        assert not said.bodies("step_began")


@pytest.fixture(scope="module")
def desk(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Boot it, give it cards and what opens them, and accept the first release."""
    [host] = lab.up([HostSpec("gpu1")], fresh=True)
    folder = tmp_path_factory.mktemp("ready")
    made = cards(host, 2)
    for index, uuid in enumerate(UUIDS):
        made.card(index, uuid=uuid)
    source = REPO / "tests/checks/carding/standin_cuda.c"
    flags = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-pthread"]
    built = folder / "libcuda.so.1"
    subprocess.run(["gcc", *flags, "-o", str(built), str(source)], check=True, timeout=60)
    Path(host.root, CUDA).write_bytes(built.read_bytes())
    fleet = Fleet(lab, folder)
    (folder / "roles/engine/role.yaml").write_text(role())
    return Desk(host, made, fleet)


def role() -> str:
    """Give the fleet's role, of an engine that holds cards and takes NCCL from its class."""
    changes = {
        "/opt/standin/engine.py": "/opt/standin/holder.py",
        '{COLOUR: "{{ colour }}"}': "\"{{ {'COLOUR': colour} | combine(machine.nccl) }}\"",
        "- ready: {}": '- ready: {cards: 2, card_mib: 100000, machine: "{{ machine }}"}',
    }
    return fleets.role(changes)


def test_cards_are_proved_before_and_variables_after(desk: Desk, prove: Proofs) -> None:
    """The second release asks while the first one holds the cards: what leaves is in no way."""
    first = desk.rollout("red")
    second = desk.rollout("blue")

    for said in (first, second):
        assert said.code == 0, (said.sentence, said.bodies("reported"))
        evidence = said.report("ready")["evidence"]
        assert any("2 cards (NVIDIA H200), driver 580.159.04; " in line for line in evidence)
        assert f"a fresh process opens 2 cards by /{CUDA}" in evidence
        assert any("NCCL_P2P_LEVEL=NVL" in line for line in said.report("options")["evidence"])
    prove(
        ITEM,
        "rollout onto a host whose class declares two H200 with P2P and NCCL_P2P_LEVEL=NVL",
        "accepted: a fresh process in its environment opened both cards; NVL reached the engine",
    )


def test_a_foreign_holder_is_named_before_anything_is_stopped(desk: Desk, prove: Proofs) -> None:
    """With who it is and what to type; the old engine goes on."""
    desk.rollout("green")
    launch = desk.launch()
    before = holders(desk, 1)
    desk.cards.hold("train", "--alone", "--card", "1=90000")
    [pid] = holders(desk, 1) - before
    stat = desk.host.ssh(["cat", f"/proc/{pid}/stat"]).stdout
    name = f"{pid}:{stat.rpartition(')')[2].split()[19]}"

    said = desk.rollout("white")

    wanted = "card 1 will have", f"--kill {name}", "/system.slice/train.service"
    desk.refused(said, launch, *wanted)
    desk.host.ssh(["systemctl", "stop", "train"])
    prove(
        ITEM,
        "a rollout while a stranger holds 90,000 MiB of a card that the engine needs",
        "refused (8) before anything is stopped, with the stranger's name for --kill",
    )


def holders(desk: Desk, card: int) -> set[int]:
    """Name who holds a card."""
    return set(map(int, desk.cards.look()[card]["compute"]))


def test_a_class_that_the_machine_contradicts(desk: Desk, prove: Proofs) -> None:
    """Count and name by the inventory; P2P by the driver, which refuses one direction."""
    desk.rollout("black")
    launch = desk.launch()

    counted = desk.rollout("gray", cards=4, card="NVIDIA L40S")
    desk.refused(
        counted,
        launch,
        "class h200x2 has 4 cards, this machine shows 2",
        "class h200x2 has NVIDIA L40S, card 0 is NVIDIA H200",
    )
    desk.cards.pair(0, 1, "p2p 0 1")
    refused = desk.rollout("gray")
    desk.cards.pair(0, 1, "p2p 0 0")

    sides = "p2p: true, the driver says of 0 -> 1: read chipset not supported"
    level = "NCCL_P2P_LEVEL=NVL asks for P2P, the driver says of 0 -> 1"
    desk.refused(refused, launch, f"class h200x2 says {sides}", level)
    assert state(desk.host)["phase"] == "IDLE"
    prove(
        ITEM,
        "a class declares other cards than there are, and P2P that the driver refuses one way",
        "refused (8) before anything is stopped; each sentence names both sides",
    )
