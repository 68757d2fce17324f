"""An all-reduce whose other rank sleeps: `python3 -u one_sided.py CHECKS NCCL SECONDS`.

Rank 0 runs on card 0 and waits in the collective, as an engine's worker does for one that stands
still. Prints `waiting` when it is about to; ends when rank 1 wakes up and takes part.

Both take part in a first one: NCCL connects the ranks in it, and a rank that waits for that waits
in its own process, its card idle.
"""

import ctypes
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def main(checks: str, nccl: str, seconds: float) -> None:
    """Make two ranks; the second one sleeps before it takes part."""
    sys.path.insert(0, str(Path(checks, "carding")))
    inside = import_module("inside")

    ours, theirs = os.pipe()
    asleep = os.fork()
    if not asleep:
        unique = inside.UniqueId.from_buffer_copy(os.read(ours, 4096))
        late = inside.Rank(inside.Cuda(), inside.Nccl(nccl), 1, 2, unique)
        late.reduce()
        time.sleep(seconds)
        late.reduce()
        os._exit(0)
    waiting = first(inside, nccl, theirs)
    waiting.reduce()
    print("waiting", flush=True)  # noqa: T201 # whoever started it waits for this
    waiting.reduce()
    os.waitpid(asleep, 0)


def first(inside: ModuleType, nccl: str, tell: int) -> Any:
    """Be rank 0: make the id, tell it, and come through the start."""
    cuda, library, unique = inside.Cuda(), inside.Nccl(nccl), inside.UniqueId()
    library.call("ncclGetUniqueId", ctypes.byref(unique))
    os.write(tell, bytes(unique))
    return inside.Rank(cuda, library, 0, 2, unique)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
