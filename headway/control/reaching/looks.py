"""Asks many hosts at once what they record and what is so; no answer is an answer, too."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from headway.control.errors import HeadwayError, RefusedError, UnreachableError
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Sink
from headway.wire.phase import Exit
from headway.wire.talk import FromHost, Look, Looked, Order

LOOKS = 32
Answer = TypeVar("Answer")
_STATE = Look()


def look(
    hosts: Sequence[Host],
    reach: Reach,
    order: Look | Callable[[Host], Look] = _STATE,
    tell: Sink = lambda _told: None,
) -> dict[str, Looked | HeadwayError]:
    """Ask hosts at once what they record and what is so, in their order; errors are answers."""

    def wanted(host: Host) -> Look:
        return order if isinstance(order, Look) else order(host)

    return ask(hosts, reach, wanted, Looked, tell)


def ask(
    hosts: Sequence[Host],
    reach: Reach,
    order: Callable[[Host], Order],
    kind: type[Answer],
    tell: Sink = lambda _told: None,
) -> dict[str, Answer | HeadwayError]:
    """Give hosts an order each at once, and take the word of this kind out of what they say."""

    def seen(host: Host) -> Answer | HeadwayError:
        try:
            with reach.open(host, tell) as session:
                words = list(session.order(order(host)))
        except HeadwayError as error:
            return error
        found = [word for word in words if isinstance(word, kind)]
        return found[0] if found else _no_answer(host, words[-1])

    if not hosts:
        return {}
    with ThreadPoolExecutor(min(LOOKS, len(hosts))) as pool:
        answers = list(pool.map(seen, hosts))
    return {host.name: answer for host, answer in zip(hosts, answers, strict=True)}


def _no_answer(host: Host, last: FromHost) -> HeadwayError:
    """Make the error of a host that was reached and would not look at itself."""
    refused = getattr(last, "exit_code", None) == Exit.REFUSED
    said = f"{host.name}: {getattr(last, 'sentence', '')}"
    return RefusedError(said) if refused else UnreachableError(said)
