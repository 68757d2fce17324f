"""Judge one gate on this host, as the runner does: `python3 -I -S gate_probe.py TREE < question`.

The question is {"gate": ..., "part": ..., "load_ms": N}; the answer is the report. Runs on lab
hosts, under their Python, beside an unpacked runner.
"""

import json
import sys


def main(tree: str, question: str) -> str:
    """Put the question and give the report as JSON."""
    sys.path.insert(0, tree)
    from headway.runner import judge
    from headway.runner.clock import Clock
    from headway.runner.disk import Disk
    from headway.runner.machine import machine_of
    from headway.runner.process import Processes
    from headway.wire.gate import Gate
    from headway.wire.loader import dumps, load
    from headway.wire.release import Part

    asked = json.loads(question)
    gate, part = load(Gate, asked["gate"]), load(Part, asked["part"])
    report = judge.judge_gate(
        gate,
        judge.load_check(gate.kind),
        machine_of(Disk(), Processes()),
        part,
        lambda _body: None,
        Clock(),
        load_ms=asked["load_ms"],
    )
    return dumps(report)


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1], sys.stdin.read()))
