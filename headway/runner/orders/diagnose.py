"""Say what is wrong with this host; nothing is changed, locked or waited for."""

import os

from headway.runner import satchels
from headway.runner.orders.session import Session
from headway.wire.phase import Exit
from headway.wire.talk import Diagnose, Done, FromHost, Trouble


def obey(session: Session, order: Diagnose) -> FromHost:
    """Diagnose, and say it in one line; a runner that its disk refuses goes on from memory."""
    try:
        whole = session.equip_for(order) and session.equip() and session.fetch("diagnosis")
    except OSError:
        satchels.go_on_from_memory()  # never returns: the order is given to it again
    if not whole or satchels.lacking("diagnosis") is not None:
        here = os.uname().nodename
        sentence = (
            f"this runner came without what diagnoses: invoke diagnose --host {here} brings it"
        )
        return Trouble(Exit.UNREACHABLE, sentence)
    from headway.runner.diagnosis import diagnose

    found = diagnose(session.machine, order.now_ms)
    session.channel.say(found)
    return Done(Exit.FOUND if found.causes else Exit.ACCEPTED)
