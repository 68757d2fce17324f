"""The page in a real Chromium: what it shows, whom it asks, keyboard, phone, and its weight."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page

from dev import browser
from dev.browser import Screen, opened
from headway.control.page import written
from headway.control.page.data import Given, page_data
from headway.control.status import ORDER
from tests.control.page.invented import fleet

pytestmark = [
    pytest.mark.oncall,
    pytest.mark.skipif(bool(browser.why_not()), reason=browser.why_not()),
]

WIDE, PHONE = Screen(1440, 900), Screen(390, 844, 2)
BOTH = pytest.mark.parametrize("screen", [WIDE, PHONE, replace(WIDE, dark=True)], ids=str)


@contextmanager
def shown(folder: Path, given: Given, screen: Screen = WIDE) -> Iterator[Page]:
    """Open the page of a fleet; a complaint of its console or a request is a failure."""
    path = folder / "index.html"
    path.write_text(written(page_data(given)), encoding="utf-8")
    with opened(path, screen) as (page, seen):
        yield page
        assert seen.complaints == []
        assert seen.asked == [path.resolve().as_uri()]


@BOTH
def test_every_section_shows_what_there_is(tmp_path: Path, screen: Screen) -> None:
    """Hosts, rollouts with gates, decode and TTFT, memory and KV pool, links, findings."""
    given = fleet()
    with shown(tmp_path, given, screen) as page:
        rows = page.locator("tr[data-host]")
        assert rows.count() == len(given.shown)
        words = rows.locator(".badge").evaluate_all("all => all.map(e => e.lastChild.textContent)")
        order = [ORDER.index(word) for word in words]
        assert order == sorted(order), "what needs a person comes first"
        assert page.locator("#lanes svg path").count() >= 3
        assert "CUDA out of memory" in page.locator("#rollouts").inner_text()
        charts = page.locator("#charts svg")
        assert charts.count() == 6
        assert page.locator("#charts circle").count() > 30
        memory = page.locator("#memories").inner_text()
        assert "126 of 140 GiB" in memory
        assert "% of 402 176" in memory
        links = page.locator("#matrices").inner_text()
        assert all(word in links for word in ("NV18", "✕ SYS", "chipset not supported", "no P2P"))
        assert "gpu03" in page.locator("#finding-list").inner_text()
        assert "--max-model-len: 32768" in page.locator("#skew").inner_text()


@BOTH
def test_nothing_is_wider_than_the_window(tmp_path: Path, screen: Screen) -> None:
    """A phone never scrolls sideways, with a host open, and with words that have no end.

    A fleet's long name once made the whole page wider than the phone.
    """
    given = fleet()
    endless = replace(given.shown[0], says="x" * 200)
    long = replace(given, fleet="a_fleet_with_a_name_" * 5, shown=(endless, *given.shown[1:]))
    with shown(tmp_path, long, screen) as page:
        page.get_by_role("button", name="gpu03").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= screen.width


def test_a_host_opens_by_keyboard_and_says_so(tmp_path: Path) -> None:
    """Tab leads to it, Enter opens it, and a screen reader hears that it is open."""
    with shown(tmp_path, fleet()) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        focused = "document.activeElement.textContent"
        assert page.evaluate(focused) == "gpu03"
        page.keyboard.press("Enter")
        button = page.get_by_role("button", name="gpu03")
        assert button.get_attribute("aria-expanded") == "true"
        more = page.locator("#more-gpu03")
        assert more.is_visible()
        assert "Newest failures" in more.inner_text()
        assert more.locator("table.list tbody tr").count() == 10
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "false"
        assert not more.is_visible()


def test_older_transitions_come_when_they_are_asked_for(tmp_path: Path) -> None:
    """Ten at a time, each with its gates; what did not pass says so in a word, not in a colour."""
    with shown(tmp_path, fleet()) as page:
        page.get_by_role("button", name="gpu03").click()
        more = page.locator("#more-gpu03")
        while more.locator(".older").is_visible():
            more.locator(".older").click()
        hosts = (host for one in fleet().rollouts for host in one.hosts)
        turns = sum(host.host == "gpu03" and bool(host.outcome) for host in hosts)
        assert more.locator("table.list tbody tr").count() == turns
        bad = more.locator(".gate.bad").all_inner_texts()
        assert bad
        assert all(text.endswith("FAIL") for text in bad)


def test_hosts_are_picked_by_how_they_stand(tmp_path: Path) -> None:
    """One press shows who is down, a second one everybody."""
    with shown(tmp_path, fleet()) as page:
        page.locator("#tally button", has_text="down").click()
        assert page.locator("tr[data-host]").all_inner_texts()[0].startswith("gpu10")
        assert page.locator("tr[data-host]").count() == 1
        page.locator("#tally button", has_text="down").click()
        assert page.locator("tr[data-host]").count() == 12


NAMELESS = """[...document.querySelectorAll('svg, [role=img]')]
    .filter((e) => !e.ariaLabel).map((e) => e.outerHTML.slice(0, 80))"""
HEADLESS = """[...document.querySelectorAll('table.list, table.hosts, .matrix')]
    .filter((e) => !e.querySelector('th[scope=col]')).map((e) => e.outerHTML.slice(0, 80))"""
TWICE = """[...document.querySelectorAll('[id]')].map((e) => e.id)
    .filter((id, n, all) => all.indexOf(id) !== n)"""


def test_a_screen_reader_is_told_what_is_drawn(tmp_path: Path) -> None:
    """Drawings have names, tables heads, headings follow one another, ids stand once."""
    with shown(tmp_path, fleet()) as page:
        page.get_by_role("button", name="gpu03").click()
        for wrong in (NAMELESS, HEADLESS, TWICE):
            assert page.evaluate(wrong) == []
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.parametrize("dark", [False, True])
def test_texts_are_readable_in_light_and_dark(tmp_path: Path, dark: bool) -> None:
    """4.5 to 1 between text and what lies behind it, as WCAG wants for small letters."""
    with shown(tmp_path, fleet(), replace(WIDE, dark=dark)) as page:
        worst = page.evaluate(CONTRAST)
        assert worst["ratio"] >= 4.5, worst


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 99 };
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest('svg, script, style, noscript, .self') || !e.offsetParent) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text: e.textContent.slice(0, 40), name: e.className };
  }
  return worst;
}"""


def test_a_hundred_hosts_of_two_hundred_transitions_are_light_and_quick(tmp_path: Path) -> None:
    """Below 2 MB, and drawn within a second of being opened; of three times the best one."""
    text = written(page_data(fleet(100, 200, stops=False)))
    path = tmp_path / "index.html"
    path.write_text(text, encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    took = []
    for _ in range(3):
        with opened(path, WIDE) as (page, seen):
            timing = "performance.timing.loadEventEnd - performance.timing.navigationStart"
            took.append(page.evaluate(timing))
            assert page.locator("tr[data-host]").count() == 100
            assert seen.complaints == []
    assert min(took) < 1_000, took


def test_a_fleet_without_anything_says_so(tmp_path: Path) -> None:
    """No history, no card, no host that answers: every section has a sentence."""
    given = fleet()
    nothing = Given("new", given.made_s, given.shown[-1:], {}, {}, (), (), ())
    with shown(tmp_path, nothing) as page:
        text = page.locator("main").inner_text()
    assert "Nothing was rolled out from here yet." in text
    assert "No decode gate has measured anything yet." in text
    assert "No host told of a card or a KV cache." in text
    assert "No gate and no card told of a known condition." in text


def test_what_a_host_says_is_text_and_never_markup(tmp_path: Path) -> None:
    """A log line may hold anything; the page shows it, and runs none of it."""
    evil = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
    given = fleet()
    first = replace(given.shown[0], says=evil, drift=())
    with shown(tmp_path, replace(given, shown=(first, *given.shown[1:]))) as page:
        assert evil in page.locator("#host-list").inner_text()
        assert page.title().startswith("h-fleet")
        assert page.locator("img").count() == 0
