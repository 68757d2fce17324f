"""Webhooks: a thread of their own with a bounded queue, so that no rollout ever waits for one.

What cannot be queued is dropped and counted; what was not delivered is said when the verb ends.
"""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, Full, Queue
from types import TracebackType
from typing import Self

from headway.control.errors import UnreachableError
from headway.control.telling import story
from headway.control.telling.ndjson import row
from headway.control.telling.settings import Outlet, Webhook
from headway.wire.loader import kind_of
from headway.wire.phase import Exit

ANSWER_S = 5
_TAKEN = range(200, 300)
_AGAIN = (408, 425, 429)  # of the answers from 400 on, these ask to come back
_THEIR_FAULT = 500


@dataclass(frozen=True)
class Limits:
    """How much is queued, the pauses between tries, how long a verb that is over waits for it."""

    queue: int = 1000
    pauses_s: tuple[float, ...] = (1.0, 2.0, 4.0)
    grace_s: float = 5.0


@dataclass(frozen=True)
class Letter:
    """What is posted: the same bytes and headers at each try, so that a receiver knows it again."""

    body: bytes
    headers: Mapping[str, str]


Post = Callable[[str, Letter], None]
"""Delivers, or raises OSError; Refused where another try is of no use."""


class Refused(Exception):  # noqa: N818 # it names what the receiver did
    """The receiver answered that it does not want this."""


class Courier:
    """A sink of the story that posts what its outlet wants to hear."""

    def __init__(
        self,
        outlet: Outlet,
        warn: Callable[[str], None],
        post: Post | None = None,
        limits: Limits = Limits(),  # it is frozen
    ) -> None:
        """`warn` is told once, at the end, what was not delivered."""
        self._outlet = outlet
        self._warn = warn
        self._post = post or over_http
        self._limits = limits
        self._letters: Queue[Letter] = Queue(limits.queue)
        self._closing = threading.Event()
        self._rollout = ""
        self._n = 0
        self._dropped = 0
        self._failed = 0
        self._why = ""
        self._thread = threading.Thread(target=self._deliver, name="courier", daemon=True)

    def __enter__(self) -> Self:
        """Begin to deliver."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait a little for what is queued, and say what was not delivered."""
        self._closing.set()
        self._thread.join(self._limits.grace_s)
        lost = self._failed + self._dropped + self._letters.qsize() + self._thread.is_alive()
        if lost:
            why = f": {self._why}" if self._why else ""
            self._warn(f"{self._outlet.where}: {lost} of {self._n} were not delivered{why}")

    def __call__(self, told: story.Told) -> None:
        """Queue what is to be posted of this; never wait."""
        if isinstance(told, story.Began):
            self._rollout = told.rollout
        body = self._body(told)
        if body is None:
            return
        self._n += 1
        try:
            self._letters.put_nowait(self._letter(body))
        except Full:
            self._dropped += 1

    def _body(self, told: story.Told) -> str | None:
        setting = self._outlet.setting
        if isinstance(setting, Webhook):
            return row(told) if kinds(told) & set(setting.tell) else None
        said = sentence(told)
        return json.dumps({"text": said}, ensure_ascii=False) if said else None

    def _letter(self, body: str) -> Letter:
        at = str(int(time.time()))
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "headway",
            "X-Headway-Delivery": f"{self._rollout}-{self._n}",
            "X-Headway-Timestamp": at,
        }
        data = body.encode()
        if self._outlet.secret:
            headers["X-Headway-Signature"] = signature(self._outlet.secret, at, data)
        return Letter(data, headers)

    def _deliver(self) -> None:
        while True:
            try:
                letter = self._letters.get(timeout=0.1)
            except Empty:
                if self._closing.is_set():
                    return
                continue
            if not self._delivered(letter):
                self._failed += 1

    def _delivered(self, letter: Letter) -> bool:
        for pause_s in (*self._limits.pauses_s, None):
            try:
                self._post(self._outlet.url, letter)
            except Refused as error:
                self._why = str(error)
                return False
            except OSError as error:
                self._why = _why(error)
            else:
                return True
            if pause_s is not None:
                time.sleep(pause_s)
        return False


def kinds(told: story.Told) -> set[str]:
    """Say as what a piece may be picked: its own kind, and that of what a host says."""
    if isinstance(told, story.HostSaid):
        return {kind_of(type(told)), kind_of(type(told.event.body))}
    return {kind_of(type(told))}


def signature(secret: str, at: str, body: bytes) -> str:
    """Sign a body with the time it was made: HMAC-SHA256 of "TIME.BODY", in hexadecimal."""
    made = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256)
    return f"sha256={made.hexdigest()}"


def sentence(told: story.Told) -> str:
    """Word a piece for a chat; "" where it is none of people's business."""
    match told:
        case story.Began():
            said = f"{told.verb} {told.rollout} by {told.by}: {', '.join(told.hosts)}"
        case story.HostEnded() if told.outcome != "unchanged":
            said = f"{told.host}: {told.outcome}: {told.sentence}"
        case story.Lost():
            said = f"{told.host}: connection lost: {told.why}; {told.then}"
        case story.Ended():
            left = f", not touched: {', '.join(told.untouched)}" if told.untouched else ""
            said = f"{told.rollout} ended: exit code {told.exit_code} ({Exit(told.exit_code).name})"
            said += left
        case _:
            return ""
    return said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def over_http(url: str, letter: Letter) -> None:
    """Post a letter; anything but a 2xx is an error, a redirect too: a signed body stays here."""
    from headway.control.pins import web

    try:
        got = web.ask(
            "POST",
            url,
            letter.headers,
            body=letter.body,
            deadline_s=ANSWER_S,
            redirects=False,
        )
    except UnreachableError as error:
        raise OSError(str(error)) from None
    if got.status in _TAKEN:
        return
    said = f"the answer was {got.status}"
    if got.status in _AGAIN or got.status >= _THEIR_FAULT:
        raise OSError(said)
    raise Refused(said)


def _why(error: OSError) -> str:
    return str(error) or type(error).__name__
