"""What is asked of Docker at the other end of a Transport: an image by its id, and its bytes.

An image is saved by its id, so the copy has the same id and no tag: nothing that has a name on the
target is moved to it.
"""

from dataclasses import dataclass

from headway.control.errors import HeadwayError, RefusedError
from headway.control.reaching.command import ran
from headway.control.reaching.transport import Transport

ASK_S = 60
LOADING = "headway-loads-an-image"
"""What the target says before it reads: until then sudo may ask for its password."""


@dataclass(frozen=True)
class Held:
    """An image that a Docker has: its id, its bytes uncompressed, its platform."""

    image_id: str
    size: int
    platform: str


def inspect_argv(ref: str) -> list[str]:
    """Ask for one image, by reference or id."""
    shown = "{{.Id}} {{.Size}} {{.Os}}/{{.Architecture}}"
    return ["docker", "image", "inspect", "--format", shown, "--", ref]


def save_argv(image_id: str) -> list[str]:
    """Write an image to standard output as a tar file."""
    return ["docker", "image", "save", "--", image_id]


def load_argv() -> list[str]:
    """Read such a file from standard input, and say before that it is about to."""
    return ["/bin/sh", "-c", f"echo {LOADING}; exec docker image load --quiet"]


def images_argv() -> list[str]:
    """Ask for the ids of all images, those without a name among them."""
    return ["docker", "image", "ls", "--all", "--quiet", "--no-trunc"]


def held(transport: Transport, ref: str, who: str) -> Held | None:
    """Look for an image; None where that Docker does not have it.

    RefusedError where there is no Docker to ask. `who` names the machine for messages.
    """
    done = ran(transport, inspect_argv(ref), ASK_S)
    words = done.stdout.decode(errors="replace").split()
    if done.code == 0 and len(words) == len(Held.__annotations__):
        return Held(words[0], int(words[1]), words[2])
    _ids(transport, who)
    return None


def lacking(transport: Transport, ids: tuple[str, ...], who: str) -> tuple[str, ...]:
    """Say which of these images that Docker does not have."""
    there = _ids(transport, who)
    return tuple(each for each in ids if each not in there)


def _ids(transport: Transport, who: str) -> frozenset[str]:
    """List what there is: a Docker that answers, and has not, is told from one that does not."""
    done = ran(transport, images_argv(), ASK_S)
    if done.code != 0:
        raise unanswered(who, done.code, done.stderr)
    return frozenset(done.stdout.decode(errors="replace").split())


def unanswered(who: str, code: int | None, said: bytes) -> HeadwayError:
    """Make the error of a docker command that failed: the last line that it said."""
    lines = said.decode(errors="replace").strip().splitlines()
    late = f"no answer within {ASK_S} s"
    why = late if code is None else lines[-1].strip() if lines else f"code {code}"
    return RefusedError(f"{who}: docker: {why}")
