"""What a part's unit says of how its process is started: [Service] settings, and its environment.

Read out of the release, so that it can be known before any of it is written.
"""

from typing import Callable, Dict, Iterator, Optional, Tuple

from headway.wire.env_text import environment
from headway.wire.release import Part
from headway.wire.resources import Blob, File, Unit

Content = Callable[[Blob], Optional[bytes]]
"""Gives the bytes of a blob, None where they are not here."""
Setting = Tuple[str, str]


def settings(part: Part, content: Content) -> Tuple[Setting, ...]:
    """Give key and value of each [Service] setting of the unit that is judged, drop-ins last."""
    name = part.subject.unit if part.subject else ""
    units = [one for one in part.resources if isinstance(one, Unit) and one.name == name]
    blobs = [blob for unit in units for blob in (unit.fragment, *(d.blob for d in unit.dropins))]
    return tuple(one for blob in blobs for one in _service((content(blob) or b"").decode()))


def set_values(part: Part, content: Content) -> Dict[str, str]:
    """Give the variables that the part's own environment files set; later files win."""
    own = {one.path: one.blob for one in part.resources if isinstance(one, File)}
    found: Dict[str, str] = {}
    for key, value in settings(part, content):
        path = value.lstrip("-")
        if key == "EnvironmentFile" and path in own:
            found.update(environment((content(own[path]) or b"").decode()))
    return found


def _service(text: str) -> Iterator[Setting]:
    section = ""
    for row in text.replace("\\\n", " ").splitlines():
        line = row.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line[:1] not in ("", "#", ";"):
            key, equals, value = line.partition("=")
            if equals:
                yield key.strip(), value.strip()
