"""What an engine says of its own secrets is not passed on."""

from pathlib import Path

import pytest

from headway.control.rendering.env_file import env_text
from headway.runner.hush import hushed
from headway.wire.release import Part
from headway.wire.resources import File
from tests.runner.resources.scripted import blob, machine_at

KEY = 'k-5f"0c\\1 $x`'
ENVIRONMENT = env_text({"KEY": KEY, "HOME": "/opt/models", "PORTS": "8000, 8001", "SHORT": "red"})


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        (ENVIRONMENT, f"api_key={KEY} is wrong", "api_key=*** is wrong"),
        (ENVIRONMENT, "/opt/models has no red on 8000, 8001", ""),
        ("password: hunter2-hunter2\n", "auth hunter2-hunter2 failed", "auth *** failed"),
        ("-----BEGIN\nc2VjcmV0c2VjcmV0\n", "got c2VjcmV0c2VjcmV0", "got ***"),
        ("url=postgres://u:pw@db\n", "cannot reach postgres://u:pw@db", "cannot reach ***"),
        ("url=http://127.0.0.1:8000\n", "http://127.0.0.1:8000 is silent", ""),
    ],
)
@pytest.mark.parametrize("secret", [True, False])
def test_values_of_secret_files_are_blotted_out(
    tmp_path: Path, text: str, said: str, shown: str, *, secret: bool
) -> None:
    """By value, as systemd reads them; not what is no secret in any file: paths, ports, words."""
    machine, _ = machine_at(tmp_path)
    file = File("/etc/x", blob(machine, text.encode(), secret=secret), 0o600)

    hush = hushed(machine, Part("x", "r", (file,)))

    assert hush(said) == (shown if shown and secret else said)


def test_a_blob_that_is_gone_hides_nothing(tmp_path: Path) -> None:
    """The gate is judged all the same; in_place says what is missing."""
    machine, _ = machine_at(tmp_path)
    file = File("/etc/x", blob(machine, b"KEY=12345678\n", secret=True), 0o600)
    Path(tmp_path, machine.blobs.path(file.blob.sha256)[1:]).unlink()

    assert hushed(machine, Part("x", "r", (file,)))("12345678x") == "12345678x"
