"""The error tree, an exit code a class; a message says where, what, and what to do next.

    HeadwayError
    |-- UsageError        2   a verb's own words: unknown host, bad pattern, missing --host
    |   `-- ConfigError   2   a file of the fleet: file, line and path lead the message
    |-- UnreachableError  5   no SSH connection, no login, no sudo, no usable Python
    |   `-- LostError     5   the connection went; who had begun something makes it Unknown
    |-- UnknownOutcomeError 6   the connection went after the host had begun
    `-- RefusedError      8   a host that would not begin: nothing was touched

A verdict is a value, never an exception. Foreign exceptions are translated in the one module that
owns their library. The verbs print `headway: MESSAGE` on stderr and leave with `exit_code`.
"""

from headway.wire.phase import Exit


class HeadwayError(Exception):
    """We could not do our job; `hint` is what to do next, printed on a line of its own."""

    exit_code: Exit = Exit.USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep what went wrong and what to do next apart."""
        super().__init__(message)
        self.hint = hint


class UsageError(HeadwayError):
    """A verb was called with words that do not fit; nothing was started anywhere."""


class ConfigError(UsageError):
    """A file of the fleet does not fit: `where` is FILE or FILE:LINE, as editors jump to."""

    def __init__(self, where: str, problem: str, *, hint: str = "") -> None:
        """Lead the message with the place."""
        super().__init__(f"{where}: {problem}", hint=hint)
        self.where = where
        self.problem = problem


class UnreachableError(HeadwayError):
    """No conversation with a host could be had; nothing was done there by us."""

    exit_code = Exit.UNREACHABLE


class LostError(UnreachableError):
    """A connection that was there is gone; whoever gave an order has to find out what became."""


class UnknownOutcomeError(HeadwayError):
    """The connection was lost after the host had begun; the host goes on by itself."""

    exit_code = Exit.UNKNOWN


class RefusedError(HeadwayError):
    """A host or the controller would not begin; nothing was touched."""

    exit_code = Exit.REFUSED
