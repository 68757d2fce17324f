"""Says hello, hears the order, and answers at once where a seal says that nothing has changed.

A seal (seal.py) is what a full look depended on: as long as each of those things is as it was, the
full look would say the same. Here it is only compared: nothing of the runner is loaded, for an
unchanged host should cost little more than its login. Anything else goes to serve.py.
"""

import os
import sys
import time

from headway.wire.marks import HELLO_MARK, ROOT

SEAL = ROOT + "/seal"
VERSION = b"headway seal 1"
_CHUNK = 1 << 16
_KIND, _LINK = 0o170000, 0o120000  # `stat` is one more file to load
_HTTP_S = 5


def serve(folder: str, *, cards: bool = False) -> int:
    """Serve one order over stdin and stdout; `folder` is this runner's own, runner/HASH.

    With `cards` the driver is asked at once: the order that wants to know is on its way.
    """
    os.write(1, hello(folder))
    if cards and os.geteuid() == 0 and os.path.exists(folder + "/satchel-cards"):
        from headway.runner.cards import ask_ahead

        ask_ahead(pairs=True)
        import headway.runner.serve  # noqa: F401 # loaded while the driver answers: no seal fits
    heard = bytearray()
    while b"\n" not in heard:
        chunk = os.read(0, _CHUNK)
        if not chunk:
            return 0
        heard += chunk
    answer = sealed(bytes(heard), folder) if os.geteuid() == 0 else None
    if answer is not None:
        os.write(1, answer)
        return 0
    from headway.runner.serve import serve as in_full

    return in_full(bytes(heard))


def hello(folder: str) -> bytes:
    """Word the hello line: wire.talk.Hello behind the mark."""
    fields = (
        ("runner", os.path.basename(folder)),
        ("python", ".".join(map(str, sys.version_info[:3]))),
        ("boot_id", _text("/proc/sys/kernel/random/boot_id")),
        ("hostname", os.uname().nodename),
    )
    said = ",".join(f'"{name}":"{value}"' for name, value in fields)
    return f'{HELLO_MARK}{{"hello":{{{said}}}}}\n'.encode()


def sealed(order: bytes, folder: str, root: str = "") -> "bytes | None":
    """Give the answer that was sealed for this order; None when anything is not as it was."""
    try:
        with open(root + SEAL, "rb") as file:
            version, runner, begins, answer, *rows = file.read().splitlines()
    except (OSError, ValueError):
        return None
    if (version, runner) != (VERSION, os.path.basename(folder).encode()):
        return None
    if not order.startswith(begins) or b'"relaunch":[]' not in order[len(begins) :]:
        return None
    if all(_holds(row, root) for row in rows):
        now = str(int(time.time() * 1000)).encode()
        return answer.replace(b"@NOW@", now).replace(b"@BREAK@", b"\n") + b"\n"
    return None


def signature(path: str) -> str:
    """Word what lies at a path so that any change of it shows: inode, size and times.

    Of a link also what it leads to.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "absent"
    if found.st_mode & _KIND != _LINK:
        return _signed(found)
    try:
        return _signed(found) + " " + _signed(os.stat(path))
    except OSError:
        return _signed(found) + " nowhere"


def _signed(found: os.stat_result) -> str:
    who = f"{found.st_mode:o}:{found.st_uid}:{found.st_gid}"
    return f"{who}:{found.st_size}:{found.st_ino}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def status_of(address: str, port: int, request: bytes) -> str:
    """Ask a local HTTP server and give the status it answers with, "" when it does not."""
    from _socket import AF_INET, AF_INET6, SOCK_STREAM, socket  # `socket` costs three times more

    kind = AF_INET6 if ":" in address else AF_INET
    sock = socket(kind, SOCK_STREAM)
    try:
        sock.settimeout(_HTTP_S)
        sock.connect((address, port))
        sock.sendall(request)
        words = sock.recv(_CHUNK).split(None, 2)
    except OSError:
        return ""
    finally:
        sock.close()
    return words[1].decode("ascii", "replace") if len(words) > 1 else ""


def _holds(row: bytes, root: str) -> bool:
    kind, name, wanted = row.decode().split("\t")
    if kind == "path":
        return signature(root + name) == wanted
    if kind == "text":
        return _text(root + name) == wanted
    if kind == "link":
        return _link(root + name) == wanted
    if kind == "http":
        address, port, request = name.split(" ", 2)
        raw = request.replace("@BREAK@", "\r\n").encode()
        return status_of(address, int(port), raw) == wanted
    return False


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().split())
    except OSError:
        return "absent"


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "absent"
