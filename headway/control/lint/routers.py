"""Router configs: LiteLLM's bases, and what HAProxy and nginx make of a path on its way."""

import re
from collections.abc import Mapping
from typing import Any

from headway.control.errors import ConfigError
from headway.control.lint.finding import Hit, Hits
from headway.control.yaml_nodes import Spot, parse

OWN_ROUTES = ("ollama", "ollama_chat")
"""LiteLLM's providers that talk to a local server by other routes than /v1 (litellm, llms/)."""

ASKED = "/v1/models"
"""A path that clients ask for."""

_HTTPCHK = re.compile(r"\s*option\s+httpchk(?:\s+(?P<words>\S.*))?$")
_CHECK_SEND = re.compile(r"\s*http-check\s+send\b")
_SET_PATH = re.compile(r"\s*http-request\s+set-(?:path|uri)\s+(?P<path>\S+)")
_REPLACE_PATH = re.compile(
    r"\s*http-request\s+replace-(?:path|uri)\s+(?P<match>\S+)\s+(?P<path>\S+)"
)
_REMOVED = re.compile(r"regsub\(['\"]?\^?/v1")
_LOCATION = re.compile(r"\s*location\s+(?:\^~\s+)?(?P<prefix>/\S*)\s*\{")
_PROXY_PASS = re.compile(r"\s*proxy_pass\s+https?://[^/\s;]+(?P<path>/[^\s;]*)?\s*;")


def router_hits(text: str) -> Hits:
    """Find bases and paths that an engine answers with 404; the kind of file is seen in its text.

    What no router would read has no hits, a template of a LiteLLM config among it.
    """
    if "model_list:" in text and "litellm_params:" in text:
        yield from _litellm(text)
    lines = text.split("\n")
    yield from _haproxy(lines)
    yield from _nginx(lines)


def _litellm(text: str) -> Hits:
    try:
        models = [spot for key, spot in parse(text, "").spot.items() if key == "model_list"]
    except ConfigError:
        return
    for _, entry in models[0].items() if models else ():
        for key, spot in entry.items():
            if key == "litellm_params" and isinstance(spot.value, dict):
                yield from _litellm_base(spot, spot.value)


def _litellm_base(spot: Spot, params: Mapping[str, Any]) -> Hits:
    provider = str(params.get("model", "")).partition("/")[0]
    base = str(params.get("api_base", ""))
    if provider in OWN_ROUTES and re.search(r"/v1/*$", base):
        yield Hit(spot.reached(("api_base",)).line, "base-url-with-version", f"{provider}: {base}")


def _haproxy(lines: list[str]) -> Hits:
    sent = any(_CHECK_SEND.match(line) for line in lines)
    for number, line in enumerate(lines, 1):
        if check := _HTTPCHK.match(line):
            words = (check["words"] or "").split()
            path = next((word for word in words if word.startswith(("/", "{{"))), "")
            if path in ("", "/") and not (sent and not words):
                yield Hit(number, "check-path-root", line.strip())
            continue
        made = _SET_PATH.match(line) or _REPLACE_PATH.match(line)
        rule = _of_path(_haproxy_path(**made.groupdict())) if made else ""
        if rule:
            yield Hit(number, rule, line.strip())


def _haproxy_path(path: str, match: str = "") -> str:
    """Say what becomes of ASKED: `match` and its groups replaced, or a sample in its place."""
    if not match:
        kept = "" if _REMOVED.search(path) else "/v1"
        return re.sub(r"%\[path\b.*\]", f"{kept}/models", path)
    try:
        found = re.search(match, ASKED)
        return found.expand(path) if found else ASKED
    except (re.error, IndexError):
        return ASKED


def _of_path(path: str) -> str:
    """Name the rule about a path that ASKED has become; a path of another kind has none."""
    if re.match(r"/v1/*/v1/", path):
        return "url-version-twice"
    return "path-loses-version" if path.endswith("models") and not path.startswith("/v1") else ""


def _nginx(lines: list[str]) -> Hits:
    prefix = ""
    for number, line in enumerate(lines, 1):
        if location := _LOCATION.match(line):
            prefix = location["prefix"]
        passed = _PROXY_PASS.match(line[line.find("{") + 1 :] if location else line)
        if passed and passed["path"] and prefix and ASKED.startswith(prefix):
            rule = _of_path(passed["path"] + ASKED.removeprefix(prefix))
            if rule:
                yield Hit(number, rule, line.strip())
