"""What a rollout would do to one host: the answer of `invoke plan`, as data."""

from dataclasses import dataclass

from headway.wire.phase import Exit


@dataclass(frozen=True)
class Changed:
    """A resource that would be made so. `diff` is a unified diff; a secret's content is in none."""

    part: str
    kind: str
    name: str
    sentence: str
    diff: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """An engine option that differs: `before` "" is added, `after` "" is removed."""

    part: str
    name: str
    before: str
    after: str

    @property
    def how(self) -> str:
        """Say changed, added or removed."""
        return "changed" if self.before and self.after else "added" if self.after else "removed"


@dataclass(frozen=True)
class ImageChange:
    """The image of a service: what it is called, and its content now and then ("" is none)."""

    part: str
    ref: str
    before: str
    after: str


@dataclass(frozen=True)
class Restart:
    """A part that would be launched, stopped, launched again or only written, and why.

    `down_ms` is what the last accepted load took; None: it was never loaded here.
    """

    part: str
    what: str
    why: str
    down_ms: int | None


@dataclass(frozen=True)
class WayBack:
    """Where a failure, or a rollback, would lead. `lost` names what cannot be brought back."""

    release: str
    sentence: str
    takes_ms: int | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostPlan:
    """Everything a person decides by. `obstacles` are what would refuse or delay the rollout."""

    host: str
    release: str
    accepted: str
    changed: tuple[Changed, ...] = ()
    options: tuple[Option, ...] = ()
    images: tuple[ImageChange, ...] = ()
    restarts: tuple[Restart, ...] = ()
    down_ms: int | None = 0
    way_back: WayBack = WayBack("", "", None)
    obstacles: tuple[str, ...] = ()

    @property
    def nothing_to_do(self) -> bool:
        """Say whether a rollout would find the host as it should be."""
        return self.release == self.accepted and not (self.changed or self.restarts)

    @property
    def exit_code(self) -> Exit:
        """Give 0 for nothing to do, 10 for changes."""
        return Exit.ACCEPTED if self.nothing_to_do else Exit.CHANGES
