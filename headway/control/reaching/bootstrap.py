"""What is said to a host before a runner is there: one command, and one small program.

The command runs the runner if it is there; else it says what the host has, and waits for the
runner on standard input. So there is one exec a host, and one sudo prompt, first time or not.

It must survive every login shell (sh, csh, fish all take what stands between single quotes, but
not a quote, backslash, exclamation mark or newline in it) and csh's word limit of 1024.
"""

import hashlib
import re
from dataclasses import dataclass

from headway.wire.marks import ABSENT_MARK, ROOT, RUN

OLDEST = (3, 9)

_SCRIPT = (
    "R={sha256}; for P in {places}; do "
    "test -f $P/__main__.py && exec {python} -I -S $P/__main__.py serve{ahead}; done; "
    'echo "{mark}uid=$(id -u) systemd=$(test -d /run/systemd/system && echo yes || echo no) '
    'python=$({python} -I -S -c "import sys,bz2,json,hashlib,zipfile;'
    'print(sys.version_info[0],sys.version_info[1],sep=chr(46))" 2>&1 | tail -n 1)"; '
    'exec {python} -I -S -c "import sys;exec(sys.stdin.buffer.read(int(sys.argv[1])))" '
    "{length} {places}"
)

# Runs on the host: takes the data from standard input, unpacks it beside its place, renames it
# there, and becomes the runner. Every file is synced first: recovery at boot starts from here.
_RECEIVER = b"""\
import bz2,hashlib,io,os,shutil,sys,zipfile
size,digest=sys.stdin.buffer.readline().split()
data=sys.stdin.buffer.read(int(size))
if hashlib.sha256(data).hexdigest()!=digest.decode():
    sys.exit("the runner arrived damaged")
os.umask(0o077)
def sync(path):
    fd=os.open(path,os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
def put(place):
    folder,name=os.path.split(place)
    new="%s/.%s-%d"%(folder,name[:12],os.getpid())
    try:
        os.makedirs(folder,exist_ok=True)
        zipfile.ZipFile(io.BytesIO(bz2.decompress(data))).extractall(new)
        for path,_,files in os.walk(new):
            for file in files:
                sync(path+"/"+file)
            sync(path)
        if os.path.isdir(place) and not os.path.exists(place+"/__main__.py"):
            shutil.rmtree(place)
        if not os.path.isdir(place):
            os.rename(new,place)
        sync(folder)
    except OSError as error:
        return "the runner cannot be put to %s: %s (see findmnt -T, df -h and df -i of it)"%(
            folder,error.strerror)
    finally:
        shutil.rmtree(new,ignore_errors=True)
place=sys.argv[2]
why=put(place)
if why and sys.argv[3:]:
    place=sys.argv[3]
    why=put(place)
if why:
    sys.exit(why)
os.execv(sys.executable,[sys.executable,"-I","-S",place+"/__main__.py","serve"])
"""


def serve_argv(
    sha256: str, python: str = "python3", *, cards: bool = False, spare: bool = False
) -> list[str]:
    """Build the one command that starts the runner of this hash, or waits for it.

    With `cards` a runner that is there has the driver asked before the order comes. With `spare`
    a host whose disk takes no runner has it in memory: for what only looks.
    """
    script = _SCRIPT.format(
        sha256=sha256,
        python=python,
        mark=ABSENT_MARK,
        length=len(_RECEIVER),
        ahead=" cards" if cards else "",
        places=" ".join(f"{root}/runner/$R" for root in (ROOT, *([RUN] * spare))),
    )
    return ["/bin/sh", "-c", script]


def delivery(data: bytes) -> bytes:
    """Build what a host without the runner is sent: the receiver, then the data it checks."""
    digest = hashlib.sha256(data).hexdigest()
    return _RECEIVER + f"{len(data)} {digest}\n".encode() + data


@dataclass(frozen=True)
class Bare:
    """What a host without the runner said of itself; `python` is a version or an error."""

    uid: int
    systemd: bool
    python: str


def bare(words: str) -> Bare:
    """Read what follows ABSENT_MARK; ValueError when it is something else."""
    found = re.fullmatch(r"uid=(\d+) systemd=(yes|no) python=(.*)", words.strip())
    if found is None:
        raise ValueError(words)
    return Bare(int(found[1]), found[2] == "yes", found[3].strip())


def unfit(host: Bare, python: str = "python3") -> tuple[str, str] | None:
    """Say why no runner can live on such a host, and what to do; None when one can."""
    oldest = ".".join(map(str, OLDEST))
    if host.uid != 0:
        return f"the login has uid {host.uid}, and headway needs root", "set ansible_become: true"
    if not host.systemd:
        return "systemd is not running (no /run/systemd/system)", "headway needs systemd as PID 1"
    version = re.fullmatch(r"(\d+)\.(\d+)", host.python)
    if version is not None:
        if (int(version[1]), int(version[2])) >= OLDEST:
            return None
        return (
            f"{python} is Python {host.python}, and headway needs {oldest} or newer",
            "install a newer one and set ansible_python_interpreter to its path",
        )
    if "No module named" in host.python:
        return f"{python} is incomplete ({host.python})", "install python3, not python3-minimal"
    return f"{python} does not run ({host.python})", "install python3, 3.9 or newer"
