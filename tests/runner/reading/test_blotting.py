"""The host takes out the values of its own secret files before it tells its record."""

from pathlib import Path

import pytest

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.runner.reading.blotting import blotted, secrets_of, values_in
from headway.runner.records import Records
from headway.wire.event import Event, Noted
from headway.wire.release import Part, release_of
from headway.wire.resources import Blob, File


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("KEY=canary-1\n", "canary-1"),
        ("export B='x canary y'\n", "x canary y"),
        ("[Service]\nEnvironment=PG=canary-2\n", "canary-2"),
        ("  password: canary-3\n", "canary-3"),
        ("canary-4\n", "canary-4"),
        ("URL=postgres://canary-long-5@db\n", "canary-long-5"),
        ("x canary-long-6\n", "canary-long-6"),
    ],
)
def test_what_a_private_file_keeps_is_known(text: str, value: str) -> None:
    """Env files, drop-ins, YAML, a login in a URL, and a file that is nothing but the key."""
    assert value in set(values_in(text))


def test_of_an_open_file_only_what_is_called_a_secret_is_one() -> None:
    """Everybody could read the rest: a report without any words helps nobody."""
    text = "Environment=OLD_API_KEY=canary-7\nDescription=something-long-enough\n"
    assert list(values_in(text, named=True)) == ["canary-7"]


def test_what_an_older_release_kept_is_taken_out_too(tmp_path: Path) -> None:
    """A key that was rotated away is still in the logs of then; paths and small words stay."""
    disk = Disk(str(tmp_path))
    records, blobs = Records(disk), Blobs(disk)
    records.prepare()
    data = b'KEY=canary"old\nMODEL=/srv/models/chat.gguf\nMODE=fast\nN=12345678\n'
    blob = Blob(blobs.put(data), len(data), secret=True)
    argv = (("vllm", "serve"), ("--model", "public-model-name"))
    data = b"MODEL_NAME=public-model-name\n"
    other = Blob(blobs.put(data), len(data), secret=True)
    files = (File("/etc/env", blob), File("/etc/env2", other))
    records.keep_release(release_of((Part("a", "b", files, argv),)))

    found = secrets_of(records, blobs)

    assert found == {'canary"old'}
    event = Event(1, 1, "t", Noted('said canary"old of /srv/models/chat.gguf'))
    assert blotted(event, Event, found).body == Noted("said *** of /srv/models/chat.gguf")
