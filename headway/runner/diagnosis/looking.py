"""Looks at everything at once, each look in a thread of its own and within its own deadline.

A look that hangs (a driver, a daemon, a file server) is left behind: what it would have seen is
named as not seen, and why. Nothing waits for it, not even the end of this program.
"""

import threading
import time
from typing import Any, Callable, Dict, Tuple

WITHIN_S = 2.2


class Looks:
    """Looks by name. One may wait for another's result, by its name, within the same deadline."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self.until = time.monotonic() + within_s
        self._done: Dict[str, threading.Event] = {}
        self._seen: Dict[str, Any] = {}
        self._why: Dict[str, str] = {}

    def start(self, name: str, look: Callable[[], Any]) -> None:
        """Begin a look; what goes wrong in it is its own."""
        done = self._done[name] = threading.Event()

        def work() -> None:
            try:
                self._seen[name] = look()
            except Exception as error:  # noqa: BLE001 # one look that fails must not spoil the others
                self._why[name] = (
                    f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                )
            done.set()

        threading.Thread(target=work, name=name, daemon=True).start()

    def result(self, name: str, otherwise: Any) -> Any:  # noqa: ANN401 # whatever a look gives
        """Wait for a look; `otherwise` where it failed, is late, or was not begun."""
        if name in self._done:
            self._done[name].wait(max(0.0, self.until - time.monotonic()))
        return self._seen.get(name, otherwise)

    def unseen(self) -> Dict[str, str]:
        """Say why looks gave nothing, by name."""
        late = {name: "no answer in time" for name, done in self._done.items() if not done.is_set()}
        return {**late, **self._why}

    def names(self) -> Tuple[str, ...]:
        """Name the looks that were begun."""
        return tuple(self._done)
