"""The runner's command line: `python3 -I -S runner/HASH/__main__.py serve | transition ID | ...`.

Started by path, not as a folder: that spares an unchanged host a third of Python's own start.
"""

import os
import sys


def main() -> int:
    """Find the verb's own module and leave the rest of the runner unread."""
    verb, *words = sys.argv[1:] or [""]
    if verb == "serve":
        import gc

        from headway.runner import quick

        gc.disable()  # one order, then the end: collecting while it loads costs a tenth of that

        return quick.serve(os.path.dirname(os.path.realpath(__file__)), cards=words == ["cards"])
    if verb == "transition" and len(words) == 1:
        from headway.runner.carry import carry

        return carry(words[0])
    if verb == "recover":
        from headway.runner.carry import recover

        return recover()
    if verb == "host":
        from headway.runner.host_verbs import main as host

        return host(words)
    sys.stderr.write("usage: serve [cards] | transition ID | recover | host VERB\n")
    return 2


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
    sys.exit(main())
