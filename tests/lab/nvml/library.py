"""Where the stand-in libnvidia-ml.so.1 lies once it is built; its source is standin_nvml.c."""

from pathlib import Path

from tests.lab.command import run
from tests.lab.recipes import cached

HERE = Path(__file__).parent
SONAME = "libnvidia-ml.so.1"
# The language and the interfaces of 2011: nothing that a glibc older than this machine's lacks.
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wno-format-truncation", "-shared", "-fPIC")


def library() -> Path:
    """Return the library, built once a content with this machine's gcc; it loads on bullseye too.

    For a process on this machine: its folder as LD_LIBRARY_PATH, a state folder as STANDIN_NVML.
    """
    source = HERE / "standin_nvml.c"
    return cached("nvml", f"{FLAGS} {source.read_text()}", build) / SONAME


def build(folder: Path) -> None:
    """Compile it into a folder."""
    output = ["-o", str(folder / SONAME), f"-Wl,-soname,{SONAME}"]
    run(["gcc", *FLAGS, *output, str(HERE / "standin_nvml.c")])
