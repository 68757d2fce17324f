"""Does what was accepted still stand here? Drift, services that are down, an engine not healthy."""

import os
from typing import Dict, Optional, Tuple

from headway.runner import observe, seal
from headway.runner.launch import runner_folder
from headway.runner.machine import Machine
from headway.runner.records import Records
from headway.wire.gate import Criteria
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.verdict import Verdict


def fallen(machine: Machine, state: State, release: Release, criteria: Criteria) -> Dict[str, str]:
    """Name the parts that do not stand as accepted, each with one sentence: what differs.

    In place, running, and healthy by the health gate, asked once. Where all stands, the look is
    sealed, so that the next one is only a comparison.
    """
    watched, witness = seal.witnessed(machine, release)
    steady = Records(witness).state() == state
    found: Dict[str, str] = {}
    for difference in observe.differences(release, watched):
        found.setdefault(difference.part, difference.sentence)
    for part, sentence in observe.down(release, watched).items():
        found.setdefault(part, sentence)
    if found:
        return found
    found, heard = unhealthy(watched, release, criteria)
    if not found and steady:
        name = os.path.basename(runner_folder())
        seal.put(watched, seal.Look(name, state, release, criteria, heard))
    return found


def unhealthy(
    machine: Machine, release: Release, criteria: Criteria
) -> Tuple[Dict[str, str], Optional[seal.Overheard]]:
    """Ask each health gate once: what is wrong, by part, and what was asked over HTTP."""
    found: Dict[str, str] = {}
    gates = [gate for gate in criteria.gates if gate.kind == "health"]
    if not gates:
        return found, None
    from headway.runner import judging  # loads the checks: only where there is one to ask
    from headway.runner.tools.http import RealHttp

    heard = seal.Overheard(RealHttp(lambda: judging.QUICK_S))
    for gate in gates:
        part = release.part(gate.part)
        if part is not None:
            verdict, sentence = judging.once(machine, gate, part, heard)
            if verdict is not Verdict.PASS:
                found[gate.part] = f"gate {gate.name}: {sentence}"
    return found, heard
