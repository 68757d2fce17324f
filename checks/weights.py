"""Every byte of the weights is what was pinned: all of it is read, so it is asked by hand."""

from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

from headway.wire.evidence import by_hand, some
from headway.wire.gate import Answered, Judgement, Measurement, Subject
from headway.wire.resources import Weights, WeightsFile
from headway.wire.tools import Tools
from headway.wire.verdict import Verdict

DEADLINE_S = 4 * 3600  # 1 TB at 100 MB/s is 2.8 hours


@dataclass(frozen=True)
class Params:
    """Nothing to say: the release says it all."""


def judge(_params: Params, _subject: Optional[Subject], tools: Tools) -> Answered:
    """Hash every file; weights that somebody else put there have no hashes to compare with."""
    mine = [each for each in tools.part.resources if isinstance(each, Weights)]
    rows = [(weights, file) for weights in mine for file in weights.files]
    if not rows:
        why = f"{tools.part.name} holds no weights that headway fetched: nothing to hash them by"
        return Judgement(Verdict.INVALID, (why,))
    wrong: List[str] = []
    for weights, file in rows:
        wrong.extend(_wrong(weights, file, tools))
    again = by_hand(["sha256sum", f"{rows[0][0].path}/{rows[0][1].name}"])
    if wrong:
        return Judgement(Verdict.FAIL, (*some(tuple(wrong), 10), again))
    size = sum(file.size for _, file in rows)
    said = f"{len(rows)} files hash to what is pinned"
    return Judgement(Verdict.PASS, (said, again), (Measurement("hashed", size, "bytes"),))


def _wrong(weights: Weights, file: WeightsFile, tools: Tools) -> Iterator[str]:
    path = f"{weights.path}/{file.name}"
    ran = tools.run(list(_argv(path, file)), deadline_s=tools.left_s())
    now = ran.stdout.decode(errors="replace").lstrip("\\").split(" ")[0].strip()
    if ran.code != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines() or [f"code {ran.code}"]
        yield f"{path} cannot be hashed: {said[-1]}"
    elif now != (file.sha256 or file.blob_id):
        yield f"{path} hashes to {now[:12]}, {(file.sha256 or file.blob_id)[:12]} is pinned"


def _argv(path: str, file: WeightsFile) -> Tuple[str, ...]:
    """Hash as the pin does; git's id of a blob is over its size and a NUL before its bytes."""
    if file.sha256:
        return ("sha256sum", path)
    words = '{ printf "blob %s\\0" "$1"; cat -- "$2"; } | sha1sum'
    return ("sh", "-c", words, "sh", str(file.size), path)
