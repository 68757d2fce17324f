"""A stand-in for an inference engine, for hosts where the real one cannot run (bullseye).

It is no engine: it answers the engine's HTTP endpoints in the shape of llama-server's answers and
quotes the marker that the prompt introduced. Standard library only, Python 3.9.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARKER = re.compile(r"marker is (\S+?)[.\s]")
LOADING = {"error": {"message": "Loading model", "type": "unavailable_error"}}
NOT_FOUND = {"error": {"message": "File Not Found", "type": "not_found_error"}}


def options() -> argparse.Namespace:
    """Return the options of this launch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--alias", default="copy", help="the model's name")
    parser.add_argument("--ctx-size", type=int, default=4096)
    parser.add_argument("--log", action="append", default=[], help="a line for the journal")
    parser.add_argument(
        "--delay-s", type=float, default=0, help="load so long, with 503 until then"
    )
    parser.add_argument("--answer-wrong", action="store_true", help="be healthy, and wrong")
    parser.add_argument("--never-answer", action="store_true", help="take completions, and hang")
    parser.add_argument("--exit-after-s", type=float, help="end by itself so long after the start")
    parser.add_argument("--exit-code", type=int, default=1)
    return parser.parse_args()


class Launch(ThreadingHTTPServer):
    """One launch: its options, when it started, and its counters."""

    daemon_threads = True

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.loaded_at = time.monotonic() + given.delay_s
        self.counters = {"prompt_tokens_total": 0, "tokens_predicted_total": 0}
        super().__init__((given.host, given.port), Request)

    def complete(self, prompt: str) -> tuple[str, dict[str, int]]:
        """Return the text and the usage of a completion: the prompt's marker, or nonsense."""
        while self.given.never_answer:
            time.sleep(1)
        found = MARKER.search(prompt)
        text = f" {found.group(1)}." if found and not self.given.answer_wrong else " the the the"
        used = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        self.counters["prompt_tokens_total"] += used["prompt_tokens"]
        self.counters["tokens_predicted_total"] += used["completion_tokens"]
        return text, used


class Request(BaseHTTPRequestHandler):
    """One request to the launch."""

    protocol_version = "HTTP/1.1"
    server: Launch

    def do_GET(self) -> None:
        """Answer health, the list of models, properties and metrics."""
        given = self.server.given
        model = {"id": given.alias, "object": "model", "meta": {"n_ctx": given.ctx_size}}
        pages = {
            "/health": {"status": "ok"},
            "/v1/models": {"object": "list", "data": [model]},
            "/props": {"default_generation_settings": {"n_ctx": given.ctx_size}},
        }
        if time.monotonic() < self.server.loaded_at:
            self.say(503, LOADING)
        elif self.path == "/metrics":
            lines = [f"llamacpp:{name} {n}\n" for name, n in self.server.counters.items()]
            self.send(200, "text/plain; version=0.0.4", "".join(lines))
        else:
            self.say(200 if self.path in pages else 404, pages.get(self.path, NOT_FOUND))

    def do_POST(self) -> None:
        """Answer a completion or a chat; streams are not offered."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        chat = self.path == "/v1/chat/completions"
        if time.monotonic() < self.server.loaded_at:
            self.say(503, LOADING)
        elif not chat and self.path != "/v1/completions":
            self.say(404, NOT_FOUND)
        else:
            said = "".join(str(message.get("content")) for message in asked.get("messages", []))
            text, used = self.server.complete(said if chat else str(asked.get("prompt", "")))
            answer = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            choice = {"index": 0, "finish_reason": "length", **answer}
            model = self.server.given.alias
            self.say(200, {"model": model, "choices": [choice], "usage": used})

    def say(self, status: int, body: object) -> None:
        """Send JSON."""
        self.send(status, "application/json", json.dumps(body))

    def send(self, status: int, kind: str, text: str) -> None:
        """Send one whole answer."""
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name upstream
        """Log a request on stderr, where the journal reads it."""
        sys.stderr.write(f"request: {format % args}\n")


def main() -> None:
    """Serve until told to stop."""
    given = options()
    for line in given.log:
        sys.stderr.write(f"{line}\n")
    launch = Launch(given)
    if given.exit_after_s is not None:
        threading.Timer(given.exit_after_s, os._exit, [given.exit_code]).start()
    sys.stderr.write(f"main: server is listening on http://{given.host}:{given.port}\n")
    launch.serve_forever()


if __name__ == "__main__":
    main()
