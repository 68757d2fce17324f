"""What travels is the same program: without comments and docstrings, line for line."""

import ast
from pathlib import Path

import pytest

from headway.control.reaching.slim import slim

REPO = Path(__file__).parents[3]
SOURCES = sorted(
    path
    for folder in ("headway/wire", "headway/runner", "checks")
    for path in (REPO / folder).rglob("*.py")
)


def bare(source: bytes) -> str:
    """Dump a program with its line numbers, its docstrings emptied."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                node.value = ast.Constant("", lineno=node.lineno, col_offset=node.col_offset)
    for node in ast.walk(tree):  # what encloses a docstring may end with it
        for name in ("end_lineno", "end_col_offset"):
            if hasattr(node, name):
                setattr(node, name, 0)
    return ast.dump(tree, include_attributes=True)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(REPO).as_posix())
def test_it_is_the_same_program_line_for_line(path: Path) -> None:
    """Every statement stands where it stood; nothing but docstrings differs."""
    source = path.read_bytes()
    slimmed = slim(source)
    assert bare(slimmed) == bare(source)
    assert slimmed.count(b"\n") == source.count(b"\n")


@pytest.mark.parametrize(
    ("source", "slimmed"),
    [
        ('"""Doc."""\nX = 1  # why\n', '""\nX = 1\n'),
        (
            'def f():\n    """Say.\n\n    More.\n    """\n    return "#no"\n',
            'def f():\n    ""\n\n\n\n    return "#no"\n',
        ),
        ('X = """text\n# kept\n"""\n', 'X = """text\n# kept\n"""\n'),
        ('A = (\n    "one"  # first\n    "two"\n)\n', 'A = (\n    "one"\n    "two"\n)\n'),
        ('"a" "b"\n', '"a" "b"\n'),
        ("# all\n\n# of it\n", "\n\n\n"),
        ('class A:\n    r"""D."""  # x\n', 'class A:\n    ""\n'),
        ('"text".strip()\n', '"text".strip()\n'),
    ],
)
def test_what_is_blanked_and_what_is_not(source: str, slimmed: str) -> None:
    """A string that is more than a statement of its own is no docstring."""
    assert slim(source.encode()).decode() == slimmed
