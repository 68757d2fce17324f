"""An image that no registry has, brought from where it is to a host, by its id.

`docker image save` at one end, `docker image load` at the other, and the operator's machine between
them: nothing is written here, and the slower end sets the pace. What did not arrive whole is not
there: Docker takes an image when its last byte has come.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from headway.control.errors import HeadwayError, LostError, RefusedError, UnreachableError
from headway.control.pins.docker import LOADING, held, load_argv, save_argv, unanswered
from headway.control.reaching.transport import Stream, Transport

SILENT_S = 300.0
"""So long neither end may say or take anything: a daemon packs or unpacks a layer meanwhile."""

_LOOK_S = 1.0
_TAIL_BYTES = 4000
_WORDS = 10  # looks for why a program reads no more
Progress = Callable[[int, int], None]
"""Is told the bytes that went, and about how many there are."""


class Left(HeadwayError):  # noqa: N818 # what happened: the operator went
    """It was not brought to its end, because nobody waits for it any more."""


def bring(  # noqa: PLR0913 # two ends, each with its name
    image_id: str,
    source: Transport,
    source_name: str,
    target: Transport,
    target_name: str,
    *,
    progress: Progress = lambda _done, _total: None,
    leaving: Callable[[], bool] = lambda: False,
) -> None:
    """Bring an image, and see that the target has it afterwards.

    RefusedError: the source has not got it, or either Docker would not. LostError: the target's
    connection went.
    """
    with _refusing(source_name):
        found = held(source, image_id, source_name)
    if found is None:
        raise RefusedError(f"{source_name} has no image {image_id[:19]} to bring to {target_name}")
    with ExitStack() as stack:
        sink = stack.enter_context(closing(target.converse(load_argv())))
        load = _Load(sink, target_name)
        load.begun(leaving)
        with _refusing(source_name):
            flow = stack.enter_context(closing(source.converse(save_argv(image_id))))
        _pump(flow, source_name, load, lambda done: progress(done, found.size), leaving)
    if held(target, image_id, target_name) is None:
        raise RefusedError(
            f"{target_name}: what was loaded is not {image_id[:19]}",
            hint=f"do {source_name} and {target_name} keep images alike? `docker info` on both",
        )


class _Load:
    """The target's `docker image load`."""

    def __init__(self, stream: Stream, name: str) -> None:
        self._stream = stream
        self._name = name
        self._said = b""

    def begun(self, leaving: Callable[[], bool]) -> None:
        """Wait until it reads: what is sent before that, sudo would take for its password."""
        until = time.monotonic() + SILENT_S
        while LOADING.encode() not in self._said:
            self._look(_LOOK_S, over=True)
            _stay(leaving, until, self._name)

    def take(self, data: bytes) -> None:
        """Hand it more; where it ended already, its own word says why."""
        try:
            self._stream.send(data)
        except LostError:
            for _ in range(_WORDS):
                self._look(_LOOK_S, over=True)
            raise

    def look(self) -> None:
        """See that it still reads."""
        self._look(0, over=True)

    def finish(self, leaving: Callable[[], bool]) -> None:
        """Say that this was all, and wait until it is kept."""
        self._stream.finish()
        until = time.monotonic() + SILENT_S
        while not self._look(_LOOK_S, over=False):
            _stay(leaving, until, self._name)

    def _look(self, timeout_s: float, *, over: bool) -> bool:
        """Hear it; True when it ended well. With `over` its end is an error: it came too early."""
        got = self._stream.receive(timeout_s)
        self._said = (self._said + got.stdout + got.stderr)[-_TAIL_BYTES:]
        if not got.ended:
            return False
        if got.status is None:
            raise LostError(f"{self._name}: the connection is gone")
        if got.status or over:
            raise unanswered(self._name, got.status, self._said)
        return True


def _pump(
    flow: Stream,
    source: str,
    load: _Load,
    progress: Callable[[int], None],
    leaving: Callable[[], bool],
) -> None:
    done, said, until = 0, b"", time.monotonic() + SILENT_S
    while True:
        with _refusing(source):
            got = flow.receive(_LOOK_S)
        said = (said + got.stderr)[-_TAIL_BYTES:]
        if got.stdout:
            load.take(got.stdout)
            done += len(got.stdout)
            progress(done)
            until = time.monotonic() + SILENT_S
        load.look()
        if got.ended:
            break
        _stay(leaving, until, source)
    if got.status is None:
        raise RefusedError(f"{source}: the connection is gone; nothing was changed")
    if got.status:
        raise unanswered(source, got.status, said)
    load.finish(leaving)


@contextmanager
def _refusing(source: str) -> Iterator[None]:
    """Say of a source that cannot be reached that the target's turn is refused: it is as it was."""
    try:
        yield
    except UnreachableError as error:
        problem = str(error) if str(error).startswith(source) else f"{source}: {error}"
        raise RefusedError(f"no image is brought: {problem}", hint=error.hint) from None


def _stay(leaving: Callable[[], bool], until: float, who: str) -> None:
    if leaving():
        raise Left("left before the image was there")
    if time.monotonic() > until:
        raise RefusedError(f"{who}: nothing moved for {SILENT_S:.0f} s")
