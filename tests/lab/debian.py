"""An apt repository of one small package, served to lab hosts in place of Debian's archive."""

import hashlib
from pathlib import Path

from tests.lab.command import run

PACKAGE = "lab-hello"
CONTROL = f"""\
Package: {PACKAGE}
Version: 1.0
Architecture: all
Maintainer: the lab <lab@localhost>
Description: says hello from {PACKAGE}
"""
SOURCES_LIST = "deb [trusted=yes] http://10.77.0.1:8077/apt ./\n"


def build_repository(folder: Path) -> None:
    """Write the package and the index that apt reads; a folder that has them stays as it is."""
    index = folder / "Packages"
    if index.exists():
        return
    tree = folder / "tree"
    program = tree / "usr/bin" / PACKAGE
    for made in (tree / "DEBIAN", program.parent):
        made.mkdir(parents=True, exist_ok=True)
    (tree / "DEBIAN/control").write_text(CONTROL)
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    file = folder / f"{PACKAGE}_1.0_all.deb"
    run(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(file)])
    content = file.read_bytes()
    index.write_text(
        f"{CONTROL}Filename: ./{file.name}\nSize: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    )
