"""The lab's package index: a folder of wheels, served to hosts that have no way out.

Speaks PEP 503 over HTTP on the bridge. Started by the lab as a process of its own.
"""

import hashlib
import sys
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 8077


class Index(SimpleHTTPRequestHandler):
    """Lists what the folder has of one project under /simple/NAME/; files lie under /."""

    def do_GET(self) -> None:
        """Answer a project's page, or a file."""
        parts = self.path.strip("/").split("/")
        if parts[0] != "simple":
            super().do_GET()
            return
        project = parts[1] if len(parts) > 1 else ""
        page = "".join(
            f'<a href="/{file.name}#sha256={_sha256(file)}">{file.name}</a>\n'
            for file in sorted(Path(self.directory).glob("*.whl"))
            if _normal(file.name.split("-")[0]) == project
        ).encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


@cache
def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(folder: str, address: str) -> None:
    """Serve a folder until told to stop."""
    handler = partial(Index, directory=folder)
    ThreadingHTTPServer((address, PORT), handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
