"""NCCL between real cards, through the gates' own code: granted, used, right, and how fast."""

import os
import re
import subprocess
import sys
import time
from typing import Any

from headway.runner.cards import look
from headway.wire.machine_class import MachineClass
from headway.wire.verdict import Verdict
from tests.gpu.bare import Bare, check, nccl_library
from tests.gpu.bench import REPO, Bench, smi

LOOKS, APART_S = 5, 0.5
WAIT_S = 12.0


def measured(bench: Bench, name: str, params: "dict[str, Any]", **values: str) -> Any:
    """Judge the gate `nccl` between stop and start; its log is kept, its figure noted."""
    nccl, bare = check("nccl"), Bare(**values)
    judgement = nccl.judge(nccl.Params(**params), None, bare.tools())
    bench.keep(f"nccl-{name}.log", bare.output)
    for one in judgement.measurements:
        bench.figure(f"all-reduce, {name}", f"{one.value / 1000:.1f}", "GB/s on the bus")
    return judgement


def test_all_reduce_by_p2p_and_without(bench: Bench) -> None:
    """Each is told by what NCCL says; what the environment switches off costs most of the rate."""
    bench.needs(cards=2)

    direct = measured(bench, "default", {"via": "P2P"})
    through_host = measured(bench, "p2p_off", {"via": "SHM"}, NCCL_P2P_DISABLE="1")

    assert direct.verdict is Verdict.PASS, direct.evidence
    assert through_host.verdict is Verdict.PASS, through_host.evidence
    assert any("every value right" in line for line in direct.evidence)
    assert direct.measurements[0].value > 1.5 * through_host.measurements[0].value


def test_what_nccl_ignores_and_what_is_not_as_expected_fails(bench: Bench) -> None:
    """NODE is no level and says so by silence; P2P that is expected and off lists every pair."""
    bench.needs(cards=2)

    ignored = measured(bench, "level_node", {"seconds": 20}, NCCL_P2P_LEVEL="NODE")
    off = measured(bench, "level_loc", {"via": "P2P"}, NCCL_P2P_LEVEL="LOC")

    assert ignored.findings == ("nccl-not-applied",), ignored.evidence
    assert "nccl-not-p2p" in off.findings, off.evidence
    assert any("0 -> 1 via SHM" in line for line in off.evidence)


def test_what_the_driver_grants(bench: Bench) -> None:
    """Every ordered pair as nvidia-smi has it, by read and by write."""
    bench.needs(cards=2)
    seen = look(pairs=True, deadline_s=60)

    for index, kind in enumerate("rw"):
        rows = [row.split() for row in smi("topo", "-p2p", kind).splitlines()]
        said = {row[0]: row[1:] for row in rows if re.match(r"GPU\d+$", row[0] if row else "")}
        for pair in seen.pairs:
            ours = (pair.read, pair.write)[index] == "ok"
            assert ours is (said[f"GPU{pair.a}"][pair.b] == "OK"), (kind, pair, said)
    bench.figure(
        "P2P granted", sum(pair.read == pair.write == "ok" for pair in seen.pairs), "pairs"
    )


def test_a_fresh_process_opens_the_cards_it_may_see(bench: Bench) -> None:
    """In the environment that the release sets: one that hides a card hides it here."""
    readiness = check("carding.readiness")
    count = len(look(pairs=False, deadline_s=60).cards)
    need = readiness.Need((), count, 0, 0, MachineClass(cards=count))

    began = time.monotonic()
    lacking, found = readiness.judged(need, None, Bare().tools())
    bench.figure("ready looks at the cards", round(1000 * (time.monotonic() - began)), "ms")
    hidden, _ = readiness.judged(need, None, Bare(CUDA_VISIBLE_DEVICES="-1").tools())
    other = MachineClass("l40s", cards=count, card="NVIDIA L40S")
    wrong, _ = readiness.judged(readiness.Need((), 0, 0, 0, other), None, Bare().tools())

    assert lacking == []
    assert any(f"opens {count} cards" in line for line in found), found
    assert any("cannot open the cards" in one or "and not card" in one for one in hidden), hidden
    assert any(line.startswith("class l40s has NVIDIA L40S, card 0 is") for line in wrong)


def test_a_card_that_waits_in_a_collective_is_told_so(bench: Bench) -> None:
    """Real one-sided load: rank 0 is 100 % busy for nothing, as its power shows."""
    bench.needs(cards=2)
    script = str(REPO / "tests/gpu/one_sided.py")
    argv = [sys.executable, "-u", script, str(REPO / "checks"), nccl_library(), str(WAIT_S)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        said = process.stdout.readline() if process.stdout else ""
        assert said == "waiting\n", said
        time.sleep(2)  # the gauges are means over up to a second
        looks = []
        for _ in range(LOOKS):
            looks.append(look(pairs=False, deadline_s=30).cards[0])
            time.sleep(APART_S)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(20)
        if process.stdout:
            process.stdout.close()

    waiting = [card.waiting() for card in looks]
    bench.figure("one-sided load", waiting[-1] or looks[-1].doing())
    assert all(waiting), [card.doing() for card in looks]
