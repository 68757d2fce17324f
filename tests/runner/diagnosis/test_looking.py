"""Looks are begun at once, and none of them can keep the others from being told."""

import threading
import time

from headway.runner.diagnosis.looking import Looks


def test_what_hangs_is_named_and_left_behind() -> None:
    """A driver or a file server that never answers costs the deadline, once."""
    looks, never = Looks(within_s=0.2), threading.Event()
    looks.start("driver", never.wait)
    looks.start("server", never.wait)
    looks.start("disk", lambda: "full")
    began = time.monotonic()

    seen = [looks.result(name, None) for name in ("driver", "server", "disk")]

    assert time.monotonic() - began < 0.4
    assert seen == [None, None, "full"]
    assert looks.unseen() == dict.fromkeys(("driver", "server"), "no answer in time")
    never.set()


def test_what_fails_says_why_in_a_line() -> None:
    """No traceback: the others are told all the same."""
    looks = Looks(within_s=1)
    looks.start("record", lambda: int("x"))

    assert looks.result("record", 0) == 0
    assert looks.unseen()["record"].startswith("ValueError: invalid literal")
    assert looks.result("never begun", 1) == 1
