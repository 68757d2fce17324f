"""A conversation starts the runner, brings it once, and hears one order out, whatever the shell."""

import threading
from pathlib import Path

import pytest

from headway.control.errors import HeadwayError, LostError, UnreachableError
from headway.control.reaching.conversation import converse
from headway.control.reaching.slim import slim
from headway.wire.event import Answer
from headway.wire.resources import Blob
from headway.wire.talk import Done, Follow, Missing
from tests.control.doubles import LocalTransport, scripted

DONE = 'hear(); say({"done": {"exit_code": 0, "sentence": "fine"}})\n'


def test_the_runner_is_brought_once_and_in_one_exec(tmp_path: Path) -> None:
    """A host without the runner gets it on the same exec; the second time it is there."""
    host, pack = LocalTransport(tmp_path), scripted(DONE)
    told: list[str] = []
    for _ in range(2):
        progress = lambda what, done, total: told.append(f"{what} {done}/{total}")  # noqa: E731
        with converse(host, "gpu1", pack, progress=progress) as session:
            assert session.hello.runner == "double"
            assert list(session.order(Follow())) == [Done(0, "fine")]
    assert len(host.started) == 2
    assert [line.split()[0] for line in told] == ["runner"]
    place = tmp_path / "headway/runner" / pack.sha256
    assert (place / "__main__.py").read_bytes() == slim(pack.files["__main__.py"])
    assert place.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in place.parent.iterdir()] == [pack.sha256]
    assert host.closed


def test_half_a_runner_is_replaced(tmp_path: Path) -> None:
    """A folder without its entry (a full disk, once) is no runner: it is brought again."""
    host, pack = LocalTransport(tmp_path), scripted(DONE)
    (tmp_path / "headway/runner" / pack.sha256 / "headway").mkdir(parents=True)
    with converse(host, "gpu1", pack) as session:
        assert list(session.order(Follow())) == [Done(0, "fine")]


def test_a_runner_that_arrives_damaged_is_not_run(tmp_path: Path) -> None:
    """What was changed on the way is refused by its hash, in one line, and leaves nothing."""
    host = LocalTransport(tmp_path)
    host.damage = (b"BZh9", b"BZh1")
    with pytest.raises(UnreachableError, match="the runner arrived damaged"):
        converse(host, "gpu1", scripted(DONE))
    assert list(tmp_path.iterdir()) == []


def test_noise_of_a_login_shell_is_not_part_of_it(tmp_path: Path) -> None:
    """A banner before the hello, even without a newline, is skipped."""
    noisy = {"R=": "echo 'WELCOME headway-runner'; printf 'last login: %s' now; R="}
    for _ in range(2):
        host = LocalTransport(tmp_path, noisy)
        with converse(host, "gpu1", scripted(DONE)) as session:
            assert list(session.order(Follow())) == [Done(0, "fine")]


def test_a_shell_that_never_stops_printing_is_left(tmp_path: Path) -> None:
    """Over 1 MiB before the hello is an error with a hint, not a full memory."""
    host = LocalTransport(tmp_path, {"R=": "yes; R="})
    with pytest.raises(UnreachableError, match="over 1 MiB"):
        converse(host, "gpu1", scripted(DONE))


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"$(id -u)": "1000"}, "uid 1000, and headway needs root"),
        ({"test -d /run/systemd/system": "false"}, "systemd is not running"),
        ({"print(sys.version_info[0],sys.version_info[1]": "print(3,6"}, "Python 3.6"),
        ({"import sys,bz2,json,": "import nojson,"}, "python3 is incomplete"),
        ({"python3": "python-none"}, "python3 does not run"),
    ],
)
def test_an_unfit_host_is_one_sentence(
    tmp_path: Path, facts: dict[str, str], sentence: str
) -> None:
    """What keeps a runner from living there is said in one line, and nothing is left there."""
    with pytest.raises(UnreachableError, match=sentence) as raised:
        converse(LocalTransport(tmp_path, facts), "gpu1", scripted(DONE))
    assert raised.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_ends_without_a_hello_says_its_last_line(tmp_path: Path) -> None:
    """The last line on standard error is the reason a person needs."""
    host = LocalTransport(tmp_path, {"R=": "echo 'This account is locked.' >&2; exit 9; R="})
    with pytest.raises(UnreachableError, match=r"exit 9.*This account is locked\."):
        converse(host, "gpu1", scripted(DONE))


def test_silence_ends_at_the_deadline(tmp_path: Path) -> None:
    """A host that says nothing is given up."""
    host = LocalTransport(tmp_path, {"R=": "sleep 30; R="})
    with pytest.raises(UnreachableError, match="within 0 s"):
        converse(host, "gpu1", scripted(DONE), hello_s=0.2)


BLOB = Blob("a" * 64, 5)
ASKS = """
hear()
say({"missing": {"blobs": [{"sha256": "a" * 64, "size": 5, "secret": False}],
                 "changed": ["llama"], "running": "empty"}})
heard = hear(); data = hear_bytes(heard["bytes"]["size"]).decode(); go = hear(); answer = hear()
heard = "%s %s %s" % (data, list(go), answer["answer"]["value"])
say({"done": {"exit_code": 0, "sentence": heard}})
"""


def test_blobs_go_only_when_the_caller_goes_on(tmp_path: Path) -> None:
    """After Missing nothing is sent until the next word is asked for: the host waits its turn."""
    host = LocalTransport(tmp_path)
    with converse(host, "gpu1", scripted(ASKS)) as session:
        words = session.order(Follow(), {BLOB.sha256: b"hello"})
        assert next(words) == Missing((BLOB,), ("llama",), "empty")
        assert b"hello" not in host.streams[0].sent
        threading.Timer(0.1, session.say, [Answer(1, "yes", "op")]).start()
        assert list(words) == [Done(0, "hello ['go'] yes")]


def test_a_host_that_wants_what_we_do_not_have_is_left(tmp_path: Path) -> None:
    """A blob that is in no release of ours is a fault, said before anything is sent."""
    with converse(LocalTransport(tmp_path), "gpu1", scripted(ASKS)) as session:
        words = session.order(Follow(), {})
        next(words)
        with pytest.raises(HeadwayError, match="wants blobs"):
            next(words)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("hear(); sys.exit('boom')", r"the runner ended \(exit 1\): boom"),
        ("hear(); say({'nonsense': {}})", "does not fit"),
        ("hear(); print('not json')", "does not fit"),
    ],
)
def test_a_runner_that_breaks_off_is_lost(tmp_path: Path, script: str, sentence: str) -> None:
    """Whoever gave an order learns that nobody knows how it went."""
    with (
        converse(LocalTransport(tmp_path), "gpu1", scripted(script)) as session,
        pytest.raises(LostError, match=sentence),
    ):
        list(session.order(Follow()))


def test_a_cut_connection_is_lost(tmp_path: Path) -> None:
    """No exit status means no knowledge."""
    host = LocalTransport(tmp_path)
    with converse(host, "gpu1", scripted("hear(); hear()")) as session:
        words = session.order(Follow())
        host.streams[0].cut()
        with pytest.raises(LostError, match="gone"):
            next(words)


WANTING = """
hear()
say({"wanting": {"satchel": "cards", "blob": {"sha256": "", "size": 0, "secret": False}}})
size = hear()["bytes"]["size"]
say({"done": {"exit_code": 0, "sentence": str(len(hear_bytes(size)))}})
"""


def test_a_satchel_is_handed_over_by_the_way(tmp_path: Path) -> None:
    """Whoever gave the order hears nothing of it: the bytes are the pack's own."""
    pack = scripted(WANTING)
    with converse(LocalTransport(tmp_path), "gpu1", pack) as session:
        assert list(session.order(Follow())) == [Done(0, str(len(pack.satchels["cards"])))]


ANEW = """
first = hear()
print('headway-runner-hello {"hello": {"runner": "double", "python": "3", "boot_id": "b", '
      '"hostname": "h"}}', flush=True)
second = hear()
say({"done": {"exit_code": 0, "sentence": str(first == second)}})
"""


def test_a_runner_that_begins_anew_is_given_its_order_again(tmp_path: Path) -> None:
    """Its disk took no satchel, so that it went on from a copy in memory."""
    with converse(LocalTransport(tmp_path), "gpu1", scripted(ANEW)) as session:
        assert list(session.order(Follow())) == [Done(0, "True")]
