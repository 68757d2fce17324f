"""`invoke page` of real hosts, opened in a real browser on a phone's width and on a wide screen."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dev.browser import Screen, opened
from headway.control.page import written
from headway.control.page.data import page_data
from tests.control.page.invented import fleet as invented
from tests.lab.fleet import Fleet
from tests.lab.host import Host
from tests.lab.lab import Lab
from tests.lab.proof import Proofs

pytestmark = [pytest.mark.lab, pytest.mark.oncall]


def test_the_page_shows_a_fleet_that_was_rolled_out_and_went_back(
    lab: Lab,
    hosts: Callable[..., list[Host]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prove: Proofs,
) -> None:
    """Two hosts, one release that is kept and one that is not; no request but for the file."""
    monkeypatch.setenv("HEADWAY_HISTORY", str(tmp_path / "history.sqlite"))
    one, other = hosts("page1", "page2", fresh=True)
    fleet = Fleet(lab, tmp_path)
    for host in (one, other):
        fleet.describe(host, engine={"colour": "red"})
    assert fleet.invoke("rollout", "all", "--no-lint").code == 0
    fleet.describe(one, engine={"colour": "blue", "ask": ["false"]})
    assert fleet.invoke("rollout", one, "--no-lint").code == 1

    said = fleet.invoke("page", "all", "--out", str(tmp_path / "public"))

    assert said.code == 0, said.stderr
    [made] = said.told("page_written")
    assert (made["hosts"], made["answered"]) == (2, 2)
    path = Path(made["path"])
    for screen in (Screen(390, 844), Screen(1440, 900)):
        with opened(path, screen) as (page, seen):
            rows = page.locator("tr[data-host]").all_inner_texts()
            assert [row.split()[0] for row in rows] == ["page1", "page2"]
            page.get_by_role("button", name="page1").click()
            text = page.locator("#more-page1").inner_text()
            assert "engine command FAIL" in text
            assert "went back" in text
            assert page.evaluate("document.documentElement.scrollWidth") <= screen.width
            assert seen.complaints == []
            assert seen.asked == [path.resolve().as_uri()]
    large = len(written(page_data(invented(100, 200, stops=False))).encode())
    prove(
        "page",
        "two hosts, a release that was kept and one that went back, opened at 390 and 1440 px",
        "hosts, gates and reasons; no complaint of the console, no request but the file",
        f"{made['size'] // 1000} kB; 100 hosts x 200 transitions {large // 1000} kB",
    )
