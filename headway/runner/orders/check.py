"""Judge what runs now by these criteria; nothing is changed but the criteria's name."""

from dataclasses import replace
from typing import List, Optional

from headway.runner import judging
from headway.runner.beside import beside
from headway.runner.lock import HostLock, LockedError
from headway.runner.orders.session import Session
from headway.runner.work import Question
from headway.wire.event import Event, Reported
from headway.wire.gate import Report, Where
from headway.wire.phase import Exit, Phase
from headway.wire.talk import Check, Done, FromHost, Said
from headway.wire.verdict import Verdict, combine

_CODES = {
    Verdict.PASS: Exit.ACCEPTED,
    Verdict.FAIL: Exit.WENT_BACK,
    Verdict.INVALID: Exit.HELD,
}
_OUTCOMES = {Verdict.PASS: "passed", Verdict.FAIL: "failed", Verdict.INVALID: "not judged"}


def obey(session: Session, order: Check) -> Optional[FromHost]:
    """Ask each gate of the accepted release; all passed, the new criteria count from now on."""
    state = session.records.state()
    release = session.records.release(state.running())
    if not release.parts:
        return Done(Exit.REFUSED, "nothing was ever accepted on this host")
    if not session.equip(order.criteria.gates):
        return None
    reports: List[Report] = []
    for gate in order.criteria.gates:
        part = release.part(gate.part)
        unwanted = bool(order.gates) and not {gate.name, gate.kind}.intersection(order.gates)
        if part is None or unwanted or gate.where is Where.OUTSIDE:
            continue
        others = beside(gate, order.criteria.gates, judging.when)
        question = Question(gate, part, beside=others)
        report = judging.judge_now(session.machine, session.clock, question)
        reports.append(report)
        event = Event(len(reports), session.clock.now_ms(), "", Reported(report))
        session.channel.say(Said(event))
    verdict = combine(report.verdict for report in reports)
    if verdict is Verdict.PASS and not order.gates:
        _count_from_now_on(session, order)
    if not reports:
        return Done(Exit.HELD, "no gate of that name; nothing was judged")
    words = f"{len(reports)} gates asked of {release.id}: {verdict.value}"
    return session.rest(_CODES[verdict], _OUTCOMES[verdict], words, verdict)


def _count_from_now_on(session: Session, order: Check) -> None:
    try:
        with HostLock(session.machine.disk, session.clock):
            state = session.records.state()
            if state.phase is Phase.IDLE and state.accepted:
                session.records.keep_criteria(order.criteria)
                head = replace(state.accepted[0], criteria=order.criteria.id)
                accepted = (head, *state.accepted[1:])
                session.records.save(replace(state, accepted=accepted))
    except (LockedError, OSError):
        return
