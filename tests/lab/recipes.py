"""What the lab's root file systems are made of, each cached by the content of its recipe.

A host's root is a stack of layers: a Debian (one a recipe), the real engine in a virtual
environment (one a recipe that can run it), and what is the same for every Debian (the copy model
and the engine's stand-in). Layers are built on demand and never changed: other content is
another folder.
"""

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.lab import debian, engine
from tests.lab.command import LabError, run
from tests.lab.sources import apt_line, codename

CACHE = Path("/var/cache/headway-lab")
SERVED = CACHE / "served"  # what hosts can install: wheels, and a repository for apt under apt/
OPS_PASSWORD = "lab-ops"  # noqa: S105 - a lab host's own user; tests type it when sudo asks

PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "openssh-server", "iproute2", "procps", "sudo"),
    *("ca-certificates", "curl", "libgomp1", "python3", "python3-venv"),
)


# Docker with Compose as a plugin, a registry, and what images are cut from (tests/lab/images.py).
STACKS = (
    *("docker.io", "docker-cli", "docker-compose", "iptables", "docker-registry"),
    *("haproxy", "busybox-static"),
)


@dataclass(frozen=True)
class Recipe:
    """One Debian: its suite and packages, and whether the real engine runs there."""

    suite: str
    packages: tuple[str, ...] = PACKAGES
    engine: bool = True


# llama-server's wheel needs glibc 2.35: bullseye has 2.31.
RECIPES = {
    "bookworm": Recipe("bookworm"),
    "trixie": Recipe("trixie"),
    "bullseye": Recipe("bullseye", engine=False),
    "node": Recipe("bookworm", (*PACKAGES, "lxc"), engine=False),  # tests/lab/node.py
    "docker": Recipe("bookworm", (*PACKAGES, "docker.io", "busybox-static"), engine=False),
    "stacks": Recipe("trixie", (*PACKAGES, *STACKS), engine=False),  # tests/lab/stacks.py
}

# The address comes from outside (nspawn's --setenv), so that every host boots the same image.
ADDRESS_UNIT = """\
[Unit]
Description=Address of this lab host
DefaultDependencies=no
Before=network.target ssh.service
[Service]
Type=oneshot
RemainAfterExit=yes
PassEnvironment=LAB_ADDR
ExecStart=/bin/sh -c 'ip link set lo up; ip addr add $LAB_ADDR/24 dev host0; ip link set host0 up'
[Install]
WantedBy=sysinit.target
"""
FILES = {
    "etc/systemd/system/lab-address.service": ADDRESS_UNIT,
    # sshd answers only once logins are allowed: an SSH banner then means a host that is up.
    "etc/systemd/system/ssh.service.d/lab.conf": (
        "[Unit]\nAfter=systemd-user-sessions.service lab-address.service\n"
    ),
    "etc/pip.conf": (
        "[global]\nindex-url = http://10.77.0.1:8077/simple/\ntrusted-host = 10.77.0.1\n"
        "disable-pip-version-check = true\n"
    ),
    "etc/apt/sources.list": debian.SOURCES_LIST,
    "etc/machine-id": "",
}
UNWANTED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer"),
    *("e2scrub_all.timer", "e2scrub_reap.service", "getty.target", "console-getty.service"),
    *("systemd-networkd.service", "systemd-networkd.socket", "systemd-resolved.service"),
    *("systemd-timesyncd.service", "systemd-networkd-wait-online.service"),
)
LEAN = [f"--dpkgopt=path-exclude=/usr/share/{bulk}/*" for bulk in ("doc", "info", "locale", "man")]


def layers(name: str) -> list[Path]:
    """Return the read-only layers of a recipe, uppermost first; build what is missing."""
    try:
        recipe = RECIPES[name]
    except KeyError:
        raise LabError(f"no recipe {name!r}; there are {', '.join(sorted(RECIPES))}") from None
    suite = cached(
        f"debian-{name}",
        f"{recipe} {FILES} {UNWANTED} {LEAN} {OPS_PASSWORD}",
        lambda root: _debian(recipe, root),
    )
    shared = cached("shared", engine.shared_content(), engine.build_shared)
    if not recipe.engine:
        return [shared, suite]
    venv = cached(
        f"engine-{name}",
        f"{suite.name} {engine.REQUIREMENT}",
        lambda upper: engine.build_venv(suite, SERVED, upper),
    )
    return [shared, venv, suite]


def cached(kind: str, content: str, build: Callable[[Path], None]) -> Path:
    """Return the folder that holds this content; build it once, whole or not at all.

    What was built of this kind for other content is taken away: the lab's holder alone builds.
    """
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    final = CACHE / f"{kind}-{digest}"
    if final.exists():
        return final
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not final.exists():
            sys.stderr.write(f"lab: building {final.name}, once\n")
            partial = CACHE / f"{final.name}.partial"
            if partial.exists():
                shutil.rmtree(partial)
            partial.mkdir(mode=0o755)
            build(partial)
            partial.rename(final)
            for old in CACHE.glob(f"{kind}-{'?' * len(digest)}"):
                if old != final:
                    shutil.rmtree(old)
    return final


def _debian(recipe: Recipe, root: Path) -> None:
    """Fill a folder with a small Debian that boots under nspawn and answers SSH."""
    run(
        [
            *("mmdebstrap", "--quiet", "--variant=minbase", *LEAN),
            *(f"--include={','.join(recipe.packages)}", recipe.suite, str(root)),
            apt_line(recipe.suite, codename()),
        ]
    )
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    units = root / "etc/systemd/system"
    for unit in UNWANTED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    run(["chroot", str(root), "systemctl", "enable", "lab-address.service"])
    (root / "var/log/journal").mkdir(exist_ok=True)  # journals outlive a power cut
    for key in root.glob("etc/ssh/ssh_host_*"):
        key.unlink()  # each host brings its own
    run(["chroot", str(root), "useradd", "-m", "-s", "/bin/bash", "-G", "sudo", "ops"])
    run(["chroot", str(root), "chpasswd"], stdin=f"ops:{OPS_PASSWORD}\n")
