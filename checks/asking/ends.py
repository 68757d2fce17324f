"""Whether an answer counts: it came, in time and whole, and ended as an answer ends."""

from typing import Optional

from headway.wire.evidence import shown
from headway.wire.gate import Judgement
from headway.wire.verdict import Verdict
from headway_checks.asking.pulse import Pulse
from headway_checks.asking.service import LOCKED, OK
from headway_checks.asking.stream import Heard


def against(heard: Heard, pulse: Pulse) -> Optional[Judgement]:
    """Say what speaks against an answer, whatever was asked; None where nothing does.

    What became of the launch is weighed by whoever judges the gate (DESIGN 5).
    """
    if heard.late:
        silent = pulse.silence(heard.sent_us, heard.ended_us)
        return Judgement(silent.verdict, (heard.trouble, *silent.evidence))
    said = _fault(heard, pulse)
    return Judgement(Verdict.FAIL, (said,)) if said else None


def _fault(heard: Heard, pulse: Pulse) -> str:
    if heard.status in LOCKED:
        return f"up, but it answers {heard.status}: its API key is not known here"
    if heard.status not in (0, OK):
        return f"it answers {heard.status}: {shown(heard.raw.decode(errors='replace'))}"
    if heard.trouble:
        broke = f" after {len(heard.arrivals)} pieces" if heard.arrivals else ""
        return f"no whole answer{broke}: {heard.trouble}"
    if heard.finish not in pulse.service.table.finish_reasons:
        return f"finish_reason {heard.finish or 'none'}: {shown(heard.text) or 'no text'}"
    if not heard.text and not heard.thought:
        return f"an empty answer, finish_reason {heard.finish}"
    return ""
