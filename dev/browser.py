"""A real Chromium, headless, from Debian's package: what looks at the page in tests and docs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

PROGRAM = "chromium"


@dataclass(frozen=True)
class Screen:
    """A window: columns and rows of pixels, how dense they are, and whether it is dark."""

    width: int = 1440
    height: int = 900
    density: int = 1
    dark: bool = False


class Seen:
    """What a page did besides being shown: complaints of its console, and whom it asked."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []

    def hear(self, message: ConsoleMessage) -> None:
        """Keep what a console shows in red or yellow."""
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def ask(self, request: Request) -> None:
        """Keep an address that was asked."""
        self.asked.append(request.url)


def why_not() -> str:
    """Say why there is no browser here; "" where there is one."""
    return "" if shutil.which(PROGRAM) else f"no {PROGRAM}: invoke dev.setup installs it"


@contextmanager
def opened(path: Path, screen: Screen) -> Iterator[tuple[Page, Seen]]:
    """Open a file in a window of its own; a page that throws is a complaint."""
    words = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(PROGRAM), args=words)
        try:
            context = browser.new_context(
                viewport={"width": screen.width, "height": screen.height},
                device_scale_factor=screen.density,
                color_scheme="dark" if screen.dark else "light",
                timezone_id="UTC",
                reduced_motion="reduce",
                locale="en-GB",
            )
            seen, page = Seen(), context.new_page()
            page.on("console", seen.hear)
            page.on("pageerror", lambda error: seen.complaints.append(str(error)))
            page.on("request", seen.ask)
            page.goto(path.resolve().as_uri(), wait_until="load")
            yield page, seen
        finally:
            browser.close()
