"""Docker images of the lab, cut from its own root file systems: engine, router, foreign.

The engine is the real llama-server, the router is Debian's HAProxy; each comes with the libraries
that it needs, busybox for a shell, and nothing else, so that a host takes them in within a second.
The model is no part of them: hosts have it in /opt/models. One stand-in: libggml-vulkan.so.0 says
that there is no graphics card (the real one has 50 MB, and lab hosts have no card).

Engine and router are there as v1 and v2, which share a layer and differ in a label and
/etc/release. `foreign` says that it is for arm64, and runs nowhere. The archive is what `docker
load` reads; ids and digests are the same on every host.
"""

import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lab import engine
from tests.lab.command import run
from tests.lab.recipes import SERVED, cached, layers

HERE = Path(__file__)
VERSIONS = ("v1", "v2")
ARCHIVE = "images.tar"
MADE = "2026-01-01T00:00:00Z"  # a fixed date: the same content has the same id
_SERVER = "llama-server"
_LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libgomp.so.1")
_LOADER = "lib64/ld-linux-x86-64.so.2"
_NO_CARDS = "void *ggml_backend_vk_reg(void) { return 0; }\n"
_MODES = {"mode": 0o755, "uid": 0, "gid": 0, "uname": "root", "gname": "root", "mtime": 0}


@dataclass(frozen=True)
class Image:
    """What an image runs, and how it is stopped."""

    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...] = ()
    stop_signal: str = "SIGTERM"
    architecture: str = "amd64"
    versions: tuple[str, ...] = VERSIONS


IMAGES: Mapping[str, Image] = {
    "engine": Image(("/opt/engine/llama-server",)),
    # as the official image of HAProxy has it: -W for a reload by SIGUSR2, SIGUSR1 to end softly
    "router": Image(
        ("/usr/sbin/haproxy",), ("-W", "-db", "-f", "/etc/haproxy/haproxy.cfg"), "SIGUSR1"
    ),
    "foreign": Image(("/bin/none",), architecture="arm64", versions=("v1",)),
}


def archive() -> Path:
    """Return the folder of the archive with every image in every version; build it once."""
    debian = layers("stacks")[-1]
    content = f"{debian.name} {engine.REQUIREMENT} {HERE.read_text()}"
    return cached("images", content, lambda folder: _build(debian, folder))


def _build(debian: Path, folder: Path) -> None:
    blobs: dict[str, bytes] = {}
    manifest = []
    roots = {"engine": _engine_root, "router": _router_root}
    for name, image in IMAGES.items():
        under = [_root_layer(debian, folder / name, roots[name])] if name in roots else []
        for version in image.versions:
            stack = (*under, _one_file("etc/release", f"{name} {version}\n"))
            config = _config(image, name, version, stack)
            names = [f"{_digest(data)}.tar" for data in stack]
            blobs.update(zip(names, stack, strict=True))
            blobs[f"{_digest(config)}.json"] = config
            manifest.append(
                {
                    "Config": f"{_digest(config)}.json",
                    "RepoTags": [f"lab/{name}:{version}"],
                    "Layers": names,
                }
            )
    blobs["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(folder / ARCHIVE, "w") as tar:
        for path, data in blobs.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def _root_layer(debian: Path, root: Path, fill: Callable[[Path, Path], None]) -> bytes:
    """Give a root as a layer: busybox and what is filled in; the folder is gone after."""
    _place(debian, root, "usr/bin/busybox", "bin/busybox")
    for word in ("sh", "cat", "ls", "sleep", "wget"):
        (root / "bin" / word).symlink_to("busybox")
    (root / "tmp").mkdir()
    fill(debian, root)
    layer = _layer(root)
    shutil.rmtree(root)
    return layer


def _engine_root(debian: Path, root: Path) -> None:
    """Unpack the server and its libraries from the wheel, without what is for graphics cards."""
    home = root / "opt/engine"
    home.mkdir(parents=True)
    with zipfile.ZipFile(engine.fetch_wheel(SERVED)) as wheel:
        for member in wheel.namelist():
            name = Path(member).name
            # each library is there three times, for want of symbolic links: its soname is enough
            if "/bin/" in member and (name.endswith((".so.0", "-impl.so")) or name == _SERVER):
                (home / name).write_bytes(wheel.read(member))
                (home / name).chmod(0o755)
    source = root / "none.c"
    source.write_text(_NO_CARDS)
    flags = ["-shared", "-fPIC", "-Wl,-soname,libggml-vulkan.so.0", "-Wl,--build-id=none"]
    run(["gcc", *flags, "-o", str(home / "libggml-vulkan.so.0"), str(source)])
    source.unlink()
    for library in _LIBRARIES:
        _place(debian, root, f"usr/lib/x86_64-linux-gnu/{library}")
    _place(debian, root, f"usr/{_LOADER}", _LOADER)


def _router_root(debian: Path, root: Path) -> None:
    program = "usr/sbin/haproxy"
    _place(debian, root, program)
    (root / "etc/haproxy").mkdir(parents=True)
    for row in run(["chroot", str(debian), "ldd", f"/{program}"]).splitlines():
        words = [word for word in row.split() if word.startswith("/")]
        for library in words:
            _place(debian, root, library.lstrip("/"))


def _place(debian: Path, root: Path, path: str, at: str = "") -> None:
    """Copy a file of the Debian, what a link leads to instead of a link."""
    target = root / (at or path)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(debian / path, target)


def _layer(root: Path) -> bytes:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        mode = entry.mode
        for field, value in _MODES.items():
            setattr(entry, field, value)
        entry.mode = 0o1777 if entry.name == "tmp" else mode
        return entry

    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for path in sorted(root.rglob("*")):
            tar.add(path, str(path.relative_to(root)), recursive=False, filter=plain)
    return held.getvalue()


def _one_file(path: str, text: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        entry = tarfile.TarInfo(path)
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    return held.getvalue()


def _config(image: Image, name: str, version: str, stack: tuple[bytes, ...]) -> bytes:
    made = {
        "created": MADE,
        "architecture": image.architecture,
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/sbin:/bin:/opt/engine"],
            "Entrypoint": list(image.entrypoint),
            "Cmd": list(image.cmd) or None,
            "Labels": {"lab.image": name, "lab.version": version},
            "StopSignal": image.stop_signal,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(data)}" for data in stack]},
        "history": [{"created": MADE, "created_by": f"lab {name}"} for _ in stack],
    }
    return json.dumps(made, sort_keys=True).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
