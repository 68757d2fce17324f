"""vLLM itself, built for CPUs, in a virtual environment that lab hosts see read-only.

Installed once, on demand, by this machine's own pip and index. It is for the Python 3.11 of a
bookworm host: this machine needs a python3.11 to make it.
"""

import inspect
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.lab import copy_model, recipes
from tests.lab.command import LabError, run
from tests.vllm import checkpoint

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
VENV = "/opt/vllm"  # where a host sees it
MODEL = "/opt/copy"
_PYTHON = "python3.11"
# The packager renamed the distribution; vLLM asks for the version of "vllm", and dies without one.
_ALIAS = "vllm-0.32.0+cpu.dist-info"
_METADATA = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"
_NUMA = "libnuma1"  # the one library that vLLM's kernels want and a small Debian lacks


@dataclass(frozen=True)
class Installed:
    """The environment, the model, and how a host of the lab gets both."""

    venv: Path
    model: Path

    @property
    def nspawn(self) -> tuple[str, ...]:
        """Give the options of systemd-nspawn by which a host sees them."""
        return (f"--bind-ro={self.venv}:{VENV}", f"--bind-ro={self.model}:{MODEL}")


def installed() -> Installed:
    """Return it; the first time it is downloaded, which takes minutes and 3.5 GB of disk."""
    sources = [inspect.getsource(module) for module in (checkpoint, copy_model)]
    return Installed(
        recipes.cached("vllm", REQUIREMENTS.read_text() + _METADATA, _build_venv),
        recipes.cached("checkpoint", "".join(sources), checkpoint.write),
    )


def _build_venv(folder: Path) -> None:
    """Install what is pinned and nothing else, for a host's /usr/bin/python3.11."""
    python = shutil.which(_PYTHON)
    if python is None:
        raise LabError(f"{_PYTHON} is not installed: vLLM is installed for a host that has it")
    run([python, "-m", "venv", str(folder)])
    pip = [str(folder / "bin/python3"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "--no-deps", "--only-binary=:all:", "--requirement", str(REQUIREMENTS)])
    alias = folder / f"lib/{_PYTHON}/site-packages" / _ALIAS
    alias.mkdir()
    (alias / "METADATA").write_text(_METADATA)
    with tempfile.TemporaryDirectory() as package:
        run(["apt-get", "--quiet", "download", _NUMA], cwd=Path(package))
        run(["dpkg-deb", "--extract", *map(str, Path(package).glob("*.deb")), package])
        [library] = Path(package).rglob("libnuma.so.1")
        shutil.copy(library, folder / "lib")
    link = folder / "bin" / _PYTHON
    link.unlink()
    link.symlink_to(f"/usr/bin/{_PYTHON}")
