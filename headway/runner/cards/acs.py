"""PCI access control services of a bridge, from its configuration space (PCIe 6.0, 7.7.11).

A bridge that redirects sends what one card says to another up to the root complex and back, which
is slow, and under a translating IOMMU wrong or stuck (FIELD.md 2.5).
"""

import re
import struct
from typing import Optional

ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_EXTENDED = 0x100  # where extended capabilities begin; without root only 64 bytes can be read
_ACS = 0x000D
_CONTROL = 6
_REQUEST_REDIRECT, _COMPLETION_REDIRECT = 0x4, 0x8
_MOST = 48  # capabilities that fit: a chain that goes on is broken


def redirects(config: bytes) -> Optional[bool]:
    """Say whether a bridge redirects between its ports; None where the space is not readable.

    A bridge without the capability redirects nothing.
    """
    if len(config) <= _EXTENDED:
        return None
    at = _EXTENDED
    for _ in range(_MOST):
        if not _EXTENDED <= at <= len(config) - 8:
            return False
        (head,) = struct.unpack_from("<I", config, at)
        if head & 0xFFFF == _ACS:
            (control,) = struct.unpack_from("<H", config, at + _CONTROL)
            return bool(control & (_REQUEST_REDIRECT | _COMPLETION_REDIRECT))
        at = head >> 20
    return False
