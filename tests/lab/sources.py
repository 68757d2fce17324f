"""Where this machine's apt gets Debian from, so that the repo need not name a mirror."""

from collections.abc import Iterator
from pathlib import Path

from tests.lab.command import LabError

KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
)


def apt_line(suite: str, here: str, etc_apt: Path = Path("/etc/apt")) -> str:
    """Return the apt source that gives `suite` from the mirror that gives this machine `here`."""
    for uri, suites, signed_by in [*_deb822(etc_apt), *_one_line(etc_apt)]:
        if here in suites:
            keyring = signed_by or next((str(ring) for ring in KEYRINGS if ring.exists()), "")
            option = f"[signed-by={keyring}] " if keyring.startswith("/") else ""
            return f"deb {option}{uri} {suite} main"
    raise LabError(f"{etc_apt}: no apt source offers {here}; the lab's root file systems need one")


def codename(os_release: Path = Path("/etc/os-release")) -> str:
    """Return this Debian's codename; another distribution is refused."""
    pairs = (line.split("=", 1) for line in os_release.read_text().splitlines() if "=" in line)
    fields = {key: value.strip('"') for key, value in pairs}
    if fields.get("ID") != "debian":
        raise LabError("the lab needs Debian (its hosts are Debian's); unit tests run anywhere")
    return fields["VERSION_CODENAME"]


def _deb822(etc_apt: Path) -> Iterator[tuple[str, list[str], str]]:
    for file in sorted(etc_apt.glob("sources.list.d/*.sources")):
        for stanza in file.read_text().split("\n\n"):
            fields = dict(
                line.split(": ", 1)
                for line in stanza.splitlines()
                if ": " in line and not line.startswith(("#", " "))
            )
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled") != "no":
                yield (
                    fields["URIs"].split()[0],
                    fields["Suites"].split(),
                    fields.get("Signed-By", ""),
                )


def _one_line(etc_apt: Path) -> Iterator[tuple[str, list[str], str]]:
    for file in [etc_apt / "sources.list", *sorted(etc_apt.glob("sources.list.d/*.list"))]:
        for line in file.read_text().splitlines() if file.exists() else []:
            words = line.split()
            if words[:1] == ["deb"]:
                plain = [word for word in words[1:] if "=" not in word and word not in "[]"]
                signed = [word for word in words if "signed-by=" in word]
                ring = signed[0].split("signed-by=")[1].rstrip("]") if signed else ""
                yield plain[0], [plain[1]], ring
