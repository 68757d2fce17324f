"""Webhooks: signed, tried again, and never in the way of a rollout."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from headway.control.telling import story
from headway.control.telling.courier import Courier, Letter, Limits, sentence, signature
from headway.control.telling.settings import Outlet, Slack, Webhook
from tests.control import tell

QUICK = Limits(pauses_s=(0.01, 0.01), grace_s=3)
TOLD = tell.case("went_back").told


@dataclass
class Receiver:
    """A web server that answers as it is told to, and keeps what it got."""

    answers: list[int] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    @contextmanager
    def up(self) -> Iterator["Receiver"]:
        """Serve on a port of this machine."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                code = receiver.answers.pop(0) if receiver.answers else 204
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", receiver.url + "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _told(setting: Any, receiver: Receiver, secret: str = "") -> list[str]:
    warnings: list[str] = []
    outlet = Outlet("headway.yaml:2", setting, receiver.url, secret)
    with Courier(outlet, warnings.append, limits=QUICK) as courier:
        for piece in TOLD:
            courier(piece)
    return warnings


def test_what_is_posted_is_the_line_of_json_and_signed() -> None:
    """A receiver checks who it is from, and knows a second try again by its delivery."""
    with Receiver().up() as receiver:
        assert _told(Webhook(receiver.url), receiver, "kept secret") == []
    kinds = [next(iter(json.loads(body))) for _, body in receiver.got]
    assert kinds == ["began", "host_ended", "ended"]
    for headers, body in receiver.got:
        at = headers["X-Headway-Timestamp"]
        made = hmac.new(b"kept secret", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        assert (
            headers["X-Headway-Signature"] == f"sha256={made}" == signature("kept secret", at, body)
        )
    assert len({headers["X-Headway-Delivery"] for headers, _ in receiver.got}) == 3


def test_kinds_are_picked_those_a_host_says_too() -> None:
    """`tell: [reported]` is every gate, and nothing else."""
    with Receiver().up() as receiver:
        _told(Webhook(receiver.url, tell=("reported",)), receiver)
    bodies = [json.loads(body)["host_said"]["event"]["body"] for _, body in receiver.got]
    assert bodies
    assert all(list(body) == ["reported"] for body in bodies)


def test_what_fails_for_now_is_tried_again_with_the_same_delivery() -> None:
    """503 and 429 come back; the order is kept."""
    receiver = Receiver(answers=[503, 429])
    with receiver.up():
        assert _told(Webhook(""), receiver) == []
    assert len(receiver.got) == 5
    assert len({headers["X-Headway-Delivery"] for headers, _ in receiver.got[:3]}) == 1


def test_what_is_refused_is_not_tried_again_and_is_said() -> None:
    """A wrong key stays wrong; a redirect would carry a signed body somewhere else."""
    for answer in (401, 302):
        receiver = Receiver(answers=[answer])
        with receiver.up():
            [warning] = _told(Webhook(""), receiver)
        assert warning == f"headway.yaml:2: 1 of 3 were not delivered: the answer was {answer}"
        assert len(receiver.got) == 3


def test_a_receiver_that_hangs_slows_nobody() -> None:
    """A rollout goes on at once; at its end it waits for a moment, and says what was lost."""
    hanging = threading.Event()

    def post(_url: str, _letter: Letter) -> None:
        hanging.wait(30)

    warnings: list[str] = []
    limits = Limits(queue=5, grace_s=0.2)
    began = time.monotonic()
    with Courier(Outlet("f:1", Webhook(""), "http://x"), warnings.append, post, limits) as courier:
        for _ in range(1000):
            courier(TOLD[0])
        told_s = time.monotonic() - began
    ended_s = time.monotonic() - began
    hanging.set()
    assert told_s < 1
    assert ended_s < 2
    assert warnings == ["f:1: 1000 of 1000 were not delivered"]


def test_an_address_where_nobody_listens_is_a_note_without_the_address() -> None:
    """The address of a chat's webhook is a secret."""
    receiver = Receiver(url="http://127.0.0.1:1/T000/secret-path")
    [warning] = _told(Slack(receiver.url), receiver)
    assert "not delivered" in warning
    assert "refused" in warning
    assert "secret-path" not in warning


def test_slack_gets_sentences() -> None:
    """One when it begins, one a host, one at the end; what a chat would read as markup is not."""
    with Receiver().up() as receiver:
        assert _told(Slack(""), receiver) == []
    said = [json.loads(body) for _, body in receiver.got]
    assert all(list(one) == ["text"] for one in said)
    assert "gpu1: went back: " in said[1]["text"]
    assert sentence(story.HostEnded("gpu1", 0, "unchanged", "fine")) == ""
    assert sentence(story.HostEnded("a", 1, "x", "<b> & c")) == "a: x: &lt;b&gt; &amp; c"
