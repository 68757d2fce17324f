"""A process on a real card, by ctypes over libcuda: holds memory, spins, or computes.

    python3 tests/gpu/load.py --card 0 --bytes 8589934592 [--ignore-term] [--work spin|compute]

Prints `ready` when it holds what it was asked to. `spin` is one thread that runs and does nothing,
as a collective does that waits for another card; `compute` is every multiprocessor multiplying.
"""

import argparse
import ctypes
import signal
import sys
import time

SLICE_S = 0.5
COMPUTE_BLOCKS, COMPUTE_THREADS, FMAS = 1056, 256, 64
ENTRY = b"burn"


def ptx() -> bytes:
    """Write a kernel that multiplies until so many clocks have gone by."""
    work = "fma.rn.f32 %f1, %f1, %f2, %f3;\n" * FMAS
    return f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry burn(.param .u64 clocks, .param .u64 result)
{{
.reg .u64 %rd<6>; .reg .f32 %f<4>; .reg .pred %p;
ld.param.u64 %rd1, [clocks];
ld.param.u64 %rd5, [result];
mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F7FFFFF; mov.f32 %f3, 0f33800000;
mov.u64 %rd2, %clock64;
AGAIN:
{work}
mov.u64 %rd3, %clock64;
sub.u64 %rd4, %rd3, %rd2;
setp.lt.u64 %p, %rd4, %rd1;
@%p bra AGAIN;
st.global.f32 [%rd5], %f1;
ret;
}}
""".encode()


class Card:
    """One card through the driver's own library; RuntimeError names the call that failed."""

    def __init__(self, index: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), index)
        self._call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        clock = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(clock), 13, device)  # CLOCK_RATE, kHz
        self._khz = clock.value or 1_500_000

    def hold(self, size: int) -> int:
        """Take memory and write to it; its address."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._call("cuMemsetD8_v2", address, ctypes.c_ubyte(1), ctypes.c_size_t(size))
        return address.value

    def burn(self, blocks: int, threads: int, result: int) -> None:
        """Run the kernel again and again, for ever."""
        module, entry = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ptx())
        self._call("cuModuleGetFunction", ctypes.byref(entry), module, ENTRY)
        words = [ctypes.c_uint64(int(SLICE_S * self._khz * 1000)), ctypes.c_uint64(result)]
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(word) for word in words))
        shape = [ctypes.c_uint(n) for n in (blocks, 1, 1, threads, 1, 1, 0)]
        while True:
            self._call("cuLaunchKernel", entry, *shape, None, pointers, None)
            self._call("cuLaunchKernel", entry, *shape, None, pointers, None)  # no gap between
            self._call("cuCtxSynchronize")

    def _call(self, name: str, *words: object) -> None:
        code = getattr(self._cuda, name)(*words)
        if code:
            raise RuntimeError(f"{name} gave {code}")


def main(argv: list[str]) -> None:
    """Do as told until killed."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--card", type=int, default=0)
    words.add_argument("--bytes", type=int, default=1 << 20)
    words.add_argument("--ignore-term", action="store_true")
    words.add_argument("--work", choices=("", "spin", "compute"), default="")
    chosen = words.parse_args(argv)
    if chosen.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    card = Card(chosen.card)
    held = card.hold(chosen.bytes)
    print("ready", flush=True)  # noqa: T201 # whoever started it waits for this
    if chosen.work == "compute":
        card.burn(COMPUTE_BLOCKS, COMPUTE_THREADS, held)
    if chosen.work == "spin":
        card.burn(1, 1, held)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
