"""What a real systemd starts is what was written: argv and environment, byte for byte."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.control.rendering.env_file import env_text
from headway.control.rendering.systemd_text import LONGEST_LINE, LONGEST_WORD, exec_start
from headway.control.rendering.unit_file import unit_text
from tests.lab.host import Host, HostSpec

pytestmark = pytest.mark.lab

PYTHON, DUMP = "/usr/bin/python3", "/opt/dump.py"
DUMPER = """\
import os, pathlib
for name in ("cmdline", "environ"):
    text = pathlib.Path("/proc/self", name).read_bytes()
    pathlib.Path("/opt/dumped", os.environ["DUMPED"] + "." + name).write_bytes(text)
"""
NASTY = "\\\"'$%{}()#;|&<>~*?[]=-@:+!,. \t\n\r\a\b\x01\x1b\x7f\x85\xa0é\u2028\ufeff\ufdd0\U0001f999"
PIECES = ("${HOME}", "$HOME", "$$", "%n", "%%", "\\x41", "\\n", "%i", "--x", "{{", "\\;", '""')
SEED = 20261130
UNITS = 24


def word(dice: random.Random) -> str:
    """Make a word of what is quoted, expanded, split or taken for a comment somewhere."""
    letters = [dice.choice((*NASTY, *PIECES, "a")) for _ in range(dice.randrange(6))]
    return "".join(letters)


def value(dice: random.Random) -> str:
    """Make a value that an environment can hold: no noncharacters."""
    return word(dice).replace("\ufdd0", "")


def dump(host: Host, lines: list[list[list[str]]], environments: list[dict[str, str]]) -> None:
    """Start a unit for each command line, which writes down what it was started with."""
    host.path("/opt/dumped").mkdir(parents=True)
    host.path(DUMP).write_text(DUMPER)
    for number, (rows, environment) in enumerate(zip(lines, environments, strict=True)):
        named = {"DUMPED": str(number), **environment}
        host.path(f"/opt/dumped/{number}.env").write_bytes(env_text(named).encode())
        service = {
            "Type": "oneshot",
            "EnvironmentFile": f"/opt/dumped/{number}.env",
            "ExecStart": exec_start([[PYTHON, DUMP], *rows]),
        }
        unit = host.path(f"/etc/systemd/system/dump-{number}.service")
        unit.write_bytes(unit_text({"Service": service}).encode())
    host.inside(["systemctl", "daemon-reload"])
    host.inside(["systemctl", "start", *(f"dump-{n}.service" for n in range(len(lines)))])


@pytest.mark.parametrize("recipe", ["bullseye", "bookworm", "trixie"])
def test_systemd_starts_the_very_words(hosts: Callable[..., list[Host]], recipe: str) -> None:
    """Random words of everything that is special to systemd, and the longest line it reads."""
    (host,) = hosts(HostSpec(recipe, recipe), fresh=True)
    dice = random.Random(SEED)  # noqa: S311 # no secret
    lines = [[[word(dice) for _ in range(4)] for _ in range(3)] for _ in range(UNITS)]
    lines.append([["x" * (LONGEST_WORD - 1)] for _ in range(LONGEST_LINE // (LONGEST_WORD + 8))])
    environments = [{f"V_{n}": value(dice) for n in range(5)} for _ in lines]
    dump(host, lines, environments)
    for number, (rows, environment) in enumerate(zip(lines, environments, strict=True)):
        argv = [PYTHON, DUMP, *(each for row in rows for each in row)]
        assert dumped(host, number, "cmdline") == [each.encode() for each in argv]
        found = dict(each.split(b"=", 1) for each in dumped(host, number, "environ"))
        kept = {name: text for name, text in found.items() if name.startswith(b"V_")}
        assert kept == {name.encode(): text.encode() for name, text in environment.items()}


def dumped(host: Host, number: int, what: str) -> list[bytes]:
    """Read what a unit was started with."""
    path = Path(host.path(f"/opt/dumped/{number}.{what}"))
    return path.read_bytes().removesuffix(b"\0").split(b"\0")
