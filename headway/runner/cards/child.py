"""The child that asks NVML: a process of its own, because a wedged card never lets one go.

    python3 -I -S child.py FOLDER...          FOLDERs hold headway and pynvml

A line on stdin, `look` or `look pairs`, is answered by a line a word on stdout (plain.py). It
ends with its parent, and when nobody asked for a while: an open NVML is in the way of a reset.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False  # plain.py says why not typing's
if TYPE_CHECKING:
    from headway.runner.cards.plain import Fields

IDLE_S = 5.0


def main() -> int:
    """Answer until stdin ends, or until it is quiet for too long."""
    import json

    from headway.runner.cards import opening, plain
    from headway.runner.cards.nvml import NvmlError, open_nvml
    from headway.runner.cards.reading import Reading

    def say(word: Fields) -> None:
        os.write(1, json.dumps(word).encode() + b"\n")

    say(plain.begun("the driver"))
    try:
        nvml = open_nvml()
        reading = Reading(nvml)
    except NvmlError as error:
        library = opening.library_version(_text("/proc/self/maps"))
        module = opening.module_version(_text(opening.MODULE))
        sentence = opening.why_closed(error, module, library)
        say(plain.rest(nvml=library, trouble=[sentence], closed=opening.closed(error)))
        return 0
    while select.select([0], [], [], IDLE_S)[0]:
        question = os.read(0, 64).split()
        if not question:
            break
        try:
            for word in reading.look(pairs=b"pairs" in question):
                say(word)
        except NvmlError as error:
            why = f"NVML stopped answering: {error}"
            say(plain.rest(trouble=[why], closed=opening.closed(error)))
            return 0
    nvml.close()
    return 0


def _text(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


if __name__ == "__main__":
    sys.path[:0] = sys.argv[1:]
    sys.exit(main())
