"""The runner's command line: `python3 -I -S runner/HASH serve|transition ID|recover|host VERB`."""

import sys


def main() -> int:
    """Find the verb's own module and leave the rest of the runner unread."""
    verb, *words = sys.argv[1:] or [""]
    if verb == "serve":
        from headway.runner.serve import serve

        return serve()
    if verb == "transition" and len(words) == 1:
        from headway.runner.carry import carry

        return carry(words[0])
    if verb == "recover":
        from headway.runner.carry import recover

        return recover()
    if verb == "host":
        from headway.runner.host_verbs import main as host

        return host(words)
    sys.stderr.write("usage: serve | transition ID | recover | host VERB\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
