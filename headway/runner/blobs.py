"""Bytes by content under /var/lib/headway/blobs, root's alone: secrets lie here too."""

import hashlib
from typing import Iterable, Optional, Tuple

from headway.runner.disk import Disk
from headway.wire.marks import ROOT
from headway.wire.resources import Blob

FOLDER = ROOT + "/blobs"


class BlobError(Exception):
    """A blob is missing or is not what its name says: the record was tampered with."""


class Blobs:
    """The store; `read` checks the hash, so that no edited byte is ever written back."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def path(self, sha256: str) -> str:
        """Say where a blob lies; hashes are spread over 256 folders."""
        return f"{FOLDER}/{sha256[:2]}/{sha256}"

    def missing(self, wanted: Iterable[Blob]) -> Tuple[Blob, ...]:
        """Name what is not here, by presence and size; `read` checks the bytes themselves."""
        absent = []
        for blob in wanted:
            seen = self.disk.seen(self.path(blob.sha256))
            if seen is None or seen.size != blob.size:
                absent.append(blob)
        return tuple(absent)

    def put(self, data: bytes) -> str:
        """Keep these bytes and name them."""
        sha256 = hashlib.sha256(data).hexdigest()
        if self.read_if_whole(sha256) is None:
            self.disk.mkdirs(f"{FOLDER}/{sha256[:2]}", 0o700)
            self.disk.write(self.path(sha256), data, 0o600, *self.disk.me())
        return sha256

    def read_if_whole(self, sha256: str) -> Optional[bytes]:
        """Read a blob; None where it is missing or its bytes are not what its name says."""
        data = self.disk.read(self.path(sha256))
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            return None
        return data

    def read(self, blob: Blob) -> bytes:
        """Read a blob, or raise BlobError where it is missing or was changed."""
        data = self.read_if_whole(blob.sha256)
        if data is None:
            raise BlobError(f"blob {blob.sha256[:12]} is missing or was changed on this host")
        return data
