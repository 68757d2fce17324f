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
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)([^/\s@\"']+)(?=@)")
_TOKEN = re.compile(
    r"(\b(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AKIA|ya29\.|eyJ))([\w.-]{12,})"
)
_NUMBER = re.compile(r"[\"']?\d{1,7}[\"']?")


def masked(line: str) -> str:
    """Give a line without the values of options, variables and headers that name a secret.

    Nor with who logs in by a URL, or with a token that its own first letters tell.
    """
    for pattern in (_OPTION, _VARIABLE, _BEARER, _USERINFO, _TOKEN):
        line = pattern.sub(_blot, line)
    return line


def _blot(found: "re.Match[str]") -> str:
    """Leave small numbers: max_tokens=4096 is no secret."""
    return found[0] if _NUMBER.fullmatch(found[2]) else found[1] + MASK
