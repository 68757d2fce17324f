"""The conversation with a controller, in full: one order, its last line."""

import os

from headway.runner.channel import Channel
from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.runner.machine import machine_of
from headway.runner.orders import obey
from headway.runner.orders.session import Session
from headway.runner.process import Processes
from headway.runner.records import RecordError, Records
from headway.wire.loader import WireError
from headway.wire.phase import Exit
from headway.wire.talk import Trouble


def serve(heard: bytes) -> int:
    """Serve the order whose first bytes were heard already; what goes wrong is one line."""
    channel = Channel(heard)
    if os.geteuid() != 0:
        channel.say(Trouble(Exit.UNREACHABLE, "the runner is not root here; set ansible_become"))
        return Exit.UNREACHABLE
    machine = machine_of(Disk(), Processes())
    session = Session(channel, machine, Records(machine.disk), Clock())
    try:
        order = channel.hear()
        last = obey(session, order) if order is not None else None
    except (WireError, RecordError) as error:
        last = Trouble(Exit.REFUSED, str(error))
    if last is not None:
        channel.say(last)
    return 0
