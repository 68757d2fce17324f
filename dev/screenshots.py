"""Every picture in docs/images: an invented fleet in a real browser (`invoke dev.screenshots`)."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dev.browser import Screen, opened
from headway.control.page import written
from headway.control.page.data import page_data
from tests.control.page.invented import fleet

REPO = Path(__file__).resolve().parents[1]
IMAGES = REPO / "docs/images"


@dataclass(frozen=True)
class Shot:
    """A picture: the window, whose row is opened first, and the section at its top."""

    screen: Screen
    opens: str = ""
    section: str = ""


SHOTS = {
    "page-hosts.png": Shot(Screen(1440, 960), opens="gpu03"),
    "page-timeline.png": Shot(Screen(1440, 900), section="timeline"),
    "page-dark.png": Shot(Screen(1440, 1060, dark=True), section="speed"),
    "page-phone.png": Shot(Screen(390, 844, density=2)),
}


def make(folder: Path = IMAGES) -> Iterator[Path]:
    """Take every picture, and name each."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        page = Path(work) / "index.html"
        page.write_text(written(page_data(fleet())), encoding="utf-8")
        for name, shot in SHOTS.items():
            with opened(page, shot.screen) as (window, _):
                if shot.opens:
                    window.get_by_role("button", name=shot.opens).click()
                if shot.section:
                    window.evaluate(f"document.getElementById('{shot.section}').scrollIntoView()")
                window.screenshot(path=folder / name)
            yield folder / name
