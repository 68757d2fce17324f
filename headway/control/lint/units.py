"""Unit files: settings that leave an engine down, its workers on the card, or its log empty."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from headway.control.lint.commands import command_findings
from headway.control.lint.environments import environment_findings, plain_secrets
from headway.control.lint.finding import Hit, Hits
from headway.control.lint.scripts import continuation_hits
from headway.control.rendering.systemd_text import words
from headway.control.rendering.unit_file import Setting, TextError, last, logical_lines, settings
from headway.wire.env_text import environment

LEAST_LOAD_S = 30
"""No engine is up sooner when it is slow; systemd's own limit is 5 starts in 10 s."""
FAR_BURST = 200_000
"""No engine logs as many lines in one interval of its rate limit."""

_EXEC = re.compile(r"Exec(?:Start|StartPre|StartPost|Stop|StopPost|Reload|Condition)")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9]*|X-\S+")
_SPAN = re.compile(r"(\d+)\s*(us|ms|s|sec|min|m|h|hr|d|)")
_SECONDS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "sec": 1,
    "": 1,
    "min": 60,
    "m": 60,
    "h": 3600,
    "hr": 3600,
    "d": 86400,
}
_RESTARTS = ("no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always")


@dataclass(frozen=True)
class Seen:
    """A unit as its rules see it. `journal` is whether a gate judges its log."""

    name: str
    text: str
    settings: tuple[Setting, ...]
    journal: bool

    def value(self, *keys: str, section: str = "Service") -> str:
        """Give the last value of a setting under any of its spellings."""
        return next((text for key in keys if (text := last(self.settings, key, section))), "")

    def hit(self, rule: str, key: str, detail: str = "") -> Hit:
        """Make a hit at the line of a setting, or at the first one."""
        lines = [one.line for one in self.settings if one.key == key]
        return Hit(lines[-1] if lines else 1, rule, detail, key)


def text_hits(text: str) -> Hits:
    """Find what cuts a continued line short: in the file as it is written, template or not."""
    yield from continuation_hits(text.split("\n"), comments_end=False)


def unit_hits(name: str, text: str, *, engine: bool = False, journal: bool = False) -> Hits:
    """Judge a unit as systemd will take it; `engine` adds what an engine's service needs."""
    seen = Seen(name, text, settings(text), journal)
    for rule in (*ALWAYS, *(ENGINE if engine else ())):
        yield from rule(seen)


def seconds(text: str) -> float | None:
    """Read a time span as systemd writes them; None for infinity and for what is none."""
    found = _SPAN.findall(text)
    if not found or _SPAN.sub("", text).strip():
        return None
    return sum(int(number) * _SECONDS[unit] for number, unit in found)


def _lost_lines(seen: Seen) -> Hits:
    """Tell of the first line of each block that systemd ignores."""
    before = False
    for line, logical in logical_lines(seen.text):
        stripped = logical.strip()
        key = stripped.partition("=")[0].rstrip()
        fine = not stripped or stripped.startswith("[") or ("=" in stripped and _KEY.fullmatch(key))
        if not fine and not before:
            yield Hit(line, "unit-line-lost", stripped[:60])
        before = not fine and bool(stripped)


def _commands(seen: Seen) -> Hits:
    for one in seen.settings:
        if one.section == "Service" and _EXEC.fullmatch(one.key) and one.value:
            for rule, detail in command_findings(one.value, seen.name):
                yield Hit(one.line, rule, detail, one.key)


def _kill_mode(seen: Seen) -> Hits:
    mode = seen.value("KillMode")
    if mode in ("process", "none", "mixed"):
        yield seen.hit("kill-mode", "KillMode", f"KillMode={mode}")


def _no_sigkill(seen: Seen) -> Hits:
    if seen.value("SendSIGKILL").lower() in ("no", "false", "off", "0"):
        yield seen.hit("no-sigkill", "SendSIGKILL")


def _restart_word(seen: Seen) -> Hits:
    restart = seen.value("Restart")
    if restart and restart not in _RESTARTS:
        yield seen.hit("restart-unknown", "Restart", f"Restart={restart}")


def _environment(seen: Seen) -> Hits:
    for one in seen.settings:
        if (one.section, one.key) != ("Service", "Environment"):
            continue
        try:
            values = environment("\n".join(words(one.value)))
        except TextError:
            continue
        for rule, _, detail in environment_findings(values):
            yield Hit(one.line, rule, detail, "Environment")
        for name in plain_secrets(values):
            yield Hit(one.line, "secret-in-environment", name, "Environment")


def _restart(seen: Seen) -> Hits:
    restart = seen.value("Restart") or "no"
    if restart in _RESTARTS and restart != "always":
        yield seen.hit("restart-not-always", "Restart", f"Restart={restart}")


def _start_limit(seen: Seen) -> Hits:
    interval = seen.value("StartLimitIntervalSec", "StartLimitInterval", section="Unit")
    interval = interval or seen.value("StartLimitInterval") or "10"
    starts = seen.value("StartLimitBurst", section="Unit") or seen.value("StartLimitBurst") or "5"
    pause = seconds(seen.value("RestartSec") or "100ms")
    span = seconds(interval)
    if span is None or pause is None or not starts.isdecimal():
        return
    if span <= int(starts) * (pause + LEAST_LOAD_S):
        detail = f"{starts} starts in {interval} s, each of at least {LEAST_LOAD_S} s"
        yield seen.hit("start-limit-unreachable", "StartLimitIntervalSec", detail)


def _stop_timeout(seen: Seen) -> Hits:
    if not seen.value("TimeoutStopSec", "TimeoutSec"):
        yield seen.hit("no-stop-timeout", "ExecStart")


def _log(seen: Seen) -> Hits:
    if not seen.journal:
        return
    for key in ("StandardOutput", "StandardError"):
        value = seen.value(key)
        if value and value.partition(":")[0] in ("append", "file", "truncate", "null"):
            yield seen.hit("log-not-in-journal", key, f"{key}={value}")
    burst = seen.value("LogRateLimitBurst")
    own = seen.value("LogRateLimitIntervalSec") not in ("", "0", "0s")
    if not (own and burst.isdigit() and int(burst) >= FAR_BURST):
        yield seen.hit("journal-rate-limited", "ExecStart")


Rule = Callable[[Seen], Hits]
ALWAYS: tuple[Rule, ...] = (
    *(_lost_lines, _commands, _kill_mode, _no_sigkill, _restart_word, _environment),
)
ENGINE: tuple[Rule, ...] = (_restart, _start_limit, _stop_timeout, _log)
