"""`headway` on the PATH: the same verbs as `invoke` in a fleet, without a tasks.py."""

from invoke.exceptions import Exit as InvokeExit
from invoke.exceptions import ParseError
from invoke.program import Program

from headway import __version__
from headway.control.verbs import namespace
from headway.wire.phase import Exit


class Headway(Program):
    """Invoke's program with headway's exit code for words that do not fit (2, not 1)."""

    def parse_core(self, argv: list[str] | None) -> None:
        """Read the words before the verb."""
        try:
            super().parse_core(argv)
        except ParseError as error:
            raise _misfit(error) from None

    def parse_tasks(self) -> None:
        """Read the verb and its options."""
        try:
            super().parse_tasks()
        except ParseError as error:
            raise _misfit(error) from None


def _misfit(error: ParseError) -> InvokeExit:
    return InvokeExit(f"headway: {error}\n         headway --list names the verbs", int(Exit.USAGE))


def main() -> None:
    """Run `headway VERB --options`."""
    Headway(namespace=namespace, name="headway", binary="headway", version=__version__).run()
