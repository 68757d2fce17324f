"""A stand-in for a Hugging Face hub and the storage it sends on to, for tests without a network.

Speaks what the real client library asks: /api/models/REPO/revision/REV, .../tree/REV, and
/REPO/resolve/REV/FILE, where large files answer with a redirect to another server, which knows
ranges and refuses a token, as object stores do. tests/lab/test_hub.py proves it against the real
client. What was asked is kept; it can be cut, silent or gone.
"""

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".safetensors", ".gguf", ".bin")
_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Asked:
    """One request: "hub" or "storage", and what of its headers matters."""

    server: str
    method: str
    path: str
    range: str
    authorization: str


@dataclass
class Repository:
    """Files by commit, commits by branch; `token` lets in to it, "" is public."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    token: str = ""
    gated: bool = False


@dataclass
class Hub:
    """Two servers on one address; used as a context manager."""

    address: str = "127.0.0.1"
    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    cut_after: int | None = None
    """Bytes of a large file after which the connection is closed, each time."""
    down: bool = False
    """The storage answers 503."""

    def __enter__(self) -> Self:
        """Listen on two free ports."""
        self._servers = [
            ThreadingHTTPServer((self.address, 0), _handler(self, kind))
            for kind in ("hub", "storage")
        ]
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def url(self) -> str:
        """Give what a client calls its endpoint."""
        return f"http://{self.address}:{self._servers[0].server_port}"

    @property
    def storage(self) -> str:
        """Say where large files are sent on to."""
        return f"http://{self.address}:{self._servers[1].server_port}"

    def publish(self, repo: str, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Commit these files as the newest revision of a branch; give the commit."""
        names = "".join(f"{name} {blob_id(data)}\n" for name, data in sorted(files.items()))
        commit = hashlib.sha1(names.encode()).hexdigest()  # noqa: S324 # as git's are
        repository = self.repositories.setdefault(repo, Repository())
        repository.commits[commit] = dict(files)
        repository.branches[branch] = commit
        return commit

    def of(self, server: str) -> list[Asked]:
        """Give what one of the servers was asked."""
        return [one for one in self.asked if one.server == server]


def blob_id(data: bytes) -> str:
    """Hash bytes as git names them."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 # git's


def sibling(name: str, data: bytes) -> dict[str, Any]:
    """Describe a file as the hub does with ?blobs=true."""
    row: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob_id(data)}
    if name.endswith(LARGE):
        digest = hashlib.sha256(data).hexdigest()
        row["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134}
    return row


def _handler(hub: Hub, kind: str) -> type[BaseHTTPRequestHandler]:
    class Bound(_Hub if kind == "hub" else _Storage):  # type: ignore[misc]
        state = hub
        name = kind

    return Bound


class _Speaker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Hub
    name = ""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range", ""), self.headers.get("Authorization", "")
        path = unquote(urlsplit(self.path).path)
        self.state.asked.append(Asked(self.name, self.command, path, *asked))
        self.answer(path)

    do_HEAD = do_GET  # noqa: N815 # the library's name

    def answer(self, path: str) -> None:
        raise NotImplementedError

    def say(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status: int, code: str, message: str) -> None:
        self.say(status, {"X-Error-Code": code, "X-Error-Message": message})


class _Hub(_Speaker):
    def answer(self, path: str) -> None:
        steps = path.strip("/").split("/")
        if steps[:2] == ["api", "models"]:
            repo, (verb, revision) = "/".join(steps[2:4]), (*steps[4:6], "revision", "main")[:2]
        elif steps[2:3] == ["resolve"]:
            repo, verb, revision = "/".join(steps[:2]), *steps[2:4]
        else:
            self.say(404, {})
            return
        repository = self.state.repositories.get(repo)
        given = self.headers.get("Authorization", "")
        let_in = repository and (not repository.token or given == f"Bearer {repository.token}")
        if repository is None or not let_in:
            gated = repository is not None and repository.gated
            code = "GatedRepo" if gated else "RepoNotFound"
            self.refuse(401, code, "Invalid username or password.")
            return
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        files = repository.commits[commit]
        if verb == "revision":
            self._info(repo, commit, files)
        elif verb == "tree":
            self._tree(files)
        else:
            self._resolve(repo, commit, files, "/".join(steps[4:]))

    def _info(self, repo: str, commit: str, files: Mapping[str, bytes]) -> None:
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        rows = [sibling(name, data) for name, data in sorted(files.items())]
        if not blobs:
            rows = [{"rfilename": row["rfilename"]} for row in rows]
        about = {"id": repo, "modelId": repo, "sha": commit, "siblings": rows, "private": False}
        self._json({**about, "gated": False, "disabled": False, "tags": [], "downloads": 0})

    def _tree(self, files: Mapping[str, bytes]) -> None:
        rows = []
        for name, data in sorted(files.items()):
            row = sibling(name, data)
            lfs = {"oid": row["lfs"]["sha256"], **row["lfs"]} if "lfs" in row else None
            entry = {"type": "file", "path": name, "size": len(data), "oid": row["blobId"]}
            rows.append({**entry, **({"lfs": lfs} if lfs else {})})
        self._json(rows)

    def _resolve(self, repo: str, commit: str, files: Mapping[str, bytes], name: str) -> None:
        if name not in files:
            self.refuse(404, "EntryNotFound", "Entry not found")
            return
        data = files[name]
        about = {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if not name.endswith(LARGE):
            self.say(200, {**about, "ETag": f'"{blob_id(data)}"'}, data)
            return
        digest = hashlib.sha256(data).hexdigest()
        linked = {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{digest}"'}
        location = f"{self.state.storage}/{repo}/{commit}/{name}?X-Signature=abc"
        self.say(302, {**about, **linked, "Location": location})

    def _json(self, value: object) -> None:
        self.say(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


class _Storage(_Speaker):
    def answer(self, path: str) -> None:
        owner, repo, commit, *rest = path.strip("/").split("/")
        data = self.state.repositories[f"{owner}/{repo}"].commits[commit]["/".join(rest)]
        if self.headers.get("Authorization"):
            self.say(400, {}, b"Only one auth mechanism allowed")
            return
        if self.state.down:
            self.say(503, {"Retry-After": "1"})
            return
        start = 0
        headers = {"Content-Length": str(len(data)), "ETag": '"storage-names-it-so"'}
        asked = self.headers.get("Range", "")
        if asked:
            start = int(asked.removeprefix("bytes=").rstrip("-").split("-")[0])
            if start >= len(data):
                self.say(416, {"Content-Range": f"bytes */{len(data)}"})
                return
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            headers["Content-Length"] = str(len(data) - start)
        self.send_response(206 if asked else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self._pour(data[start:])

    def _pour(self, data: bytes) -> None:
        limit = self.state.cut_after
        whole = data if limit is None else data[:limit]
        for offset in range(0, len(whole), _CHUNK):
            self.wfile.write(whole[offset : offset + _CHUNK])
        if len(whole) < len(data):
            self.close_connection = True
