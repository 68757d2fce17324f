"""Does what was accepted still stand here? Drift, services that are down, an engine not healthy."""

from typing import Dict, Optional

from headway.runner import observe
from headway.runner.machine import Machine
from headway.wire.gate import Criteria
from headway.wire.record import State
from headway.wire.release import Release
from headway.wire.verdict import Verdict


def fallen(
    machine: Machine, state: State, release: Release, criteria: Optional[Criteria]
) -> Dict[str, str]:
    """Name the parts that do not stand as accepted, each with one sentence: what differs.

    In place, running, and healthy by the health gate, asked once. A parked host is not asked
    whether its services run.
    """
    found: Dict[str, str] = {}
    parked = state.parked is not None
    for difference in observe.differences(release, machine, enabled=not parked):
        found.setdefault(difference.part, difference.sentence)
    if parked:
        return found
    for part, sentence in observe.down(release, machine).items():
        found.setdefault(part, sentence)
    if not found and criteria is not None:
        found.update(_unhealthy(machine, release, criteria))
    return found


def _unhealthy(machine: Machine, release: Release, criteria: Criteria) -> Dict[str, str]:
    gates = [gate for gate in criteria.gates if gate.kind == "health"]
    if not gates:
        return {}
    from headway.runner import judging  # loads the checks: only where there is one to ask

    found: Dict[str, str] = {}
    for gate in gates:
        part = release.part(gate.part)
        verdict, sentence = judging.once(machine, gate, part) if part else (Verdict.PASS, "")
        if verdict is not Verdict.PASS:
            found[gate.part] = f"gate {gate.name}: {sentence}"
    return found
