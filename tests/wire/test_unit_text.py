"""What a unit of a release says of its process is read before any of it is written."""

from headway.wire.release import Part, SubjectSpec
from headway.wire.resources import Blob, DropIn, File, Unit
from headway.wire.unit_text import set_values, settings

TEXTS = {
    "unit": "[Unit]\nUser=nobody\n[Service]\n# User=x\nEnvironmentFile=-/etc/a.env\n"
    "Environment=A=1 \\\n  B=2\nEnvironmentFile=/etc/foreign.env\n",
    "dropin": "[Service]\nUser=engine\nEnvironmentFile=/etc/b.env\n",
    "a": 'NCCL_P2P_LEVEL="SYS"\nONLY="a b"\n',
    "b": 'NCCL_P2P_LEVEL="NVL"\n',
    "other": "[Service]\nUser=other\n",
}


def blob(name: str) -> Blob:
    """Name a text."""
    return Blob(name, len(TEXTS[name]))


PART = Part(
    "engine",
    "vllm",
    (
        File("/etc/a.env", blob("a")),
        File("/etc/b.env", blob("b")),
        File("/etc/unread.env", blob("other")),
        Unit("other.service", blob("other")),
        Unit("engine.service", blob("unit"), dropins=(DropIn("x.conf", blob("dropin")),)),
    ),
    subject=SubjectSpec("engine.service"),
)


def content(wanted: Blob) -> bytes | None:
    """Give a text's bytes."""
    return TEXTS[wanted.sha256].encode()


def test_settings_are_those_of_the_unit_that_is_judged() -> None:
    """[Service] alone, lines joined, drop-ins last; another unit of the part is another's."""
    assert settings(PART, content) == (
        ("EnvironmentFile", "-/etc/a.env"),
        ("Environment", "A=1    B=2"),
        ("EnvironmentFile", "/etc/foreign.env"),
        ("User", "engine"),
        ("EnvironmentFile", "/etc/b.env"),
    )


def test_values_are_those_of_the_files_that_it_reads() -> None:
    """The later file wins; one that no unit reads sets nothing."""
    assert set_values(PART, content) == {"NCCL_P2P_LEVEL": "NVL", "ONLY": "a b"}


def test_nothing_is_known_of_what_is_not_here() -> None:
    """A part without a subject, or bytes that were lost: no settings, no values."""
    assert settings(PART, lambda _blob: None) == ()
    assert set_values(Part("p", "r"), content) == {}
