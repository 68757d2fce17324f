"""What an issue has to show (invoke dev.prove NAME): whoever shows a part of it notes a line."""

import pytest

from tests.lab.proof import Proofs

PROOFS = pytest.StashKey[Proofs]()


@pytest.fixture(scope="session")
def prove(request: pytest.FixtureRequest) -> Proofs:
    """Return `prove(item, did, saw, figure)`, which notes a line for the end of the run."""
    return request.config.stash.setdefault(PROOFS, Proofs())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what was proved, before the summary line."""
    proofs = terminalreporter.config.stash.get(PROOFS, Proofs())
    if proofs.lines:
        terminalreporter.section("shown")
    for line in proofs.lines:
        terminalreporter.write_line(line)
