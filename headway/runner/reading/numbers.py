"""What the engines of a release count of themselves right now, part by part."""

import importlib
import time
from dataclasses import replace
from typing import Any, Dict

from headway.runner.machine import Machine
from headway.runner.supervisor import current
from headway.runner.supervisor_error import SupervisorError
from headway.runner.tools import tools_of
from headway.runner.tools.http import RealHttp
from headway.wire.gate import Criteria
from headway.wire.release import Part, Release
from headway.wire.talk import Serving

RATE_S = 0.5


def serving(machine: Machine, release: Release, criteria: Criteria) -> Dict[str, Serving]:
    """Ask each part that a gate knows the engine of; where requests run, how fast, too."""
    asking = importlib.import_module("headway_checks.asking.serving")
    found: Dict[str, Any] = {}
    for part in release.parts:
        engine = engine_of(criteria, part)
        if not engine or part.subject is None:
            continue
        tools = tools_of(machine, part, lambda _part: (), lambda: int(asking.ANSWER_S))
        tools = replace(tools, http=RealHttp(lambda: int(asking.ANSWER_S)))
        try:
            subject = current(machine, part.subject.unit)
        except SupervisorError:
            continue  # systemd or Docker does not answer: the look at what is alive says so
        found[part.name] = asking.read(tools, subject, engine)
    busy = {name for name, numbers in found.items() if numbers.serving.running}
    if busy:
        time.sleep(RATE_S)
    return {
        name: asking.rated(numbers) if name in busy else numbers.serving
        for name, numbers in found.items()
    }


def engine_of(criteria: Criteria, part: Part) -> str:
    """Name the engine that a part's gates are asked of; "" where none of them says."""
    named = (gate.params.get("engine") for gate in criteria.gates if gate.part == part.name)
    return next((str(name) for name in named if name), "")
