"""What NCCL says of a start: its transports, what took effect, who came through (FIELD.md 2.1)."""

import re
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Set, Tuple

from headway.wire import nccl

_VIA = re.compile(
    r"NCCL INFO Channel \d+(?:/\d+)? : (?P<a>\d+)\[[0-9a-f]+\] -> (?P<b>\d+)\[[0-9a-f]+\]"
    r"(?: \[(?:send|receive)\])? via (?P<how>(?:P2P|SHM|NET|COLLNET)\S*)"
)
_SET = re.compile(r"NCCL INFO (?P<name>NCCL_\w+) set by environment to (?P<value>\S+?)\.?$")
_INIT = re.compile(
    r"(?P<pid>\d+):\d+ \[\d+\] NCCL INFO .*\bcomm (?P<comm>\S+) rank (?P<rank>\d+) "
    r"nranks (?P<ranks>\d+) .*- Init (?P<what>START|COMPLETE)"
)
_REFUSED = re.compile(r"P2P is disabled between .*?GPUs \d+ and \d+|Could not enable P2P .*")
_VERSION = re.compile(r"NCCL version (?P<version>\S+)")

Pair = Tuple[int, int]


@dataclass(frozen=True)
class Start:
    """One start as NCCL logged it. `pairs` are ordered pairs of ranks, with the transports seen.

    `begun` and `through` name each rank of each communicator; `ranks` is the largest one's size.
    """

    version: str
    pairs: Dict[Pair, Tuple[str, ...]]
    taken: Dict[str, str]
    refused: Tuple[str, ...]
    begun: Dict[Tuple[str, str], int]
    through: Set[Tuple[str, str]]
    ranks: int

    def other_than(self, wanted: str) -> List[str]:
        """Name the pairs that use another transport than the wanted one, and the silent ranks."""
        wrong = [
            f"{a} -> {b} via {', '.join(how)}"
            for (a, b), how in sorted(self.pairs.items())
            if any(one.partition("/")[0] != wanted for one in how)
        ]
        talking = {a for a, _ in self.pairs}
        silent = sorted(set(self.begun.values()) - talking)
        return [*wrong, *(f"{rank} says of no connection" for rank in silent)]

    def not_taken(self, values: Mapping[str, str]) -> List[str]:
        """Name what the environment sets and NCCL says not to have taken from it.

        Older versions tell of a disabled P2P as of the level LOC.
        """
        return [
            f"{name}={value} is not said to be set by environment"
            for name, value in nccl.announced(values).items()
            if self.taken.get(name) != value
            and not (name == "NCCL_P2P_DISABLE" and self.taken.get("NCCL_P2P_LEVEL") == "LOC")
        ]

    def hanging(self) -> List[str]:
        """Name the ranks that began to initialise and did not come through."""
        left = sorted({self.begun[key] for key in self.begun if key not in self.through})
        return [f"rank {rank} of {self.ranks} began and did not come through" for rank in left]

    def word(self) -> str:
        """Say in a line how the cards talk."""
        kinds: Dict[str, List[str]] = {}
        for (a, b), how in sorted(self.pairs.items()):
            kinds.setdefault(", ".join(how), []).append(f"{a} -> {b}")
        used = "; ".join(f"{how} for {', '.join(pairs)}" for how, pairs in kinds.items())
        return f"NCCL {self.version or '?'} uses {used or 'no connection that it names'}"


def start_of(lines: Iterable[str]) -> Start:
    """Read a start out of a log; lines of others are passed over."""
    version, ranks = "", 0
    pairs: Dict[Pair, List[str]] = {}
    taken: Dict[str, str] = {}
    refused: List[str] = []
    begun: Dict[Tuple[str, str], int] = {}
    through: Set[Tuple[str, str]] = set()
    for line in lines:
        via, said, init = _VIA.search(line), _SET.search(line), _INIT.search(line)
        if via:
            how = pairs.setdefault((int(via["a"]), int(via["b"])), [])
            how.extend([via["how"]] if via["how"] not in how else [])
        elif said:
            taken[said["name"]] = said["value"]
        elif init:
            key = init["pid"], init["comm"]
            ranks = max(ranks, int(init["ranks"]))
            if init["what"] == "COMPLETE":
                through.add(key)
            elif int(init["ranks"]) > 1:
                begun[key] = int(init["rank"])
        refusal, stated = _REFUSED.search(line), _VERSION.search(line)
        if refusal and refusal[0] not in refused:
            refused.append(refusal[0])
        version = stated["version"] if stated else version
    whole = {pair: tuple(how) for pair, how in pairs.items()}
    return Start(version, whole, taken, tuple(refused), begun, through, ranks)
