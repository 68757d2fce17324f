"""Blots out what looks like a secret in text that a host gave: old units and files hold them.

Values that the inventory knows are hidden by value, at the sinks. What somebody once wrote into a
unit by hand is known by its name only.
"""

import re

from headway.control.secrets import MASK

_OPTION = re.compile(
    r"(?i)(--?[\w-]*(?:api-key|token|password|secret)[=\s]+)(?!-)(\"[^\"]*\"|'[^']*'|\S+)"
)
_VARIABLE = re.compile(
    r"""(?i)(\b\w*(?:api_?key|_key|token|secret|passw(?:or)?d)["']?\s*[:=]\s*)(?!\$)("[^"]*"|'[^']*'|\S+)"""
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)(\S+)")
_NUMBER = re.compile(r"[\"']?\d{1,7}[\"']?")


def masked(line: str) -> str:
    """Give a line without the values of options, variables and headers that name a secret."""
    for pattern in (_OPTION, _VARIABLE, _BEARER):
        line = pattern.sub(_blot, line)
    return line


def _blot(found: "re.Match[str]") -> str:
    """Leave small numbers: max_tokens=4096 is no secret."""
    return found[0] if _NUMBER.fullmatch(found[2]) else found[1] + MASK
