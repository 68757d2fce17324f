"""What a person who was woken up reads: the likeliest cause first, on a phone."""

from headway.control.diagnose import HostDiagnosis, of, text
from headway.wire.diagnosis import Cause, Diagnosed

FULL = Cause(
    "disk-full",
    "/var",
    "a disk is full",
    ("/var: 0 MiB of 40.0 GiB free",),
    "free some room; headway's ballast is for going back only",
    "du -xh /var",
)
DIED = Cause(
    "engine-exit-0",
    "engine.service",
    "the engine died by itself with exit code 0: systemd calls that success",
    ("exit code 0, by itself",),
    "start it",
    "systemctl restart engine.service",
    ("disk-full",),
)
DRIFT = Cause(
    "drift",
    "engine",
    "what runs is not what was accepted",
    (),
    "look",
    "invoke restart --host {host}",
)
SAID = Diagnosed((FULL, DRIFT, DIED), ("14 units",), ("containers: late",), 300)
READS = """\
gpu1  2 findings, the likeliest cause
first, 1 that follows from it

1 /var: a disk is full
  | /var: 0 MiB of 40.0 GiB free
  helps: free some room; headway's
    ballast is for going back only
  type on gpu1: du -xh /var

2 engine: what runs is not what was
  accepted
  helps: look
  type here: invoke restart --host gpu1

follows from it:
- engine.service: the engine died by
  itself with exit code 0: systemd calls
  that success
  | exit code 0, by itself

not seen: containers: late"""


def test_it_reads_on_a_phone() -> None:
    """Forty columns; causes whole, what follows from them in brief, and what was not seen."""
    assert text(of("gpu1", SAID), 40) == READS


def test_nothing_found_says_what_was_looked_at() -> None:
    """An answer of nothing rests on something."""
    quiet = HostDiagnosis("gpu1", (), ("14 units", "2 cards"), (), 1)

    assert text(quiet) == "gpu1  nothing found\n\nlooked at: 14 units, 2 cards"
