"""The watchdog: systemd ends a runner that stays longer in one step than it said it would."""

import os
import socket
import threading
import time

SLACK_S = 30


def notify(text: str) -> None:
    """Send systemd a datagram; without NOTIFY_SOCKET there is nobody to tell."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    name = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        try:
            sock.sendto(text.encode(), name)
        except OSError:
            return


class Watch:
    """Pets the watchdog every second for as long as the step in hand was said to take."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SLACK_S
        self._ended = threading.Event()

    def start(self) -> None:
        """Say that the runner is up and begin to pet the watchdog."""
        notify("READY=1")
        threading.Thread(target=self._pet, daemon=True).start()

    def expect(self, seconds: float) -> None:
        """Bear with the step that begins now for this long."""
        self._until = time.monotonic() + seconds + SLACK_S

    def end(self) -> None:
        """Tell systemd that the runner leaves by itself."""
        self._ended.set()
        notify("STOPPING=1")

    def _pet(self) -> None:
        while not self._ended.wait(1):
            if time.monotonic() < self._until:
                notify("WATCHDOG=1")
