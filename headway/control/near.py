"""Names like the one that was not found: what a message offers instead of a shrug."""

from collections.abc import Iterable

SHOWN = 8


def near(name: str, names: Iterable[str]) -> str:
    """Say which of these names was probably meant, else which ones there are."""
    import difflib  # only ever needed by an error

    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    if not known:
        return "there are none"
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return "there are " + ", ".join(known[:SHOWN]) + more
