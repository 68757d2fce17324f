"""Verdicts of gates, fates of subjects, and how several of them add up."""

from enum import Enum
from typing import Iterable


class Verdict(str, Enum):
    """What a gate says of a release. INVALID means that nothing was judged."""

    PASS = "PASS"  # noqa: S105 # a verdict, no password
    FAIL = "FAIL"
    INVALID = "INVALID"


class Fate(str, Enum):
    """What became of the subject while a gate looked at it.

    DIED ended by itself (signal, exit, OOM); TAKEN was stopped by somebody else; REPLACED is
    another launch than the one that was being judged.
    """

    SAME = "SAME"
    DIED = "DIED"
    TAKEN = "TAKEN"
    REPLACED = "REPLACED"


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Add verdicts up: FAIL beats INVALID beats PASS.

    Nothing judged is INVALID, not PASS: a rollout without a measurement proves nothing.
    """
    seen = set(verdicts)
    for verdict in (Verdict.FAIL, Verdict.INVALID, Verdict.PASS):
        if verdict in seen:
            return verdict
    return Verdict.INVALID


def judged(verdict: Verdict, fate: Fate) -> Verdict:
    """Weigh a gate's own verdict by the fate of its subject.

    A subject that died fails whatever the gate saw; one that somebody took away or replaced was
    not judged at all (DESIGN 5).
    """
    if fate is Fate.DIED:
        return Verdict.FAIL
    if fate is Fate.SAME:
        return verdict
    return Verdict.INVALID
