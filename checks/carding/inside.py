"""A program that opens the cards as an engine would: sent as text, run in the engine's environment.

    inside.py open           which CUDA library it finds, whether it opens, and which cards it sees
    inside.py all-reduce S   NCCL over all cards it sees, one process each, values checked, in S s

Each result is one line, MARK and JSON; whatever NCCL logs stands between them. It imports nothing
of headway: its user may not read the runner's folder. Python must run it with -u: NCCL logs to C's
own stdout, which would keep its last lines in a buffer.
"""
# ruff: noqa: ANN401, PTH123, PTH120, PTH207  # C functions take anything; the plainest of imports

import ctypes
import glob
import json
import os
import select
import signal
import sys
import time
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

MARK = "headway "
MIB = 1024 * 1024
BUFFER = 256 * MIB  # bytes a card: what is reduced, in place
SEGMENT = MIB  # each has a number of its own, so that a byte in a wrong place shows
WARM, FEWEST, MOST = 3, 5, 20  # rounds
Hear = Callable[[], str]
Tell = Callable[[str], None]
_SUM, _UINT32 = 0, 3  # ncclSum, ncclUint32


class Trouble(Exception):  # noqa: N818 # a sentence for the gate
    """A call did not do what it is for; the sentence names it."""


def say(**facts: Any) -> None:
    """Say one result: one write, so that no other process writes into it."""
    os.write(1, f"{MARK}{json.dumps(facts)}\n".encode())


# --- CUDA ------------------------------------------------------------------------------------


class Cuda:
    """The driver's library as this environment finds it."""

    def __init__(self) -> None:
        """Load it and open the cards; Trouble where either fails."""
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Trouble(f"no libcuda.so.1: {error}") from None
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name: str, *words: Any) -> None:
        """Call one function, or raise Trouble with CUDA's own name for what went wrong."""
        code = getattr(self.library, name)(*words)
        if code:
            word = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(word))
            known = (word.value or b"unknown error").decode()
            raise Trouble(f"{name}: {known} ({code})")

    def count(self) -> int:
        """Count the cards it sees."""
        found = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(found))
        return found.value

    def uuid(self, index: int) -> str:
        """Name a card as NVML does."""
        raw = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid", ctypes.byref(raw), ctypes.c_int(index))
        text = bytes(raw).hex()
        bounds = (0, 8, 12, 16, 20, 32)
        return "GPU-" + "-".join(text[a:b] for a, b in zip(bounds, bounds[1:]))

    def driver(self) -> int:
        """Read the CUDA version that the driver has: 13000 is 13.0."""
        found = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(found))
        return found.value

    def use(self, index: int) -> None:
        """Make a card this thread's own."""
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(index))
        self.call("cuCtxSetCurrent", context)


def mapped(name: str) -> str:
    """Find the file that a library was loaded from."""
    with open("/proc/self/maps") as file:
        paths = [row.split()[-1] for row in file if name in row]
    return paths[0] if paths else ""


def opened() -> None:
    """Say what this environment finds of the cards."""
    try:
        cuda = Cuda()
        cards = [cuda.uuid(index) for index in range(cuda.count())]
        say(library=mapped("libcuda.so"), cuda=cuda.driver(), cards=cards)
    except Trouble as trouble:
        say(library=mapped("libcuda.so"), trouble=str(trouble))


# --- NCCL ------------------------------------------------------------------------------------


class UniqueId(ctypes.Structure):
    """What ranks find each other by; passed by value."""

    _fields_ = (("internal", ctypes.c_char * 128),)


class Nccl:
    """The library that this engine's process would load."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.ncclGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *words: Any) -> None:
        """Call one function, or raise Trouble with NCCL's own words."""
        code = getattr(self.library, name)(*words)
        if code:
            words_of = self.library.ncclGetErrorString(code).decode(errors="replace")
            raise Trouble(f"{name}: {words_of} ({code})")


def nccl_path(program: str) -> str:
    """Find NCCL as the engine's program does: by variable, in its venv, else the system's."""
    venv = os.path.dirname(os.path.dirname(program))
    places = f"{venv}/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"
    named = os.environ.get("VLLM_NCCL_SO_PATH", "")
    return next(iter([*filter(None, [named]), *sorted(glob.glob(places))]), "libnccl.so.2")


class Rank:
    """One process with one card in an all-reduce over `ranks`."""

    def __init__(self, cuda: Cuda, nccl: Nccl, rank: int, ranks: int, unique: UniqueId) -> None:
        self.cuda, self.nccl, self.rank, self.ranks = cuda, nccl, rank, ranks
        self.buffer = ctypes.c_uint64()
        self.stream = ctypes.c_void_p()
        self.comm = ctypes.c_void_p()
        cuda.use(rank)
        cuda.call("cuMemAlloc_v2", ctypes.byref(self.buffer), ctypes.c_size_t(BUFFER))
        cuda.call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(1))
        comm = ctypes.byref(self.comm)
        nccl.call("ncclCommInitRank", comm, ctypes.c_int(ranks), unique, ctypes.c_int(rank))

    def reduce(self) -> int:
        """Add the buffers of all ranks up, into each of them; give the microseconds it took."""
        buffer, count = ctypes.c_void_p(self.buffer.value), ctypes.c_size_t(BUFFER // 4)
        kind = ctypes.c_int(_UINT32), ctypes.c_int(_SUM)
        began = time.monotonic_ns()
        self.nccl.call("ncclAllReduce", buffer, buffer, count, *kind, self.comm, self.stream)
        self.cuda.call("cuStreamSynchronize", self.stream)
        return (time.monotonic_ns() - began) // 1000

    def check(self) -> None:
        """Reduce known numbers and compare every byte of the sum; Trouble names the first wrong."""
        for at in range(0, BUFFER, SEGMENT):
            value = ctypes.c_uint((self.rank + 1) * number(at))
            place, count = ctypes.c_uint64(self.buffer.value + at), ctypes.c_size_t(SEGMENT // 4)
            self.cuda.call("cuMemsetD32_v2", place, value, count)
        self.cuda.call("cuCtxSynchronize")
        self.reduce()
        seen = ctypes.create_string_buffer(SEGMENT)
        for at in range(0, BUFFER, SEGMENT):
            place = ctypes.c_uint64(self.buffer.value + at)
            self.cuda.call("cuMemcpyDtoH_v2", seen, place, ctypes.c_size_t(SEGMENT))
            total = self.ranks * (self.ranks + 1) // 2 * number(at)
            wanted = total.to_bytes(4, "little") * (SEGMENT // 4)
            if seen.raw != wanted:
                got = int.from_bytes(seen.raw[:4], "little")
                raise Trouble(f"wrong values at byte {at}: {got} instead of {total}")


def number(at: int) -> int:
    """Give what the first rank puts into the segment at this byte; the others a multiple of it."""
    return 2 * (at // SEGMENT) + 3


def take_part(member: Rank, hear: Hear, tell: Optional[Tell] = None) -> None:
    """Be one rank: check, measure as many rounds as there is time for, check again.

    The one that can `tell` hears how many microseconds there are, and tells how many rounds.
    """
    member.check()
    warm = [member.reduce() for _ in range(WARM)]
    rounds = int(hear())
    if tell is not None:
        rounds = max(FEWEST, min(MOST, rounds // max(1, warm[-1])))
        tell(str(rounds))
    times = [member.reduce() for _ in range(rounds)]
    member.check()
    facts = {"times_us": times, "bytes": BUFFER, "nccl": mapped("libnccl")} if tell else {}
    say(rank=member.rank, ranks=member.ranks, **facts)


def all_reduce(seconds: int, program: str) -> None:
    """Run all ranks, each in a process of its own, and end every one of them when time is over."""
    until = time.monotonic() + seconds
    os.environ["NCCL_DEBUG"] = "INFO"
    for name in ("NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"):
        os.environ.pop(name, None)
    path = nccl_path(program)
    team = Team(path)
    try:
        team.play(until)
    finally:
        team.end()


class Team:
    """The ranks' processes. The parent opens no card: a fork behind cuInit would not work."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.pids: List[int] = []
        self.ends: List[int] = []  # where each rank hears from us
        self.told, self._tell = os.pipe()

    def play(self, until: float) -> None:
        """Start rank 0, which counts the cards and makes the id; then the others."""
        self._start(self._first)
        answer = self._heard(until)
        ranks, _, unique = answer.partition(" ")
        for rank in range(1, int(ranks or 0)):
            self._start(partial(self._other, rank, int(ranks), unique))
        if unique and int(ranks) > 1:
            os.write(self.ends[0], b"go\n")
            if self._heard(until) == "warm?":
                left_us = int((until - time.monotonic()) * 1_000_000) // 3
                os.write(self.ends[0], f"{left_us}\n".encode())
                rounds = self._heard(until)
                for end in self.ends[1:]:
                    os.write(end, f"{rounds}\n".encode())
        self._wait(until)

    def end(self) -> None:
        """Leave no process behind."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _first(self, hear: Hear) -> None:
        cuda, nccl, unique = Cuda(), Nccl(self.path), UniqueId()
        ranks = cuda.count()
        nccl.call("ncclGetUniqueId", ctypes.byref(unique))
        self._say(f"{ranks} {bytes(unique).hex()}")
        if ranks < 2:  # noqa: PLR2004 # nobody to talk to
            say(rank=0, ranks=ranks)
            return
        hear()

        def allowed() -> str:
            self._say("warm?")
            return hear()

        take_part(Rank(cuda, nccl, 0, ranks, unique), allowed, self._say)

    def _other(self, rank: int, ranks: int, text: str, hear: Hear) -> None:
        unique = UniqueId.from_buffer_copy(bytes.fromhex(text))
        take_part(Rank(Cuda(), Nccl(self.path), rank, ranks, unique), hear)

    def _start(self, play: Callable[[Hear], None]) -> None:
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid:
            self.pids.append(pid)
            self.ends.append(theirs)
            return
        code = 0
        try:
            play(lambda: os.read(ours, 256).decode().strip())
        except (Trouble, OSError) as error:
            say(rank=len(self.ends), trouble=str(error))
            code = 1
        finally:
            os._exit(code)

    def _say(self, text: str) -> None:
        os.write(self._tell, f"{text}\n".encode())

    def _heard(self, until: float) -> str:
        """Hear rank 0, "" when it ended or time is over."""
        while time.monotonic() < until:
            if select.select([self.told], [], [], 0.1)[0]:
                return os.read(self.told, 4096).decode().strip()
            if self._gone():
                return ""
        return ""

    def _wait(self, until: float) -> None:
        while self.pids and time.monotonic() < until:
            self._gone()
            time.sleep(0.02)
        if self.pids:
            say(late=len(self.pids))

    def _gone(self) -> bool:
        """Reap those that ended; say whether one did badly: the others wait for it in vain."""
        ended: List[Tuple[int, int]] = []
        for pid in list(self.pids):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                self.pids.remove(pid)
                ended.append((pid, status))
        bad = any(status for _, status in ended)
        if bad:
            self.end()
            self.pids.clear()
        return bad


def main(words: Sequence[str]) -> None:
    """Do what the first word says."""
    if words[0] == "open":
        opened()
    else:
        all_reduce(int(words[1]), words[2])


def results(output: bytes) -> Tuple[List[Dict[str, Any]], List[str]]:
    """Take an output apart: what the program said, and all other lines."""
    rows = output.decode(errors="replace").splitlines()
    said = [json.loads(row[len(MARK) :]) for row in rows if row.startswith(MARK)]
    return said, [row for row in rows if not row.startswith(MARK)]


if __name__ == "__main__":
    main(sys.argv[1:])
