"""What is taken out of a report before anybody sees it, and how much of each.

Secrets by value (those of the inventory) and by pattern, always; names and addresses on request.
The host has blotted out the values of its own secret files before.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from headway.control.errors import HeadwayError
from headway.control.inventory.model import Host
from headway.control.plan.masking import masked
from headway.control.secrets import MASK, Redactor, Secret

BY_VALUE, BY_PATTERN, NAMES = "values of known secrets", "what looks like a secret", "names"
_PEM = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|$)", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b")
_LOCAL = ("127.", "0.0.0.0", "255.")  # noqa: S104 # compared with, not bound to


class Cleaner:
    """Cleans texts, one after the other, and counts what it took out of them."""

    def __init__(self, redactor: Redactor, names: Iterable[str] = (), *, hide: bool) -> None:
        """Hide these names, in their order, and every address, where `hide` says so."""
        self._redactor = redactor
        self._hide = hide
        self._names = {name: f"host-{n}" for n, name in enumerate(dict.fromkeys(names), 1)}
        self._people: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        longest = sorted(self._names, key=lambda name: (-len(name), name))
        words = "|".join(map(re.escape, longest))
        self._pattern = re.compile(rf"(?<![\w.-])(?:{words})(?![\w-])") if words else None
        self.counted: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """Give a text as a report may show it."""
        clean = self._count(BY_VALUE, text, self._redactor.text(text))
        lines = _PEM.sub(rf"\1 {MASK} \2", clean).split("\n")
        clean = self._count(BY_PATTERN, clean, "\n".join(masked(line) for line in lines))
        return self._named(clean) if self._hide else clean

    def person(self, name: str) -> str:
        """Give who did something as a report may show it: user@machine is a name."""
        if not self._hide or not name:
            return self.text(name)
        self.counted[NAMES] += 1
        return self._people.setdefault(name, f"person-{len(self._people) + 1}")

    def _named(self, text: str) -> str:
        for name, stands in self._people.items():
            text = text.replace(name, stands)
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._hidden(self._names[found[0]]), text)
        return _ADDRESS.sub(self._address, text)

    def _address(self, found: "re.Match[str]") -> str:
        if found[0].startswith(_LOCAL):
            return found[0]
        number = len(self._addresses) + 1
        return self._hidden(self._addresses.setdefault(found[0], f"address-{number}"))

    def _hidden(self, stands: str) -> str:
        self.counted[NAMES] += 1
        return stands

    def _count(self, what: str, before: str, after: str) -> str:
        self.counted[what] += after.count(MASK) - before.count(MASK)
        return after


def learned(hosts: Iterable[Host]) -> Iterator[str]:
    """Reveal every secret of these hosts, so that it is known by value; say which could not be."""
    seen: set[str] = set()
    for host in hosts:
        values = [value.value for value in host.vars.values()]
        values += [value.value for one in host.instances for value in one.vars.values()]
        for secret in (
            secret for value in (*values, host.become_password) for secret in _in(value)
        ):
            if secret.where in seen:
                continue
            seen.add(secret.where)
            try:
                secret.reveal()
            except HeadwayError as error:
                yield str(error)


def _in(value: object) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _in(inner)
