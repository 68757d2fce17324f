"""What a registry wants to be shown: the WWW-Authenticate of its 401 (RFC 9110, section 11)."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode, urlsplit

_HEAD = re.compile(r"\s*(Bearer|Basic)\b(.*)", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,"]*))')


@dataclass(frozen=True)
class Challenge:
    """A login (`basic`), or a token (`bearer`) that `realm` hands out for a service and scope."""

    scheme: Literal["bearer", "basic"]
    realm: str = ""
    service: str = ""
    scope: str = ""

    def token_url(self, scope: str) -> str:
        """Say where a token is had; the registry's own word for the scope counts more than ours."""
        asked = {"service": self.service, "scope": self.scope or scope}
        query = urlencode({key: value for key, value in asked.items() if value})
        return self.realm + ("&" if "?" in self.realm else "?") + query


def challenge(header: str) -> Challenge | None:
    """Read what is wanted; None where it is neither a login nor a token."""
    head = _HEAD.match(header)
    if head is None:
        return None
    words = {key.lower(): quoted or plain for key, quoted, plain in _WORD.findall(head[2])}
    known = {key: words.get(key, "") for key in ("realm", "service", "scope")}
    try:
        urlsplit(known["realm"])
    except ValueError:
        return None  # a port or an address in brackets that is none
    return Challenge("bearer" if head[1].lower() == "bearer" else "basic", **known)
