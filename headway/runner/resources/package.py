"""A package that is present, in whatever version: provisioning, outside the promise of going back.

Never upgraded, nothing removed, no service restarted: an apt run that would do more than add
packages is refused before it starts. Kernel, driver and container packages need maintenance.
"""

import re
from typing import Dict, Iterable, List, Optional

from headway.runner.machine import Machine
from headway.runner.resources.error import ResourceError
from headway.wire.resources import Package
from headway.wire.tools import Ran

_STATUS = "/var/lib/dpkg/status"
_QUIET: Dict[str, str] = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}
_APT = (
    "apt-get",
    "--yes",
    "--no-install-recommends",
    "--no-remove",
    "--option=Dpkg::Options::=--force-confold",
    "--option=DPkg::Lock::Timeout=120",
)
_DNF = ("dnf", "--assumeyes", "--setopt=install_weak_deps=False")
_DELICATE = re.compile(
    r"linux-(image|headers|modules)|kernel|.*dkms|nvidia|libnvidia|libcuda|cuda-(drivers|compat)"
    r"|docker|containerd|runc|moby"
)
_UNKNOWN = re.compile("unable to locate package|no installation candidate", re.IGNORECASE)
_INSTALL_S = 1800
_LISTS_S = 300


def diff(package: Package, machine: Machine) -> Optional[str]:
    """Say that it is not installed; None when it is, in any version."""
    if _installed(machine, package.name):
        return None
    return f"package {package.name} is not installed"


def text_now(_: Package, __: Machine) -> Optional[str]:
    """Give None: a package has no text."""
    return None


def refusal(package: Package, _: Machine) -> Optional[str]:
    """Say why it cannot be named to a package tool: an option is no package."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._:-]*", package.name):
        return None
    return f"{package.name!r} is no package name"


def needs_maintenance(package: Package) -> bool:
    """Say whether it may only be installed in a maintenance window: kernel, driver, containers."""
    return package.maintenance or _DELICATE.match(package.name) is not None


def apply(package: Package, machine: Machine, *, maintenance: bool = False) -> None:
    """Install it and what it needs; refuse anything else that would happen along with it."""
    if needs_maintenance(package) and not maintenance:
        raise ResourceError(_only_in_maintenance(package.name))
    if machine.disk.seen(_STATUS) is None:
        _run(machine, (*_DNF, "install", package.name), _INSTALL_S)
        return
    plan = _simulate(machine, package.name)
    _judge(package.name, plan.stdout.decode(errors="replace"), maintenance=maintenance)
    _run(machine, (*_APT, "install", package.name), _INSTALL_S)


def _simulate(machine: Machine, name: str) -> Ran:
    """Ask apt what it would do; fetch the lists once when it does not know the package."""
    argv = (*_APT, "--simulate", "install", name)
    ran = machine.run(argv, env=_QUIET)
    if ran.code != 0 and _UNKNOWN.search(ran.stderr.decode(errors="replace")):
        _run(machine, ("apt-get", "update"), _LISTS_S)
        ran = machine.run(argv, env=_QUIET)
    _check(ran)
    return ran


def _judge(name: str, plan: str, *, maintenance: bool) -> None:
    """Refuse upgrades (`Inst NAME [old] (new ...)`), removals, and delicate packages brought along.

    apt's own flag for this, --no-upgrade, only speaks of the packages that are named.
    """
    words = [line.split() for line in plan.splitlines()]
    installs = [row for row in words if row[:1] == ["Inst"] and len(row) > 1]
    upgraded = [row[1] for row in installs if row[2:3] and row[2].startswith("[")]
    removed = [row[1] for row in words if row[:1] == ["Remv"] and len(row) > 1]
    delicate = [row[1] for row in installs if _DELICATE.match(row[1])]
    if removed:
        raise ResourceError(f"package {name} would remove {_some(removed)}; install it by hand")
    if upgraded:
        raise ResourceError(f"package {name} would upgrade {_some(upgraded)}; install it by hand")
    if delicate and not maintenance:
        raise ResourceError(f"package {name} brings {_some(delicate)}: use --maintenance")


def _installed(machine: Machine, name: str) -> bool:
    """Read dpkg's own file: asking dpkg-query takes longer than everything else in a look."""
    status = machine.disk.read(_STATUS)
    if status is None:
        return machine.run(["rpm", "--query", "--quiet", name]).code == 0
    bare = name.partition(":")[0].encode()
    for paragraph in (b"\n" + status).split(b"\nPackage: " + bare + b"\n")[1:]:
        first = paragraph.partition(b"\n\n")[0]
        if re.search(rb"^Status: \S+ ok installed$", first, re.MULTILINE):
            return True
    return False


def _run(machine: Machine, argv: Iterable[str], deadline_s: int) -> None:
    _check(machine.run(tuple(argv), env=_QUIET, deadline_s=deadline_s))


def _check(ran: Ran) -> None:
    if ran.code == 0:
        return
    if ran.code is None:
        raise ResourceError(f"{ran.argv[0]} was not done after {ran.took_ms // 1000} s")
    said = [line for line in ran.stderr.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in said if line.startswith(("E:", "Error:"))] or said[-1:]
    raise ResourceError(f"{ran.argv[0]}: {errors[0] if errors else f'code {ran.code}'}")


def _only_in_maintenance(name: str) -> str:
    return f"package {name} touches kernel, driver or containers: use --maintenance"


def _some(names: List[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 # three are named
