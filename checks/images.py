"""The container that runs is of the very image that is pinned, whatever its tag says by now."""

from dataclasses import dataclass
from typing import Optional, Tuple

from headway.wire.by_hand import container_of
from headway.wire.evidence import by_hand, shown
from headway.wire.gate import Answered, Judgement, Subject
from headway.wire.resources import Pin, Service, is_container
from headway.wire.tools import Ran, Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 30


@dataclass(frozen=True)
class Params:
    """Nothing is to be said: the pin is the release's."""


def judge(_params: Params, subject: Optional[Subject], tools: Tools) -> Answered:
    """Compare the id of the running image with the one that the pin names on this host."""
    pin = _pin(tools)
    if subject is None or pin is None or not is_container(subject.unit):
        said = "no launch to judge" if subject is None else "this part runs no pinned image"
        return Judgement(Verdict.INVALID, (said,))
    running = _argv("container", container_of(subject), "{{.Image}}")
    wanted = _argv("image", pin.name(), "{{.Id}}")
    again = (by_hand(running), by_hand(wanted))
    now, should = tools.run(running, deadline_s=10), tools.run(wanted, deadline_s=10)
    if now.code != 0 or (should.code != 0 and b"No such image" not in should.stderr):
        broken = now if now.code != 0 else should
        return Judgement(Verdict.INVALID, (f"docker does not say: {_said(broken)}", *again))
    if should.code != 0:
        gone = f"{subject.unit} runs {_said(now)}, and {pin.name()} is not on this host any more"
        return Judgement(Verdict.FAIL, (gone, *again))
    if _said(now) != _said(should):
        wrong = f"{subject.unit} runs {_said(now)}, and {pin.ref} is pinned to {_said(should)}"
        return Judgement(Verdict.FAIL, (wrong, *again))
    return Judgement(Verdict.PASS, (f"{pin.ref} runs as {pin.name()} ({_said(now)})", *again))


def _pin(tools: Tools) -> Optional[Pin]:
    pins = [one.pin for one in tools.part.resources if isinstance(one, Service)]
    return pins[0] if pins else None


def _argv(what: str, name: str, asked: str) -> Tuple[str, ...]:
    return ("docker", what, "inspect", "--format", asked, name)


def _said(ran: Ran) -> str:
    text = (ran.stdout if ran.code == 0 else ran.stderr).decode(errors="replace").strip()
    return shown(text or f"code {ran.code}")
