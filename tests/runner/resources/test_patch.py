"""A patch fits exactly or not at all, and what it gives is what `diff -u` compared with."""

import difflib
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.runner.resources.patch import PatchError, patched

lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "- c\n", "+d\n", "x\x0cy\n"]), max_size=12)


def _of(files: dict[str, str]) -> Callable[[str], bytes | None]:
    return lambda name: files[name].encode() if name in files else None


@given(lines, lines)
@example(["a\n", "a\n", "b\n", *["a\n"] * 4], ["a\n", "b\n", *["a\n"] * 3])
def test_a_patch_turns_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    """For texts of whole lines, whatever their lines begin with, and however alike they are.

    A hunk's place counts in the old file: one behind a hunk that took lines away was refused once,
    since it fitted in two places.
    """
    before, after = "".join(old), "".join(new)
    if before == after:
        return
    rows = difflib.unified_diff(old, new, "a/m.py", "b/m.py", n=2)
    assert patched("".join(rows), _of({"m.py": before})) == {"m.py": after.encode()}


def test_a_file_without_a_last_newline_is_kept_so() -> None:
    r"""`\ No newline at end of file` speaks of the line above it, on the side it stands on."""
    diff = "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n"
    assert patched(diff, _of({"m": "one"})) == {"m": b"two\n"}
    diff = "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-one\n+two\n\\ No newline at end of file\n"
    assert patched(diff, _of({"m": "one\n"})) == {"m": b"two"}


def test_a_hunk_that_moved_is_found_where_it_fits_alone() -> None:
    """Three lines more at the top of the next version: the patch still means one place."""
    diff = "--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n keep\n-old\n+new\n"
    assert patched(diff, _of({"m": "1\n2\n3\nkeep\nold\n"})) == {"m": b"1\n2\n3\nkeep\nnew\n"}


def test_files_come_and_go() -> None:
    """/dev/null on one side makes a file or removes it; words of git around it mean nothing."""
    diff = (
        "From: somebody\nSubject: fix\n\ndiff --git a/n b/n\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+hello\n"
        "diff --git a/o b/o\n--- a/o\t2026-01-01\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
    )
    assert patched(diff, _of({"o": "bye\n"})) == {"n": b"hello\n", "o": None}


@pytest.mark.parametrize(
    ("diff", "files", "says"),
    [
        ("nothing here\n", {}, "changes no file"),
        ("--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n", {}, "m does not exist"),
        ("--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n", {"m": "c\n"}, "hunk 1 of m fits in 0 places"),
        ("--- a/m\n+++ b/m\n@@ -9 +9 @@\n-a\n+b\n", {"m": "a\na\n"}, "fits in 2 places"),
        ("--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+b\n", {"m": "c\n"}, "m exists already"),
        ("--- a/../m\n+++ b/../m\n@@ -1 +1 @@\n-a\n+b\n", {}, "no path below"),
        ("--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\n", {}, "no path below"),
        ("--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n-a\n+b\n", {"m": "a\n"}, "cut off"),
    ],
)
def test_a_patch_that_does_not_fit_says_where(diff: str, files: dict[str, str], says: str) -> None:
    """Nothing is guessed: an engine with half a patch is worse than none."""
    with pytest.raises(PatchError, match=says):
        patched(diff, _of(files))
