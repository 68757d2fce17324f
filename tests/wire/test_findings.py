"""The one table of findings: whole, and without a word about what it does not have."""

import pytest

from headway.wire.findings import APART, FILE, Known, findings
from headway.wire.loader import load, parse

GROUPS = {known.group for known in findings().values() if known.group}


@pytest.mark.parametrize("name", findings())
def test_what_a_finding_explains_is_in_the_table(name: str) -> None:
    """A relation to something that does not exist would put no cause first."""
    assert set(findings()[name].explains) <= findings().keys() | GROUPS


@pytest.mark.parametrize("name", [name for name, one in findings().items() if one.weight])
def test_what_diagnose_tells_of_says_what_to_type_next(name: str) -> None:
    """A command, with nothing between braces that nobody fills."""
    known = findings()[name]
    filled = ("about", "host", "port", "path", "action")
    command = known.command
    for value in filled:
        command = command.replace("{" + value + "}", "x")

    assert command
    assert "{" not in command.replace("'{{json .State}}'", "").replace(
        "'{{json .State.Health}}'", ""
    )
    assert 0 < known.weight <= 100


def test_a_finding_stands_in_one_of_the_two_files() -> None:
    """What gates name goes with the runner; the rest goes with `diagnose`."""
    with_runner, apart = (
        load(dict[str, Known], parse(file.read_bytes())) for file in (FILE, APART)
    )

    assert not with_runner.keys() & apart.keys()
    assert len(findings()) == len(with_runner) + len(apart)
