"""The stand-in engine as one file for a host: `python3 FILE --port 8000 --set engine=sglang`.

Knobs come by --set, or as JSON in the variable STANDIN of a unit's environment. Python 3.9 and up.
"""

import io
import zipfile
from pathlib import Path

_PACKAGE = Path(__file__).parent / "standin"
_BEGIN = "import standin.__main__\n"


def write(path: Path) -> None:
    """Write the file; the same bytes each time."""
    sources = {f"standin/{one.name}": one.read_text() for one in sorted(_PACKAGE.glob("*.py"))}
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in {"__main__.py": _BEGIN, "standin/__init__.py": "", **sources}.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    path.write_bytes(raw.getvalue())
