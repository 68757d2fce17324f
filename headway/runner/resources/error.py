"""What goes wrong with a resource, as one sentence for people."""

import errno
from typing import Dict


class ResourceError(Exception):
    """A resource could not be brought about, recorded or put back: what, why, what to do."""


_WHY: Dict[int, str] = {
    errno.EROFS: "its file system is mounted read-only; look for disk errors in `dmesg`",
    errno.ENOSPC: "its file system is full (bytes or inodes); see `df -h` and `df -i`",
    errno.EDQUOT: "the disk quota is used up",
    errno.EPERM: "it is not permitted; an immutable file shows an `i` in `lsattr -d`",
    errno.EACCES: "access is denied; see `journalctl -k -g denied` for SELinux or AppArmor",
    errno.ENOTDIR: "something on the way to it is not a folder",
    errno.ELOOP: "a symbolic link lies in the way",
    errno.EIO: "the disk answers with an I/O error; see `dmesg`",
    errno.EBUSY: "it is in use, perhaps as a mount point",
}


def because(what: str, error: OSError) -> ResourceError:
    """Say why the operating system refused; the errno's own words where there is no better."""
    return ResourceError(f"{what}: {reason(error)}")


def reason(error: OSError) -> str:
    """Say in half a sentence why the operating system refused, and how to look."""
    return _WHY.get(error.errno or 0) or (error.strerror or str(error)).lower()
