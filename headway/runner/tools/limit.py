"""Commands of a check that end with the gate they were run for."""

from typing import Callable, Dict, Optional, Sequence

from headway.wire.tools import Ran, Run


def limited(run: Run, left_s: Callable[[], int]) -> Run:
    """Cut each command's deadline to what is left of the gate's."""

    def bounded(
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Optional[Dict[str, str]] = None,
        deadline_s: int = 60,
    ) -> Ran:
        return run(argv, stdin=stdin, env=env, deadline_s=min(deadline_s, left_s()))

    return bounded
