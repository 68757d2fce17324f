"""A story folded into what a person needs to know now: per host its turn, phase and doing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch

from headway.control.telling import story
from headway.control.telling.amounts import size, took
from headway.wire import event
from headway.wire.gate import Report
from headway.wire.phase import Phase
from headway.wire.verdict import Verdict


@dataclass(frozen=True)
class HostPicture:
    """Where a host is in this verb. `outcome` is "" while its turn goes on or never came.

    `stopped` says since when parts are down, in the host's Unix milliseconds; `down` for how many
    milliseconds each was, from its stop until it was healthy again.
    """

    host: str
    turn: str = ""
    release: str = ""
    phase: Phase = Phase.IDLE
    doing: str = ""
    asked: Mapping[int, str] = field(default_factory=dict)
    stopped: Mapping[str, int] = field(default_factory=dict)
    down: Mapping[str, int] = field(default_factory=dict)
    outcome: str = ""
    sentence: str = ""
    exit_code: int = 0


@dataclass(frozen=True)
class Picture:
    """The whole verb, so far. `now` is the host that last said something."""

    verb: str = ""
    hosts: Mapping[str, HostPicture] = field(default_factory=dict)
    now: str = ""
    ended: bool = False

    def at(self, host: str) -> HostPicture:
        """Look at one host; one that was never heard of is a blank picture."""
        return self.hosts.get(host) or HostPicture(host)


def fold(picture: Picture, told: story.Told) -> Picture:
    """Take one more piece of the story in."""
    match told:
        case story.Began():
            hosts = {host: HostPicture(host) for host in told.hosts}
            return replace(picture, verb=told.verb, hosts=hosts)
        case story.Ended():
            return replace(picture, ended=True, now="")
        case _:
            changed = _host(told, picture.at(told.host))
            now = "" if changed.outcome else told.host
            return replace(picture, hosts={**picture.hosts, told.host: changed}, now=now)


def doing(picture: Picture) -> tuple[str, Phase, str]:
    """Name what goes on right now; when it changes, its clock starts again."""
    host = picture.at(picture.now)
    return host.host, host.phase, host.doing


def coming(body: event.Coming) -> str:
    """Say how far a fetch is, how fast it goes and how long it still takes at this rate."""
    how_far = f"{size(body.done_bytes)} of {size(body.total_bytes)}, {size(body.bytes_s)}/s"
    left = 1000 * (body.total_bytes - body.done_bytes)
    rest = f", {took(left // body.bytes_s)} left" if body.bytes_s else ""
    return f"{body.part} {body.step} {body.what}: {how_far}{rest}"


@singledispatch
def _host(_told: object, host: HostPicture) -> HostPicture:
    """Nothing of this told changes where the host is."""
    return host


@_host.register
def _(told: story.Turn, host: HostPicture) -> HostPicture:
    return replace(host, turn=f"{told.n} of {told.of}", release=told.release)


@_host.register
def _(told: story.Connecting, host: HostPicture) -> HostPicture:
    return replace(host, doing="connecting again" if told.again else "connecting")


@_host.register
def _(told: story.Sending, host: HostPicture) -> HostPicture:
    percent = 100 * told.done_bytes // max(told.total_bytes, 1)
    return replace(host, doing=f"sending {told.what} {percent} %")


@_host.register
def _(told: story.Lost, host: HostPicture) -> HostPicture:
    return replace(host, doing=f"connection lost: {told.why}")


@_host.register
def _(told: story.HostEnded, host: HostPicture) -> HostPicture:
    return replace(
        host,
        doing="",
        outcome=told.outcome,
        sentence=told.sentence,
        exit_code=told.exit_code,
    )


@_host.register
def _(told: story.HostSaid, host: HostPicture) -> HostPicture:  # noqa: PLR0911 # a table
    at_ms = told.event.at_ms
    match told.event.body:
        case event.StepBegan(part=part, step="stop" as step):
            return replace(host, doing=f"{part} {step}", stopped={part: at_ms, **host.stopped})
        case event.Reported(report=report) if _is_up(report) and report.part in host.stopped:
            return _up(host, report.part, at_ms)
        case event.Moved(to=phase):
            return replace(host, phase=phase, doing="")
        case event.StepBegan(part=part, step=step, detail=detail):
            return replace(host, doing=" ".join(filter(None, (part, step, detail))))
        case event.Coming():
            return replace(host, doing=coming(told.event.body))
        case event.Waiting(part=part, gate=gate, reason=reason):
            return replace(host, doing=f"{part} {gate}: {reason}")
        case event.Asked(ask=ask):
            asked = {**host.asked, ask.n: ask.what}
            return replace(host, asked=asked, doing=f"asks {ask.what}: {ask.detail}")
        case _:
            return replace(host, doing="")


def _is_up(report: Report) -> bool:
    return report.kind == "health" and report.verdict is Verdict.PASS


def _up(host: HostPicture, part: str, at_ms: int) -> HostPicture:
    """Count how long a part was down, its way back included."""
    waited = at_ms - host.stopped[part]
    stopped = {name: since for name, since in host.stopped.items() if name != part}
    down = {**host.down, part: host.down.get(part, 0) + waited}
    return replace(host, doing="", stopped=stopped, down=down)
