"""One stream, and another request's cold prompt that is read while it speaks."""

import threading
from typing import Iterator, List, Mapping, Tuple

from headway.wire.loader import Json
from headway.wire.tools import Piece, Streaming
from headway_checks.asking.pulse import Pulse
from headway_checks.asking.stream import Heard, hear

_UNDER_WAY = 8  # pieces of the stream before the prompt is sent


def both(
    pulse: Pulse, stream: Mapping[str, Json], prompt: Mapping[str, Json], timeout_s: int
) -> Tuple[Heard, Heard]:
    """Ask for a stream of words, and once it is under way for the prompt; give what each said."""
    service, under_way, prompted = pulse.service, threading.Event(), []

    def second() -> None:
        under_way.wait(timeout_s)
        prompted.append(hear(lambda: service.stream("completion", prompt, timeout_s)))

    thread = threading.Thread(target=second, daemon=True)
    pulse.asking(2)
    try:
        thread.start()
        heard = hear(lambda: _Noticed(service.stream("completion", stream, timeout_s), under_way))
    finally:
        under_way.set()
        thread.join()
        pulse.asking(-2)
    return heard, prompted[0]


def within(heard: Heard, prompted: Heard) -> Tuple[List[int], int, int]:
    """Give when words came while the prompt was read, when that began and when it ended."""
    began, ended = prompted.sent_us, prompted.sent_us + prompted.ttft_us
    return [at for at in heard.arrivals if began <= at <= ended], began, ended


class _Noticed:
    """A stream that says when it is well under way."""

    def __init__(self, stream: Streaming, under_way: threading.Event) -> None:
        self._stream = stream
        self._under_way = under_way
        self.status, self.headers, self.sent_us = stream.status, stream.headers, stream.sent_us

    def pieces(self) -> Iterator[Piece]:
        """Give what comes."""
        for count, piece in enumerate(self._stream.pieces()):
            if count == _UNDER_WAY:
                self._under_way.set()
            yield piece

    def close(self) -> None:
        """Leave it."""
        self._stream.close()
