"""The stand-in hub answers the real client library as a hub does, before anything relies on it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.hub import Hub

TOKEN = "hf_right"  # noqa: S105 # the stand-in's own
FILES = {"config.json": b"{}\n", "sub/notes.txt": b"a note\n", "model.safetensors": b"w" * 300_000}


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Give a hub with one public and one private model."""
    with Hub() as hub:
        hub.publish("org/open", FILES)
        hub.publish("org/shut", FILES)
        hub.repositories["org/shut"].token = TOKEN
        yield hub


def client(hub: Hub, home: Path, script: str, token: str = "") -> str:
    """Run the real library in a process of its own, with this hub as its endpoint."""
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("HF_")},
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home),
        **({"HF_TOKEN": token} if token else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else done.stderr


def test_the_real_client_downloads_a_snapshot(hub: Hub, tmp_path: Path) -> None:
    """Metadata, the redirect to storage and every byte: huggingface_hub itself is the witness."""
    folder = Path(
        client(
            hub,
            tmp_path,
            "from huggingface_hub import snapshot_download; "
            "print(snapshot_download('org/open', revision='main'), end='')",
        )
    )
    commit = hub.repositories["org/open"].branches["main"]
    assert folder.name == commit
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert any(one.method == "GET" for one in hub.of("storage"))


def test_the_real_client_reads_sizes_and_hashes(hub: Hub, tmp_path: Path) -> None:
    """One request with blobs names size, git's id and the sha256 of what is large."""
    said = client(
        hub,
        tmp_path,
        "from huggingface_hub import HfApi\n"
        "for one in HfApi().model_info('org/open', files_metadata=True).siblings:\n"
        "    print(one.rfilename, one.size, len(one.blob_id), bool(one.lfs))",
    )
    assert said.splitlines() == [
        "config.json 3 40 False",
        "model.safetensors 300000 40 True",
        "sub/notes.txt 7 40 False",
    ]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("hf_hub_download('org/shut', 'config.json')", "RepositoryNotFoundError"),
        ("hf_hub_download('org/none', 'config.json')", "RepositoryNotFoundError"),
        ("hf_hub_download('org/open', 'no.json')", "EntryNotFoundError"),
        ("hf_hub_download('org/open', 'config.json', revision='v9')", "RevisionNotFoundError"),
    ],
)
def test_the_real_client_is_refused_as_by_a_hub(
    hub: Hub, tmp_path: Path, script: str, error: str
) -> None:
    """Its own errors are raised: the status and the X-Error-Code are a hub's."""
    said = client(hub, tmp_path, f"from huggingface_hub import hf_hub_download; {script}")
    assert error in said


def test_the_real_client_gets_in_with_its_token(hub: Hub, tmp_path: Path) -> None:
    """And storage, which would refuse it, is never shown the token."""
    said = client(
        hub,
        tmp_path,
        "from huggingface_hub import hf_hub_download; "
        "print(hf_hub_download('org/shut', 'model.safetensors'))",
        TOKEN,
    )
    assert Path(said.strip()).read_bytes() == FILES["model.safetensors"]
    mine = (one for one in hub.of("hub") if "org/shut" in one.path)
    assert {one.authorization for one in mine} == {f"Bearer {TOKEN}"}
    assert {one.authorization for one in hub.of("storage")} == {""}
