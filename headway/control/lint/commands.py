"""Exec lines: what is written for a shell, though systemd has none, and options given twice."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from headway.control.lint.scripts import kills_by_name
from headway.control.rendering.systemd_text import words
from headway.control.rendering.unit_file import TextError
from headway.wire import engines

Found = Iterator[tuple[str, str]]
"""Pairs of a rule and what it is about."""

_SHELL_WORD = re.compile(r"\|\|?|&&?|\d?>>?(?:&\d|\S*)|<\S*|`.*|.*\$\(.*")
_WHOLE_VARIABLE = re.compile(r"\$[A-Za-z_]\w*")
_PART_VARIABLE = re.compile(r"(?<!\$)\$[A-Za-z_]\w*")
_SPECIFIER = re.compile(r"%(.?)")
_SPECIFIERS = "aAbBcCdDEfgGhHiIjJlLmMnNopPqrRsStTuUvVwWxXyYzZ%"
_OF_TEMPLATES = "iI"
_SHELLS = ("sh", "bash", "dash", "zsh")
_SECRET_OPTION = re.compile(r"--?(?:\w+-)*(?:api-key|token|password|secret)(?:=.*)?")
_PROGRAMS = {"vllm": "vllm", "sglang": "sglang", "llama-server": "llama_cpp"}


def command_findings(text: str, unit: str) -> Found:
    """Judge the value of an Exec line as systemd will take it."""
    try:
        argv = words(text)
    except TextError as error:
        yield "exec-unreadable", str(error)
        return
    bare = argv[0].lstrip("@-:+!").rpartition("/")[2] if argv else ""
    if kills_by_name(" ".join(argv)):
        yield "kill-by-name", " ".join(argv)
    if bare not in _SHELLS:
        yield from _shell_words(argv[1:])
        yield from _variables(argv[1:])
    yield from _specifiers(text, unit)
    yield from argv_findings(argv[1:], engine_of(" ".join(argv[:4])))


def argv_findings(argv: tuple[str, ...], engine: str) -> Found:
    """Judge arguments as they are passed on, those of an engine ("" for none) by its options."""
    yield from _secrets(argv)
    yield from _options(argv, engine)


def engine_of(command: str) -> str:
    """Name the engine whose program stands in a command, "" for any other."""
    return next((name for program, name in _PROGRAMS.items() if program in command), "")


def _shell_words(argv: tuple[str, ...]) -> Found:
    for word in argv:
        if _SHELL_WORD.fullmatch(word):
            yield "exec-shell-word", word
        elif word == "#":
            yield "exec-comment", "#"


def _variables(argv: tuple[str, ...]) -> Found:
    for word in argv:
        if _WHOLE_VARIABLE.fullmatch(word):
            yield "exec-variable-split", word
        elif _PART_VARIABLE.search(word):
            yield "exec-variable-literal", word


def _specifiers(text: str, unit: str) -> Found:
    for found in _SPECIFIER.finditer(text):
        if found[1] == "" or found[1] not in _SPECIFIERS:
            yield "exec-percent", found[0]
        elif found[1] in _OF_TEMPLATES and "@" not in unit:
            yield "exec-instance-empty", found[0]


def _secrets(argv: tuple[str, ...]) -> Found:
    for word, following in pairwise((*argv, "")):
        value = word.partition("=")[2] or following
        if _SECRET_OPTION.fullmatch(word) and value and not value.startswith(("$", "-")):
            yield "secret-in-argv", word.partition("=")[0]


def _options(argv: tuple[str, ...], engine: str) -> Found:
    """Judge the options of a known engine: another program may want one several times."""
    if not engine:
        return
    long = engines.engine(engine).options
    given = [word.partition("=")[0] for word in argv if re.match(r"--?[A-Za-z]", word)]
    same = Counter(re.sub(r"^--no-", "--", long.get(name, name)) for name in given)
    yield from (("option-twice", name) for name, count in same.items() if count > 1)
    for name in given:
        if name.startswith("--") and name[1:] in long and name not in (*long, *long.values()):
            yield "option-one-dash", f"{name} (write {name[1:]}, or {long[name[1:]]})"
