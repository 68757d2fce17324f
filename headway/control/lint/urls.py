"""URLs of OpenAI-compatible servers: a version too many, one too few, or the wrong end."""

import re

from headway.control.lint.finding import Hit, Hits

_TWICE = re.compile(r"/v1/+v1\b")
_BESIDE = re.compile(r"/v1/+(health|metrics|version|tokenize|detokenize|ping|props|slots)\b")
_BASE = re.compile(
    r"""\b(?:api_base|base_url|\w*OPENAI\w*(?:BASE_URL|API_BASE))["']?\s*[:=]\s*["']?(?P<url>https?://[^\s"',;}]+)""",
)
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|embeddings|models|responses)/*$")


def url_hits(text: str) -> Hits:
    """Find URLs that will answer 404 in any text file: templates, environments, router configs."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("#", ";", "//")):
            continue
        if twice := _TWICE.search(line):
            yield Hit(number, "url-version-twice", twice[0])
        if beside := _BESIDE.search(line):
            yield Hit(number, "url-not-below-version", beside[0])
        for base in _BASE.finditer(line):
            yield from _base(number, base["url"])


def _base(number: int, url: str) -> Hits:
    if _ENDPOINT.search(url):
        yield Hit(number, "base-url-with-endpoint", url)
    elif re.fullmatch(r"https?://[^/]+/*", url):
        yield Hit(number, "base-url-without-version", url)
    elif url.endswith("/v1/"):
        yield Hit(number, "base-url-ends-in-slash", url)
