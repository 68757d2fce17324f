"""One file over HTTP, as a hub or any server with ranges gives it; cut, it goes on where it was.

The token goes to the server it is for and nowhere else: hubs send on to storage of others. Proxies
are those of the environment. What came is judged by its hash, so a range needs no ETag: storage
names the same bytes differently from one server to the next, and an ETag that differs would throw
away what is right.
"""

import http.client
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from typing import IO, Any, Optional

from headway.runner.fetching.pace import Pace
from headway.wire.resources import Fetch

TIMEOUT_S = 60
PAUSES_S = (1, 2, 4, 8, 15, 30)  # between tries that brought nothing
_SYNC_EACH = 256 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_AGAIN = {408, 425, 429, 500, 502, 503, 504}
_OK, _PARTIAL = 200, 206
_WHY = {
    401: "refused (401); the token is missing, wrong, or over",
    403: "refused (403); the token may not read it, or its terms were not accepted",
    404: "not there (404)",
    416: "the server does not know the rest of it (416)",
}


class FetchError(Exception):
    """A file does not come: why, and what to do."""


class _CutError(Exception):
    """Nothing more comes for now."""


class Download:
    """Fetches files of one server."""

    def __init__(self, how: Fetch, token: str, pace: Pace) -> None:
        self.how = how
        self.pace = pace
        self._token = token
        self._opener = urllib.request.build_opener(_Redirects)

    def url(self, name: str) -> str:
        """Say where a file is fetched from."""
        base = self.how.url
        return base + urllib.parse.quote(name) if base.endswith("/") else base

    def fill(self, name: str, path: str, size: int) -> None:
        """Bring the file at `path` to `size` bytes, from what is there on; or FetchError."""
        if not self.how.url.startswith(("http://", "https://")):
            raise FetchError("weights come over http:// or https:// alone")
        pauses = list(PAUSES_S)
        with open(path, "ab") as file:
            while file.tell() < size:
                before = file.tell()
                try:
                    self._more(name, file, size)
                except _CutError as cut:
                    if file.tell() > before:
                        pauses = list(PAUSES_S)
                    if not pauses:
                        raise FetchError(
                            f"{cut}, {len(PAUSES_S) + 1} times in a row; {file.tell()} of {size} "
                            "bytes came and stay, the next try goes on there"
                        ) from None
                    self.pace.look()
                    self.pace.sleep(pauses.pop(0))
            file.flush()
            os.fsync(file.fileno())

    def _more(self, name: str, file: IO[bytes], size: int) -> None:
        offset = file.tell()
        with self._asked(name, offset) as answer:
            if offset and answer.status != _PARTIAL:
                self._drop(file)
                offset = 0
            self._fits(answer, offset, size)
            self._pour(answer, file, size)
        if file.tell() < size:
            raise _CutError("the connection ended early")

    def _asked(self, name: str, offset: int) -> Any:  # noqa: ANN401 # urllib's answers have no type
        headers = {"Accept-Encoding": "identity", "User-Agent": "headway"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        request = urllib.request.Request(  # noqa: S310 # checked by `fill`
            self.url(name), headers=headers
        )
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            return self._opener.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _AGAIN:
                raise _CutError(f"the server answers {error.code}") from None
            raise FetchError(_WHY.get(error.code, f"the server answers {error.code}")) from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                why = error.reason.verify_message
                raise FetchError(f"its certificate is not trusted here: {why}") from None
            raise _CutError(_words(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:
            raise _CutError(_words(error)) from None

    def _fits(self, answer: Any, offset: int, size: int) -> None:  # noqa: ANN401
        length: Optional[str] = answer.headers.get("Content-Length")
        if length is not None and offset + int(length) != size:
            raise FetchError(
                f"the server has {offset + int(length)} bytes of it, {size} are pinned"
            )

    def _pour(self, answer: Any, file: IO[bytes], size: int) -> None:  # noqa: ANN401
        unsynced = 0
        while file.tell() < size:
            try:
                data = answer.read1(min(self.pace.chunk(), size - file.tell()))
            except (OSError, http.client.HTTPException) as error:
                raise _CutError(_words(error)) from None
            if not data:
                return
            file.write(data)
            unsynced += len(data)
            if unsynced >= _SYNC_EACH:
                # Engines keep their weights in the same page cache.
                file.flush()
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                unsynced = 0
            self.pace.came(len(data))

    def _drop(self, file: IO[bytes]) -> None:
        self.pace.came(-file.tell())
        file.seek(0)
        file.truncate()


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows, and shows the token again only to the very same server."""

    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302  # Python 3.11 knows it

    def redirect_request(  # noqa: PLR0913, PLR0917 # urllib's own
        self,
        req: urllib.request.Request,
        fp: Any,  # noqa: ANN401
        code: int,
        msg: str,
        headers: Any,  # noqa: ANN401
        newurl: str,
    ) -> Optional[urllib.request.Request]:
        """Make the next request."""
        code = 307 if code == 308 else code  # noqa: PLR2004
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get("Authorization")
        if new is not None and token and _server(newurl) == _server(req.full_url):
            new.add_unredirected_header("Authorization", token)
        return new


def _server(url: str) -> Any:  # noqa: ANN401 # a tuple to compare
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _words(error: object) -> str:
    """Say in half a sentence what was in the way."""
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return f"nothing came for {TIMEOUT_S} s"
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).lower()
