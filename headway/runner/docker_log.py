"""A container's log as Docker's socket gives it, taken apart into lines."""

from typing import List, Tuple

_STDERR = 2
_HEADER = 8  # stream, three zeros, length of what follows, big-endian (Docker's API, attach)


def messages(body: bytes) -> List[Tuple[str, bool]]:
    """Take Docker's multiplexed stream apart: each line, and whether it went to stderr.

    Of a container with a terminal there is one plain stream.
    """
    found: List[Tuple[str, bool]] = []
    if body[1:4] != b"\0\0\0":
        return [(line.rstrip("\r"), False) for line in body.decode(errors="replace").splitlines()]
    at = 0
    while at + _HEADER <= len(body):
        size = int.from_bytes(body[at + 4 : at + _HEADER], "big")
        data = body[at + _HEADER : at + _HEADER + size].decode(errors="replace")
        found.extend((line, body[at] == _STDERR) for line in data.splitlines())
        at += _HEADER + size
    return found
