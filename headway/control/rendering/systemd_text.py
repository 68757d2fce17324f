"""systemd's quoting of command lines: ExecStart= written, one option a line, and read back.

The rules are systemd's own (config_parse_exec, extract_first_word, specifier_printf,
replace_env_argv; systemd.syntax and systemd.service say the same in prose). A test lets a real
systemd start what is written here and compares the argv byte for byte.
"""

import re
from collections.abc import Iterator, Sequence

from headway.control.rendering.unit_file import WHITESPACE, TextError, logical_lines

# systemd refuses a unit whose line, continuations joined, is longer (LONG_LINE_MAX), and the
# kernel refuses a single word longer than MAX_ARG_STRLEN.
LONGEST_LINE = 1024 * 1024 - len("ExecStart=")
LONGEST_WORD = 128 * 1024

_PLAIN = re.compile(r"[A-Za-z0-9_./:=@,+-]+")
_PROGRAM = re.compile(r"/[^\x00-\x1f\x7f\"'\\$]*[^\x00-\x1f\x7f\"'\\$/]")
_CARRIED = re.compile("[^\x00\ud800-\udfff]*")
_NAMED = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}
_UNNAMED = {"\\": "\\", '"': '"', "'": "'", "s": " "} | {c: text for text, c in _NAMED.items()}
_CODES = {"x": 2, "u": 4, "U": 8}


def exec_start(lines: Sequence[Sequence[str]]) -> str:
    r"""Write the value of ExecStart=, one option a line, so that systemd starts these very words.

    The first word is the program, an absolute path, so that no `@ - : + !` is read before it.
    Raises TextError for what no quoting can carry.
    """
    words = [word for line in lines for word in line]
    _check_program(words[0] if words else "")
    first, *rest = [" ".join(quote(word) for word in line) for line in lines if line]
    text = " \\\n    ".join([first, *rest])
    if len(text.encode()) > LONGEST_LINE:
        raise TextError(f"the command line is longer than systemd reads ({LONGEST_LINE} bytes)")
    return text


def quote(word: str) -> str:
    """Write one word of a command line: quoted, specifiers and variables switched off."""
    if not _CARRIED.fullmatch(word):
        raise TextError(f"{word!r} holds a NUL or half a surrogate pair; no argument can")
    if len(word.encode()) >= LONGEST_WORD:
        raise TextError(f"a word of {len(word)} characters; the kernel passes {LONGEST_WORD} bytes")
    doubled = word.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(word):
        return doubled
    return '"' + "".join(_escaped(character) for character in doubled) + '"'


def words(text: str) -> tuple[str, ...]:
    """Read a command line as systemd does: the argv it starts, `${VARIABLES}` left as they are.

    Raises TextError where systemd refuses the line.
    """
    joined = " ".join(line for _, line in logical_lines(text))
    return tuple(_undoubled(word) for word in _split(joined))


def _check_program(program: str) -> None:
    if not _PROGRAM.fullmatch(program) or "//" in program:
        raise TextError(
            f"the program {program!r} is no absolute path systemd takes: write /FOLDER/PROGRAM, "
            "without quotes, backslashes, $ or control characters"
        )


def _escaped(character: str) -> str:
    if character in _NAMED:
        return "\\" + _NAMED[character]
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _undoubled(word: str) -> str:
    return word.replace("%%", "%").replace("$$", "$")


def _split(text: str) -> Iterator[str]:
    place, end = 0, len(text)
    while True:
        while place < end and text[place] in WHITESPACE:
            place += 1
        if place == end:
            return
        word, place = _word(text, place)
        yield word


def _word(text: str, place: int) -> tuple[str, int]:
    found = bytearray()
    within = ""
    while place < len(text):
        character = text[place]
        place += 1
        if character == "\\":
            escape, place = _unescaped(text, place)
            found += escape
        elif within and character == within:
            within = ""
        elif not within and character in "\"'":
            within = character
        elif not within and character in WHITESPACE:
            return found.decode(errors="surrogateescape"), place
        else:
            found += character.encode()
    if within:
        raise TextError(f"the quote {within} is not closed")
    return found.decode(errors="surrogateescape"), place


def _unescaped(text: str, place: int) -> tuple[bytes, int]:
    letter = text[place : place + 1]
    if letter in _UNNAMED and letter:
        return _UNNAMED[letter].encode(), place + 1
    if letter in _CODES and letter:
        digits = text[place + 1 : place + 1 + _CODES[letter]]
        if re.fullmatch(f"[0-9a-fA-F]{{{_CODES[letter]}}}", digits):
            code = int(digits, 16)
            raw = bytes([code]) if letter == "x" else chr(code).encode()
            return raw, place + 1 + len(digits)
    octal = re.match(r"[0-3][0-7]{2}", text[place:])
    if octal:
        return bytes([int(octal[0], 8)]), place + len(octal[0])
    raise TextError(f"unknown escape \\{letter}")
