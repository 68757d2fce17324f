"""Time as the runner counts it: deadlines in CLOCK_BOOTTIME, stamps in Unix milliseconds."""

import time

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Clock:
    """The host's clock. Order never comes from it: events have numbers, records have names."""

    def now_ms(self) -> int:
        """Read the wall clock, for people only."""
        return int(time.time() * 1000)

    def boot_ms(self) -> int:
        """Read the time since boot, suspend included: what deadlines count in."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def boot_id(self) -> str:
        """Name this boot; deadlines stored under another one are void."""
        with open(_BOOT_ID) as file:
            return file.read().strip()
