"""The accepted list, pure: newest first, its head is what stands here now."""

from dataclasses import replace
from typing import Optional, Tuple

from headway.wire.record import Acceptance, State

KEPT = 5


def with_accepted(state: State, new: Acceptance, kind: str) -> Tuple[Acceptance, ...]:
    """Put an acceptance at the head.

    A rollback marks the one it leaves withdrawn, so that the next rollback goes further back and
    never forth. A release accepted anew is withdrawn no longer. Five are kept.
    """
    left = state.accepted
    if kind == "rollback" and left and left[0].release != new.release:
        left = (replace(left[0], withdrawn=True), *left[1:])
    rest = tuple(old for old in left if old.release != new.release)
    return (new, *rest)[:KEPT]


def rollback_target(state: State, wanted: str = "") -> Optional[str]:
    """Name the release a rollback aims at: the newest accepted one that is not the running one.

    `wanted` may be a prefix of a kept release's id; a withdrawn one must be wanted by name.
    """
    others = [old for old in state.accepted if old.release != state.running()]
    if wanted:
        return next((old.release for old in others if old.release.startswith(wanted)), None)
    return next((old.release for old in others if not old.withdrawn), None)
