"""One short command at the other end of a Transport, run to its end."""

import time
from collections.abc import Sequence

from headway.control.errors import LostError
from headway.control.reaching.transport import Transport
from headway.wire.tools import Ran

_LOOK_S = 1.0


def ran(transport: Transport, argv: Sequence[str], deadline_s: float) -> Ran:
    """Run it and hear it out; `code` is None when the deadline came first.

    LostError: the connection went, and nobody knows about the command.
    """
    began = time.monotonic()
    stream = transport.converse(argv)
    out, err, left = b"", b"", deadline_s
    code: int | None = None
    try:
        while left > 0:
            got = stream.receive(min(_LOOK_S, left))
            out, err = out + got.stdout, err + got.stderr
            if got.ended:
                if got.status is None:
                    raise LostError("the connection is gone")
                code = got.status
                break
            left = began + deadline_s - time.monotonic()
    finally:
        stream.close()
    return Ran(tuple(argv), code, out, err, round((time.monotonic() - began) * 1000))
