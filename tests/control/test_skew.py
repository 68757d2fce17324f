"""Who of a role and class runs what otherwise than most, and since when."""

import hashlib

from headway.control.skew import skews, text
from headway.wire.record import Acceptance, State
from headway.wire.release import Part, release_of
from headway.wire.resources import Blob, File
from headway.wire.talk import Looked

NOW_MS = 10 * 86_400_000


def _looked(context: str, port: str = "8000", config: str = "a", days: int = 5) -> Looked:
    blob = Blob(hashlib.sha256(config.encode()).hexdigest(), len(config))
    argv = (("llama-server",), ("--ctx-size", context), ("--port", port))
    release = release_of((Part("llama", "llama_cpp", (File("/etc/llama.conf", blob),), argv),))
    accepted = Acceptance(release.id, "c1", NOW_MS - days * 86_400_000, "ops@desk", "abc")
    return Looked(State(accepted=(accepted,)), release)


def test_the_one_that_differs_is_named_with_since_when() -> None:
    """Two hosts got the new context length, one was forgotten."""
    fleet = {"gpu1": _looked("8192"), "gpu2": _looked("8192"), "gpu3": _looked("4096", days=3)}
    found = tuple(skews(fleet, {}))
    assert text(found, NOW_MS) == ["skew  llama_cpp: --ctx-size: 8192 on 2; gpu3 4096 since 3 d"]


def test_a_file_that_differs_is_skew_where_the_options_do_not() -> None:
    """A unit that says other options is another file; the options tell it already."""
    fleet = {"gpu1": _looked("1"), "gpu2": _looked("1"), "gpu3": _looked("1", config="b")}
    [one] = skews(fleet, {})
    assert (one.what, one.others[0].host) == ("file /etc/llama.conf: blob", "gpu3")


def test_what_every_host_has_of_its_own_is_no_skew() -> None:
    """A port or an address is another one everywhere, and is meant to be."""
    fleet = {f"gpu{n}": _looked("1", port=str(8000 + n)) for n in range(4)}
    assert tuple(skews(fleet, {})) == ()


def test_hosts_of_another_class_are_not_compared() -> None:
    """What a class of machines needs is declared for it; the H200 is no wrong 3090."""
    fleet = {"gpu1": _looked("1"), "gpu2": _looked("2")}
    assert tuple(skews(fleet, {"gpu1": "h200", "gpu2": "r3090"})) == ()
    assert len(tuple(skews(fleet, {}))) == 1
