"""What the lab, and the tests of the page, need of Debian beyond git, make and python3."""

import os
import shutil
import sys
from pathlib import Path

from tests.lab.command import LabError, run

# program: the package that has it
PACKAGES = {
    "chromium": "chromium",
    "faketime": "faketime",
    "gcc": "gcc",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "nsenter": "util-linux",
    "ssh": "openssh-client",
    "systemd-nspawn": "systemd-container",
}
FILES = {
    "/usr/include/stdio.h": "libc6-dev",  # what gcc compiles against comes apart
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core",  # so do letters
}


def missing() -> list[str]:
    """Return the packages that are not there, judged by their programs and files."""
    programs = {package for program, package in PACKAGES.items() if not shutil.which(program)}
    files = {package for file, package in FILES.items() if not Path(file).exists()}
    return sorted(programs | files)


def why_no_lab() -> str:
    """Return why this machine cannot boot lab hosts, "" when it can."""
    if not Path("/etc/debian_version").exists():
        return "its hosts are built by Debian's own tools, and this is not Debian"
    if os.geteuid() != 0:
        return "bridges, mounts and namespaces need root"
    return ""


def install_missing() -> None:
    """Install what is missing through apt, saying so; refuse in one line where that cannot be."""
    wanted = missing()
    why = why_no_lab()
    if why:
        raise LabError(f"no lab here: {why}; invoke dev.check works without")
    if wanted:
        sys.stderr.write(f"apt: installing {', '.join(wanted)}\n")
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        run(["apt-get", "update"])
        run(["apt-get", "install", "--yes", "--no-install-recommends", *wanted])
