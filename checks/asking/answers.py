"""How a stage of a check ends the whole of it: an answer that is carried up to its judge."""

from typing import Iterable, NoReturn, Tuple

from headway.wire.gate import Answered, Judgement, Measurement
from headway.wire.verdict import Verdict


class Settled(Exception):  # noqa: N818 # an answer that ends the questions, no error
    """A stage said how it is; `answer` is what judge gives back."""

    def __init__(self, answer: Answered) -> None:
        super().__init__()
        self.answer = answer


def fail(
    *said: str, measured: Iterable[Measurement] = (), findings: Tuple[str, ...] = ()
) -> NoReturn:
    """End with FAIL: the launch is at fault."""
    raise Settled(Judgement(Verdict.FAIL, said, tuple(measured), findings))


def unjudged(*said: str, measured: Iterable[Measurement] = ()) -> NoReturn:
    """End with INVALID: nothing was judged, and nothing is held against the launch."""
    raise Settled(Judgement(Verdict.INVALID, said, tuple(measured)))
