"""Durable writes: whole or not at all, below one root, each step of them a seam for tests.

A write is a temporary file *beside its target*, fsync, rename, fsync of the folder (DESIGN 4):
a power cut leaves the old bytes or the new ones. Every path given is absolute as the host sees
it; `root` is put before it, "" on a real host.
"""

import errno
import os
import shutil
import stat
from dataclasses import dataclass
from typing import List, Optional, Tuple

TEMPORARY = ".headway-"


@dataclass(frozen=True)
class Seen:
    """What lies at a path: `kind` is "file", "dir", "link" or "other"."""

    kind: str
    mode: int
    uid: int
    gid: int
    size: int


@dataclass(frozen=True)
class Room:
    """What is free on a file system; `inodes` is None where it does not count them."""

    device: int
    free_bytes: int
    inodes: Optional[int]


class Disk:
    """A file system below `root`; `tag` names the temporary files after the transition."""

    def __init__(self, root: str = "", tag: str = "x") -> None:
        self.root = root
        self.tag = tag

    def real(self, path: str) -> str:
        """Give the path that the operating system is asked for."""
        return self.root + path

    def me(self) -> Tuple[int, int]:
        """Name the user and group that headway's own files belong to: root, but in tests."""
        return os.geteuid(), os.getegid()

    # --- looking ---------------------------------------------------------------------------

    def seen(self, path: str) -> Optional[Seen]:
        """Look at what lies there, without following a link; None where nothing does."""
        try:
            found = os.lstat(self.real(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        tests = (("file", stat.S_ISREG), ("dir", stat.S_ISDIR), ("link", stat.S_ISLNK))
        kind = next((name for name, test in tests if test(found.st_mode)), "other")
        mode = stat.S_IMODE(found.st_mode)
        return Seen(kind, mode, found.st_uid, found.st_gid, found.st_size)

    def read(self, path: str) -> Optional[bytes]:
        """Read a file whole; None where nothing lies."""
        try:
            with open(self.real(path), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, path: str) -> List[str]:
        """List a folder, sorted; [] where there is none."""
        try:
            return sorted(os.listdir(self.real(path)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def link(self, path: str) -> str:
        """Read where a symbolic link points."""
        return os.readlink(self.real(path))

    def nearest(self, path: str) -> str:
        """Name the nearest folder above a path that exists, following links."""
        folder = os.path.dirname(path)
        while folder != "/" and not os.path.isdir(self.real(folder)):
            folder = os.path.dirname(folder)
        return folder

    def room(self, path: str) -> Room:
        """Look at the file system that a path lies on, or would lie on."""
        folder = self.real(self.nearest(path)) or "/"
        found = os.statvfs(folder)
        inodes = found.f_favail if found.f_files else None
        return Room(os.stat(folder).st_dev, found.f_bavail * found.f_frsize, inodes)

    def writable(self, path: str) -> bool:
        """Ask the kernel, which knows read-only file systems and immutable files, without writing.

        A link counts as writable: it is replaced, not followed.
        """
        real = self.real(path)
        return os.path.islink(real) or not os.path.exists(real) or os.access(real, os.W_OK)

    # --- changing --------------------------------------------------------------------------

    def write(self, path: str, data: bytes, mode: int = 0o600, uid: int = 0, gid: int = 0) -> None:
        """Replace a file's bytes, mode and owner in one step that a power cut cannot halve."""
        real = self.real(path)
        folder, temporary = os.path.dirname(real), self._temporary(real)
        self._fill(temporary, data, mode, uid, gid)
        self._rename(temporary, real)
        self._sync_dir(folder)

    def symlink(self, target: str, path: str) -> None:
        """Put a symbolic link there in one step, over whatever file or link lay there."""
        real = self.real(path)
        folder, temporary = os.path.dirname(real), self._temporary(real)
        if os.path.lexists(temporary):
            os.unlink(temporary)
        os.symlink(target, temporary)
        self._rename(temporary, real)
        self._sync_dir(folder)

    def drop_temporary(self, path: str) -> None:
        """Remove what a write of this path left that was cut before its rename."""
        temporary = self._temporary(self.real(path))
        if os.path.lexists(temporary):
            os.unlink(temporary)

    def mkdir(self, path: str, mode: int = 0o755, uid: int = 0, gid: int = 0) -> None:
        """Make one folder (its parent exists) or give an existing one this mode and owner."""
        real = self.real(path)
        if not os.path.isdir(real):
            self._mkdir(real)
        self._chmod_dir(real, mode, uid, gid)
        self._sync_dir(os.path.dirname(real))

    def mkdirs(self, path: str, mode: int = 0o755) -> List[str]:
        """Make a folder and the parents it lacks; name those made, outermost first."""
        made: List[str] = []
        missing = path
        while missing != "/" and self.seen(missing) is None:
            made.insert(0, missing)
            missing = os.path.dirname(missing)
        for folder in made:
            self.mkdir(folder, mode, *self.me())
        return made

    def remove(self, path: str) -> None:
        """Remove a file or link; that it is gone already is fine."""
        real = self.real(path)
        try:
            self._unlink(real)
        except FileNotFoundError:
            return
        self._sync_dir(os.path.dirname(real))

    def rmdir(self, path: str) -> bool:
        """Remove a folder if it is empty; say whether it is gone."""
        real = self.real(path)
        try:
            self._rmdir(real)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR):
                return False
            raise
        self._sync_dir(os.path.dirname(real))
        return True

    def poke(self, path: str, data: bytes) -> None:
        """Write into a file of the kernel's, under /proc or /sys: nothing can be renamed there."""
        fd = os.open(self.real(path), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def rmtree(self, path: str) -> None:
        """Remove a folder of headway's own with all that is in it."""
        shutil.rmtree(self.real(path), ignore_errors=True)

    # --- the steps a power cut can fall between: the seam for tests -------------------------

    def _temporary(self, real: str) -> str:
        folder, name = os.path.split(real)
        return os.path.join(folder, TEMPORARY + self.tag + "-" + name)

    def _fill(self, real: str, data: bytes, mode: int, uid: int, gid: int) -> None:
        """Write the temporary file and sync it; SELinux gives it the folder's default label."""
        fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            if (uid, gid) != self.me():
                os.fchown(fd, uid, gid)
            os.fchmod(fd, mode)
            self._sync_file(fd)
        except OSError:
            os.unlink(real)
            raise
        finally:
            os.close(fd)

    def _rename(self, temporary: str, real: str) -> None:
        os.rename(temporary, real)

    def _unlink(self, real: str) -> None:
        os.unlink(real)

    def _mkdir(self, real: str) -> None:
        os.mkdir(real, 0o700)

    def _rmdir(self, real: str) -> None:
        os.rmdir(real)

    def _chmod_dir(self, real: str, mode: int, uid: int, gid: int) -> None:
        found = os.stat(real)
        if (found.st_uid, found.st_gid) != (uid, gid):
            os.chown(real, uid, gid)
        if stat.S_IMODE(found.st_mode) != mode:
            os.chmod(real, mode)

    def _sync_file(self, fd: int) -> None:
        os.fsync(fd)

    def _sync_dir(self, real: str) -> None:
        fd = os.open(real or "/", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
