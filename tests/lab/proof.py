"""What a test has to show to a reader, one line an item (invoke dev.prove NAME)."""

from dataclasses import dataclass, field


@dataclass
class Proofs:
    """The lines of one run of pytest, told when it ends."""

    lines: list[str] = field(default_factory=list)

    def __call__(self, item: str, did: str, saw: str, figure: str = "") -> None:
        """Note what was done for an item, what was then seen from outside, and the figure."""
        told = f"{item}: {did}; seen: {saw}"
        self.lines.append(f"{told} ({figure})" if figure else told)
