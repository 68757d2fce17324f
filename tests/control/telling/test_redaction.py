"""What a host tells is shown without secrets, and in letters that every sink can write."""

import io
import sqlite3

from headway.control.secrets import Redactor
from headway.control.telling.ndjson import ndjson
from headway.control.telling.redaction import redacted, redacting
from headway.control.telling.story import Note


def test_a_secret_is_found_in_lists_and_keys() -> None:
    """Facts of a host are any JSON: lists and mappings within each other."""
    clean = redacted({"canary-1": ["a canary-1", ("canary-1",)], "n": 1}, Redactor(["canary-1"]))

    assert clean == {"***": ["a ***", ("***",)], "n": 1}


def test_a_name_that_is_no_utf_8_ends_no_sink() -> None:
    """SQLite and a strict stdout refuse a lone surrogate, which os.listdir gives."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    told: list[Note] = []

    def note(piece: object) -> None:
        assert isinstance(piece, Note)
        ndjson(out)(piece)
        told.append(piece)

    sink = redacting(note, Redactor())

    sink(Note("gpu1", "/etc/caf\udce9.conf is not of this release"))

    assert told == [Note("gpu1", "/etc/caf\\udce9.conf is not of this release")]
    with sqlite3.connect(":memory:") as database:
        assert database.execute("SELECT ?", (told[0].text,)).fetchone() == (told[0].text,)
    database.close()
