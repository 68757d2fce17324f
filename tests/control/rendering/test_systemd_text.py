"""What systemd would start is what was meant, whatever the words are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.control.rendering.env_file import env_text
from headway.control.rendering.systemd_text import (
    LONGEST_LINE,
    LONGEST_WORD,
    exec_start,
    quote,
    words,
)
from headway.control.rendering.unit_file import TextError, settings, unit_text
from headway.wire.env_text import environment

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NASTY = st.text(st.sampled_from("\\\"'$%{}#; \t\n\r=-@:+!|\u2028\ufdd0é"))
PROGRAM = "/usr/bin/engine"


@given(st.lists(st.lists(WORD | NASTY, min_size=1), max_size=6))
def test_every_word_comes_back_as_it_was(lines: list[list[str]]) -> None:
    """Written, put into a unit file and read as systemd reads it, each word is unchanged."""
    text = unit_text({"Service": {"ExecStart": exec_start([[PROGRAM], *lines])}})
    (setting,) = settings(text)
    assert words(setting.value) == (PROGRAM, *(word for line in lines for word in line))


def test_one_option_stands_on_each_line() -> None:
    """A person reads and diffs one option a line."""
    text = exec_start([[PROGRAM, "serve"], ["--port", "8000"], ["--alias", "a b"]])
    assert text == '/usr/bin/engine serve \\\n    --port 8000 \\\n    --alias "a b"'


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("", '""'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ("#1", '"#1"'),
        (";", '";"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a\\b", '"a\\\\b"'),
        ("two\nlines", '"two\\nlines"'),
        ("naïve", '"naïve"'),
        ("\x07\x01\u200b", '"\\a\\x01\\xe2\\x80\\x8b"'),
    ],
)
def test_what_systemd_would_read_otherwise_is_quoted(word: str, written: str) -> None:
    """Specifiers, variables, comments, separators and line breaks are switched off."""
    assert quote(word) == written


@pytest.mark.parametrize("program", ["", "engine", "-/bin/x", "@/bin/x", "/bin/$x", "/a//b", "/b/"])
def test_a_program_that_systemd_would_read_otherwise_is_refused(program: str) -> None:
    """`@ - : + !` before the program change what is started: only an absolute path will do."""
    with pytest.raises(TextError, match="absolute path"):
        exec_start([[program, "--x"]])


def test_what_no_argument_can_hold_is_refused() -> None:
    """The kernel ends words at NUL and refuses long ones; systemd refuses long lines."""
    for bad in ("\0", "\ud800", "x" * LONGEST_WORD):
        with pytest.raises(TextError):
            quote(bad)
    with pytest.raises(TextError, match="longer than systemd reads"):
        exec_start([[PROGRAM], *(["x" * 1000] for _ in range(LONGEST_LINE // 1000 + 1))])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("/bin/x a'b c'd", ("/bin/x", "ab cd")),
        ('/bin/x \\x41\\102\\u00e9\\s""', ("/bin/x", "ABé ")),
        ("/bin/x \\\n  # why\n  --one \\\n  --two\n", ("/bin/x", "--one", "--two")),
        ("/bin/x ${FOO} %i %%", ("/bin/x", "${FOO}", "%i", "%")),
    ],
)
def test_hand_written_lines_are_read_as_systemd_reads_them(text: str, read: tuple[str]) -> None:
    """Quotes within words, escapes, and comments between continued lines."""
    assert words(text) == read


@pytest.mark.parametrize("text", ['/bin/x "open', "/bin/x \\q"])
def test_a_line_that_systemd_refuses_is_an_error(text: str) -> None:
    """An open quote or an unknown escape is not guessed at."""
    with pytest.raises(TextError):
        words(text)


NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUE = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0")) | st.text(
    st.sampled_from("\\\"'$`#; \t\n\r=é")
)


@given(st.dictionaries(NAME, VALUE))
def test_an_environment_comes_back_as_it_was(values: dict[str, str]) -> None:
    """Written and read as systemd reads it, each value is unchanged, line breaks and all."""
    assert environment(env_text(values)) == values


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("A=1\nB = two words  \n", {"A": "1", "B": "two words"}),
        ('# C=1\n; D=1\nE=\'a "b"\' "c"\n', {"E": 'a "b"c'}),
        ("F=it's # no comment\n", {"F": "it's # no comment"}),
        ('G="a\\\nb\\n\\$"\n', {"G": "ab\\n$"}),
        ("H=a\\\nb\\ \\\\\n", {"H": "ab \\"}),
        ("no equals\nI=\nI=2", {"I": "2"}),
        ("# goes on \\\nJ=1\nK=1", {"K": "1"}),
    ],
)
def test_hand_written_environments_are_read_as_systemd_reads_them(
    text: str, read: dict[str, str]
) -> None:
    """Quotes join, blanks at the end go, an escaped line break joins, also in a comment."""
    assert environment(text) == read


@pytest.mark.parametrize("values", [{"1A": "x"}, {"A-B": "x"}, {"A": "\0"}, {"A": "\ufdd0"}])
def test_what_no_environment_can_hold_is_refused(values: dict[str, str]) -> None:
    """The file or the variable would be dropped without a word in the unit's own log."""
    with pytest.raises(TextError):
        env_text(values)


def test_sections_become_a_unit_file() -> None:
    """A list repeats its key, truth is yes or no, and nothing breaks out of its line."""
    sections: dict[str, dict[str, object]] = {
        "Unit": {"After": ["a", "b"]},
        "Service": {"RemainAfterExit": True, "Nice": 5},
    }
    assert unit_text(sections) == (
        "[Unit]\nAfter=a\nAfter=b\n\n[Service]\nRemainAfterExit=yes\nNice=5\n"
    )
    with pytest.raises(TextError, match="line break"):
        unit_text({"Service": {"Nice": "5\nUser=root"}})
