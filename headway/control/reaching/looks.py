"""Asks many hosts at once what they record and what is so; no answer is an answer, too."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

from headway.control.errors import HeadwayError, RefusedError, UnreachableError, UsageError
from headway.control.inventory.model import Host
from headway.control.reaching.reach import Reach
from headway.control.telling.story import Sink
from headway.wire.phase import Exit
from headway.wire.talk import FromHost, Look, Looked, Order

LOOKS = 32
AT_ONCE = 128  # hosts that are not waited for: one that does not answer takes nobody's turn
_STATE = Look()

T = TypeVar("T")


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
    kind: type[T],
    tell: Sink = lambda _told: None,
) -> dict[str, T | HeadwayError]:
    """Give hosts an order each at once, and take the word of this kind out of what they say."""

    def seen(host: Host) -> T | HeadwayError:
        return first(heard(host, reach, order(host), tell), kind)

    if not hosts:
        return {}
    with ThreadPoolExecutor(min(LOOKS, len(hosts))) as pool:
        answers = list(pool.map(seen, hosts))
    return {host.name: answer for host, answer in zip(hosts, answers, strict=True)}


def as_they_come(
    hosts: Sequence[Host], reach: Reach, order: Look, within_s: float
) -> Iterator[tuple[str, Looked | HeadwayError]]:
    """Ask hosts at once, and give each answer when it is there.

    After `within_s` seconds those that said nothing are given as unreachable: nobody waits for
    them, and their threads end with the process.
    """
    answers: SimpleQueue[tuple[str, Looked | HeadwayError]] = SimpleQueue()
    turns = threading.Semaphore(AT_ONCE)

    def wait(host: Host) -> None:
        with turns:
            answers.put((host.name, first(heard(host, reach, order), Looked)))

    for host in hosts:
        threading.Thread(target=wait, args=(host,), name=host.name, daemon=True).start()
    left = {host.name for host in hosts}
    until = time.monotonic() + within_s
    while left:
        try:
            name, answer = answers.get(timeout=max(until - time.monotonic(), 0.001))
        except Empty:
            break
        left.discard(name)
        yield name, answer
    for host in hosts:
        if host.name in left:
            late = UnreachableError(
                f"{host.name}: no answer within {within_s:g} s",
                hint=f"invoke status --host {host.name} --within 60",
            )
            yield host.name, late


def heard(
    host: Host, reach: Reach, order: Order, tell: Sink = lambda _told: None
) -> list[FromHost] | HeadwayError:
    """Ask one host, and give all that it said; a host that would not say is an error."""
    try:
        with reach.open(host, tell) as session:
            words = list(session.order(order))
    except HeadwayError as error:
        return error
    except Exception as error:  # noqa: BLE001 # a thread has nobody to raise to: it is told
        return UnreachableError(f"{host.name}: {type(error).__name__}: {error}")
    return words if len(words) > 1 else _no_answer(host, words[-1])


def first(words: list[FromHost] | HeadwayError, kind: type[T]) -> T | HeadwayError:
    """Pick the word of this kind; an error stays one."""
    if isinstance(words, HeadwayError):
        return words
    found = [word for word in words if isinstance(word, kind)]
    return found[0] if found else UnreachableError("the runner said something else")


_ERRORS = {Exit.REFUSED: RefusedError, Exit.USAGE: UsageError}


def _no_answer(host: Host, last: FromHost) -> HeadwayError:
    """Make the error of a host that was reached and would not answer."""
    code = getattr(last, "exit_code", None)
    kind = next((kind for of, kind in _ERRORS.items() if of == code), UnreachableError)
    return kind(f"{host.name}: {getattr(last, 'sentence', '')}")
