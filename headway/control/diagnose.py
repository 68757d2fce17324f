"""`diagnose`: what is wrong with a machine, the likeliest cause first, and what to type next.

Made for a person who was woken up, with a phone: one finding a paragraph, wrapped at the width of
the terminal, and the commands whole.
"""

import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.wire.diagnosis import Cause, Diagnosed
from headway.wire.phase import Exit, worst
from headway.wire.talk import Diagnose

_AT_THE_FLEET = "invoke "


@dataclass(frozen=True)
class HostDiagnosis:
    """What one host found wrong with itself, as --json shows it."""

    host: str
    causes: tuple[Cause, ...]
    looked: tuple[str, ...]
    unseen: tuple[str, ...]
    took_ms: int


def diagnose(desk: Desk) -> Exit:
    """Have all hosts look at themselves at once, and show what they found."""
    from headway.control.reaching.looks import ask

    answers = ask(desk.hosts, desk.reach, lambda _: Diagnose(int(time.time() * 1000)), Diagnosed)
    found = [of(host, said) for host, said in answers.items() if isinstance(said, Diagnosed)]
    if desk.json:
        desk.rows(found)
    else:
        for one in found:
            desk.print(text(one, desk.width))
    errors = [said for said in answers.values() if isinstance(said, HeadwayError)]
    for error in errors:
        desk.complain(error)
    codes = [Exit.FOUND for one in found if one.causes]
    return worst([*codes, *(error.exit_code for error in errors)])


def of(host: str, said: Diagnosed) -> HostDiagnosis:
    """Put the fleet's name of the host into the commands."""
    from dataclasses import replace

    causes = [replace(one, command=one.command.replace("{host}", host)) for one in said.causes]
    return HostDiagnosis(host, tuple(causes), said.looked, said.unseen, said.took_ms)


def text(one: HostDiagnosis, width: int = 0) -> str:
    """Draw a host's findings: causes whole, then in a line or two each what follows from them."""
    return "\n".join(_lines(one, width))


def _lines(one: HostDiagnosis, width: int) -> Iterator[str]:
    first = [cause for cause in one.causes if not cause.because]
    rest = [cause for cause in one.causes if cause.because]
    yield from _wrapped(f"{one.host}  {_headline(first, rest)}", width)
    for number, cause in enumerate(first, 1):
        yield ""
        yield from _cause(one.host, f"{number} ", cause, width)
    if rest:
        yield ""
        yield "follows from it:"
        for cause in rest:
            yield from _wrapped(f"- {_about(cause)}{cause.sentence}", width, "  ")
            for line in cause.evidence[:1]:
                yield from _wrapped(f"  | {line}", width, "  | ")
    if one.unseen:
        yield ""
        for sentence in one.unseen:
            yield from _wrapped(f"not seen: {sentence}", width, "  ")
    if not one.causes:
        yield ""
        yield from _wrapped(f"looked at: {', '.join(one.looked)}", width, "  ")


def _headline(first: list[Cause], rest: list[Cause]) -> str:
    count = len(first)
    if not count:
        return "nothing found"
    more = f", {len(rest)} that follow{'s' if len(rest) == 1 else ''} from it" if rest else ""
    found = f"{count} findings, the likeliest cause first" if count > 1 else "1 finding"
    return found + more


def _cause(host: str, number: str, cause: Cause, width: int) -> Iterator[str]:
    yield from _wrapped(f"{number}{_about(cause)}{cause.sentence}", width, "  ")
    for line in cause.evidence:
        yield from _wrapped(f"  | {line}", width, "  | ")
    yield from _wrapped(f"  helps: {cause.help}", width, "    ")
    if cause.command:
        at = "" if cause.command.startswith(_AT_THE_FLEET) else f"on {host}: "
        yield f"  type {at or 'here: '}{cause.command}"


def _about(cause: Cause) -> str:
    return f"{cause.about}: " if cause.about else ""


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    """Wrap at the terminal's width; a pipe gets a line as it is."""
    if not width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
