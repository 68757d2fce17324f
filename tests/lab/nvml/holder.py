"""STAND-IN: an engine that "holds" memory of stand-in cards. No card is touched, none is there.

    holder.py --card 0=83000 1=83000 --port 8000             like vLLM: front, core, a worker a card
    holder.py --alone --card 1=40000 --card 0=518            one process with a context on each card

What is no option of this program goes to the stand-in engine, which then serves HTTP in the front;
without any, the front only waits. The memory is an entry of the folder that standin_nvml.c
describes. Standard library only, Python 3.9.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from typing import IO

STATE = Path(os.environ.get("STANDIN_NVML", "/var/lib/standin-nvml"))
MIB = 1 << 20
NEW_PID_NAMESPACE = 0x20000000  # CLONE_NEWPID
SET_NAME = 15  # PR_SET_NAME
ARGUMENTS = slice(47, 49)  # arg_start and arg_end among the fields of /proc/self/stat
LIBC = ctypes.CDLL(None, use_errno=True)


def options() -> tuple[argparse.Namespace, list[str]]:
    """Return how to hold memory, and the stand-in engine's options."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--card", action="extend", nargs="+", required=True, metavar="N=MIB")
    parser.add_argument("--alone", action="store_true", help="no core, no workers: one process")
    parser.add_argument("--graphics", action="store_true", help="as a display server holds it")
    parser.add_argument("--ignore-term", action="store_true", help="nothing ends by SIGTERM")
    parser.add_argument("--escape", metavar="CGROUP", help="workers move to this cgroup")
    parser.add_argument("--hide", action="store_true", help="workers in a PID namespace each")
    parser.add_argument("--unwind-s", type=int, help="memory comes back so long after the end")
    parser.add_argument("--stays", action="store_true", help="memory never comes back")
    return parser.parse_known_args()


def main() -> None:
    """Hold memory; then be the engine, or wait."""
    given, engine_options = options()
    held = [card.split("=") for card in given.card]
    sizes = {int(card): int(mib) * MIB for card, mib in held}
    if given.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what was killed is no zombie of ours
    if given.alone:
        kept = hold(sizes, given)
        sys.stderr.write(f"holder: {len(kept)} files open\n")
    else:
        start_core(sizes, given)
    if engine_options:
        import engine  # type: ignore[import-not-found]  # it lies beside this file on the host

        sys.argv[1:] = engine_options
        engine.main()
    else:
        wait()


def start_core(sizes: dict[int, int], given: argparse.Namespace) -> None:
    """Start the core and a worker a card, all of this program; return when they hold memory."""
    told, tell = os.pipe()
    if os.fork() == 0:
        os.close(told)
        title("VLLM::EngineCore")
        for rank, (card, size) in enumerate(sizes.items()):
            if os.fork() == 0:
                worker(rank, {card: size}, given, tell)
        os.close(tell)
        wait()
    os.close(tell)
    for _ in sizes:
        if os.read(told, 1) != b"+":
            sys.exit("holder: a worker could not hold its card: see above")
    os.close(told)


def worker(rank: int, sizes: dict[int, int], given: argparse.Namespace, tell: int) -> None:
    """Be the worker of one card for ever."""
    if given.hide:
        if LIBC.unshare(NEW_PID_NAMESPACE):
            sys.exit(f"holder: no PID namespace: {os.strerror(ctypes.get_errno())}")
        if os.fork():
            os._exit(0)  # the worker is PID 1 of a namespace, and a child of the host's PID 1
    if given.escape:
        cgroup = Path("/sys/fs/cgroup", given.escape)
        cgroup.mkdir(parents=True, exist_ok=True)
        (cgroup / "cgroup.procs").write_text("0")
    title(f"VLLM::Worker_TP{rank}")
    kept = hold(sizes, given)
    os.write(tell, b"+" if kept else b"-")
    os.close(tell)
    wait()


def hold(sizes: dict[int, int], given: argparse.Namespace) -> list[IO[str]]:
    """Make this process the holder of memory; it ends with the files that this returns."""
    number = int.from_bytes(os.urandom(6), "big")  # the byte that is locked, so it is told apart
    lines = [f"card {card} {size}{' graphics' * given.graphics}" for card, size in sizes.items()]
    lines += [f"unwind_s {given.unwind_s}"] if given.unwind_s is not None else []
    lines += ["stays"] if given.stays else []
    hidden = STATE / "processes" / f".{number}"
    entry = hidden.open("x")
    entry.write("".join(f"{line}\n" for line in lines))
    entry.flush()
    fcntl.lockf(entry, fcntl.LOCK_EX, 1, number)
    hidden.rename(hidden.with_name(str(number)))  # whole and locked, or not there
    devices = ["nvidiactl", "nvidia-uvm", *(f"nvidia{card}" for card in sizes)]
    there = [path for path in (Path("/dev", name) for name in devices) if path.exists()]
    return [entry, *(path.open("r") for path in there)]


def title(words: str) -> None:
    """Show this process under another name, as setproctitle does."""
    LIBC.prctl(SET_NAME, words.encode(), 0, 0, 0)
    fields = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    start, end = map(int, ("0", "0", *fields)[ARGUMENTS])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, words.encode(), min(len(words), end - start - 1))


def wait() -> None:
    """Wait for a signal that ends this process."""
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
