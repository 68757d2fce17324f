import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headway.control.telling import story
from headway.control.telling.amounts import ago, size, took
from headway.control.telling.console import Plain, Screen, screen
from headway.control.telling.drawing import Word, lines, live, plain, wrapped
from headway.control.telling.picture import Picture, doing, fold
from headway.control.telling.story import HostSaid
from headway.wire.event import Coming, Event
from tests.control import tell


def _folded(told: tuple[story.Told, ...]) -> Picture:
    picture = Picture()
    for piece in told:
        picture = fold(picture, piece)
    return picture


def _drawn(told: tuple[story.Told, ...], width: int = 80) -> str:
    picture, rows = Picture(), []
    for piece in told:
        picture = fold(picture, piece)
        rows += [plain(row) for line in lines(picture, piece) for row in wrapped(line, width)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("case", tell.cases(), ids=lambda case: case.name)
def test_a_story_reads_as_its_case_says(case: tell.Case) -> None:
    """What a person reads of a story is data: tests/cases/story/NAME.yaml."""
    assert _drawn(case.told) == case.reads


@pytest.mark.parametrize("case", tell.cases(), ids=lambda case: case.name)
def test_plain_lines_hold_the_same_words_as_the_screen(case: tell.Case) -> None:
    """Colours only repeat words, and a pipe gets each line whole: grep finds it."""
    out, terminal = io.StringIO(), io.StringIO()
    with Plain(out) as sink:
        for piece in case.told:
            sink(piece)
    console = Console(file=terminal, force_terminal=True, width=500, color_system="truecolor")
    with Screen(console, clock=lambda: 0.0) as sink_on_screen:
        for piece in case.told:
            sink_on_screen(piece)
    bare = Console(file=io.StringIO(), width=500)
    with bare.capture() as captured:
        bare.print(terminal.getvalue(), markup=False)
    for line in filter(None, out.getvalue().splitlines()):
        assert all(word in captured.get() for word in line.split())
    assert "\x1b" not in out.getvalue()


def test_every_line_of_a_host_begins_with_its_name() -> None:
    """`grep '^gpu1 '` finds all of a host but what stands indented below a line."""
    told = tell.case("went_back").told
    rows = _drawn(told, width=500).splitlines()
    assert [row for row in rows if "gate marker" in row and row.startswith("gpu1  ")]
    assert all(row.startswith(("gpu1", "gpu2", "rollout", "        ")) for row in rows if row)


def test_no_colour_is_written_when_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes colours away, not words."""
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=80)
    with Screen(console, clock=lambda: 0.0) as sink:
        for piece in tell.case("stuck").told:
            sink(piece)
    assert "STUCK" in terminal.getvalue()
    assert "\x1b[31" not in terminal.getvalue()
    assert "\x1b[1;31" not in terminal.getvalue()


def test_a_pipe_and_a_dumb_terminal_get_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live line is for terminals that can take it back."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert isinstance(screen(io.StringIO()), Plain)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(screen(Terminal()), Screen)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(screen(Terminal()), Plain)


def test_the_live_line_says_what_goes_on_and_how_long() -> None:
    """One line: host, turn, phase, what it does or waits for, and since when."""
    told = tell.case("went_back").told
    waiting = next(
        n
        for n, piece in enumerate(told, 1)
        if "waiting" in repr(piece).lower() and "15000" in repr(piece)
    )
    picture = _folded(told[:waiting])
    reads = "gpu1  1 of 2  TRYING  llama health: the port does not answer yet  42 s"
    assert live(picture, 42_000) == reads
    assert live(_folded(told), 42_000) == ""


def test_the_live_line_says_how_far_a_fetch_is() -> None:
    """Of how much, how fast, and how long at this rate: nobody waits for 600 GB blindly."""
    body = Coming("llama", "stage", "/srv/weights/m", 1_200_000_000, 16_000_000_000, 50_000_000)
    said = HostSaid("gpu1", Event(1, 0, "t", body))
    reads = "gpu1  llama stage /srv/weights/m: 1.2 GB of 16.0 GB, 50.0 MB/s, 4 min 56 s left  7.0 s"
    assert live(_folded((said,)), 7_000) == reads
    stalled = HostSaid("gpu1", Event(2, 0, "t", replace(body, bytes_s=0)))
    assert "0 B/s  " in live(_folded((stalled,)), 7_000)


def test_the_clock_of_the_live_line_starts_again_with_each_thing_done() -> None:
    """The time beside a wait is the time of this wait, not of the rollout."""
    told = tell.case("went_back").told
    seen = [doing(_folded(told[:n])) for n in range(1, len(told) + 1)]
    assert len(set(seen)) > 5


@given(st.text(alphabet="ab /-", min_size=1, max_size=300), st.integers(60, 120))
def test_wrapping_keeps_every_word_and_fits(text: str, width: int) -> None:
    """A wide line goes on below itself: no word is lost, none sticks out but one too long."""
    rows = wrapped((Word("gpu1  "), Word(text)), width)
    joined = " ".join(plain(row) for row in rows)
    assert joined.replace(" ", "") == ("gpu1" + text).replace(" ", "")
    assert all(len(plain(row)) <= width for row in rows)


@pytest.mark.parametrize(
    ("ms", "reads"),
    [
        (0, "0.0 s"),
        (9_940, "9.9 s"),
        (10_000, "10 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (125_000, "2 min 05 s"),
        (3_720_000, "1 h 02 min"),
    ],
)
def test_durations_read_as_people_say_them(ms: int, reads: str) -> None:
    """Two units at most, whole ones from ten seconds on."""
    assert took(ms) == reads


@pytest.mark.parametrize(
    ("ms", "reads"),
    [(-5, "0 s"), (119_000, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (172_800_000, "2 d")],
)
def test_ages_are_rough(ms: int, reads: str) -> None:
    """An age is read at a glance; a clock that runs ahead is no age at all."""
    assert ago(ms) == reads


def test_sizes_are_decimal() -> None:
    """Sizes in kB are thousands, as disks and networks count."""
    assert [size(n) for n in (999, 84_200, 3_100_000, 12 * 10**9)] == [
        "999 B",
        "84.2 kB",
        "3.1 MB",
        "12.0 GB",
    ]
