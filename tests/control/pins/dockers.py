"""A double of Docker's command line: a shell script that keeps images as files of a folder.

Each image is a folder of its id with what `inspect` says and its bytes; names are links to it. Real
daemons load and save in the lab (tests/lab/test_pins.py).
"""

from pathlib import Path

from tests.control.doubles import LocalTransport

SCRIPT = """\
#!/bin/sh
cd "$(dirname "$0")/images" || exit 1
test -e down && { echo "Cannot connect to the Docker daemon" >&2; exit 1; }
case "$1 $2" in
"image inspect") cat "$6/said" 2>/dev/null || { echo "No such image: $6" >&2; exit 1; } ;;
"image ls") ls ;;
"image save") cat "$4/bytes"; test ! -e breaks || { echo "unexpected EOF" >&2; exit 1; } ;;
"image load")
    cat >new || exit 1
    test ! -e full || { echo "no space left on device" >&2; exit 1; }
    id=$(head -n 1 new)
    mkdir -p "$id" && mv new "$id/bytes" && echo "$id 70000 linux/amd64" >"$id/said" ;;
esac
"""


class Docker:
    """One machine's Docker."""

    def __init__(self, folder: Path) -> None:
        self.images = folder / "images"
        self.images.mkdir(parents=True)
        self.program = folder / "docker"
        self.program.write_text(SCRIPT)
        self.program.chmod(0o755)
        self.transport = self.at(folder)

    @staticmethod
    def at(folder: Path) -> LocalTransport:
        """Reach the Docker that lies there."""
        transport = LocalTransport(folder, {"docker": str(folder / "docker")})
        transport.damage = (b"\0\0\0", b"\0\0\0")  # nothing is
        return transport

    def has(self, image_id: str, ref: str = "", platform: str = "linux/amd64") -> None:
        """Keep an image, under a name, too."""
        place = self.images / image_id
        place.mkdir(exist_ok=True)
        (place / "bytes").write_bytes(f"{image_id}\n".encode() + b"x" * 200_000)
        (place / "said").write_text(f"{image_id} 150000 {platform}\n")
        if ref:
            name = self.images / ref
            name.parent.mkdir(parents=True, exist_ok=True)
            name.unlink(missing_ok=True)
            name.symlink_to(place)

    def is_(self, what: str) -> None:
        """Break: `down`, `full`, or `breaks` while it saves."""
        (self.images / what).touch()
