"""The conversation with a controller: hello, one order, its last line."""

import os
import platform
import socket

from headway.runner.channel import Channel
from headway.runner.clock import Clock
from headway.runner.disk import Disk
from headway.runner.launch import runner_folder
from headway.runner.machine import machine_of
from headway.runner.orders import obey
from headway.runner.orders.session import Session
from headway.runner.process import Processes
from headway.runner.records import RecordError, Records
from headway.wire.loader import WireError
from headway.wire.phase import Exit
from headway.wire.talk import HELLO_MARK, Hello, Trouble


def serve() -> int:
    """Serve one order over stdin and stdout; what goes wrong is said in one line."""
    channel = Channel()
    clock = Clock()
    if os.geteuid() != 0:
        channel.mark(HELLO_MARK)
        channel.say(Trouble(Exit.UNREACHABLE, "the runner is not root here; set ansible_become"))
        return Exit.UNREACHABLE
    machine = machine_of(Disk(), Processes())
    session = Session(channel, machine, Records(machine.disk), clock)
    channel.mark(HELLO_MARK)
    runner = os.path.basename(runner_folder())
    channel.say(Hello(runner, platform.python_version(), clock.boot_id(), socket.gethostname(), 0))
    try:
        order = channel.hear()
        last = obey(session, order) if order is not None else None
    except (WireError, RecordError) as error:
        last = Trouble(Exit.REFUSED, str(error))
    if last is not None:
        channel.say(last)
    return 0
