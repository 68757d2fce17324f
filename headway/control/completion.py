"""Completion for bash and zsh: verbs, options, hosts, parts, releases and what else has a name.

The shell hands over the line up to the cursor and is given the words that may stand there.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from headway.control.desk import Desk
from headway.control.errors import HeadwayError
from headway.wire.phase import Exit

PROGRAMS = ("headway", "invoke", "inv")

BASH = """\
# headway: eval "$(headway completion --shell bash)" in ~/.bashrc
_headway() {
  local line="${COMP_LINE:0:COMP_POINT}" word="${COMP_WORDS[COMP_CWORD]}"
  local found
  found=$("${COMP_WORDS[0]}" completion --line "$line" 2>/dev/null ||
          "${COMP_WORDS[0]}" --complete -- "${COMP_WORDS[@]}" 2>/dev/null)
  [ "$word" = "=" ] || [ "$word" = ":" ] && word=""
  # bash cuts words at : and =, and wants only what comes behind them
  local last="${line##*[[:space:]]}" one
  local before="${last%%"$word"}"
  COMPREPLY=()
  for one in $found; do
    one="${one#"$before"}"
    [ "${one#"$word"}" != "$one" ] || [ -z "$word" ] && COMPREPLY+=("$one")
  done
}
complete -F _headway -o default %s
"""
ZSH = """\
# headway: eval "$(headway completion --shell zsh)" in ~/.zshrc, after compinit
_headway() {
  local -a found
  found=(${(f)"$(${words[1]} completion --line "${(j: :)words[1,CURRENT]}" 2>/dev/null ||
                 ${words[1]} --complete -- $words 2>/dev/null)"})
  compset -P '*='
  compadd -- $found || _files
}
compdef _headway %s
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}

OF_OPTION: Mapping[str, str] = {
    "--host": "hosts",
    "--part": "parts",
    "--to": "releases",
    "--rollout": "rollouts",
    "--gate": "gates",
    "--metric": "metrics",
    "--launch": "launches",
    "--inventory": "inventories",
    "--on-invalid": "on_invalid",
    "--shell": "shells",
}
"""What may stand behind an option, by what `Names` calls it."""

OF_PLACE = {"show": "releases_or_hosts", "diff": "releases_or_hosts"}
"""What may stand by its place behind a verb."""

Names = Callable[[str], Iterable[str]]


def completion(desk: Desk, shell: str, line: str) -> Exit:
    """Print a shell's script, or the words that may stand at the end of a line."""
    if line:
        words = candidates(line, _options(), lambda kind: _names(desk, kind))
        desk.print("\n".join(words))
    else:
        desk.print(SCRIPTS[shell] % " ".join(PROGRAMS))
    return Exit.ACCEPTED


def candidates(line: str, verbs: Mapping[str, Mapping[str, bool]], names: Names) -> list[str]:
    """Give the words that may stand at the end of a line, beginning as its last word does.

    `verbs` are their options, and whether each takes a value. Of a list with commas the last entry
    is completed; a `--option=` is left out of what is given, as shells want it.
    """
    *before, word = _words(line)
    verb = next((one for one in before[1:] if one in verbs), "")
    if not verb:
        return _begins(sorted(verbs), word)
    option, equals, rest = word.partition("=")
    if equals and option in OF_OPTION:
        return _listed(names(OF_OPTION[option]), rest)
    if verbs[verb].get(before[-1], False):
        return _listed(names(OF_OPTION[before[-1]]), word) if before[-1] in OF_OPTION else []
    if word.startswith("-") or verb not in OF_PLACE:
        return _begins(sorted(verbs[verb]), word)
    return _begins(names(OF_PLACE[verb]), word)


def _words(line: str) -> list[str]:
    """Cut a line as a shell does; one that ends in a blank ends in an empty word."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is still open: what stands in it is one word
        words = line.replace("'", "").replace('"', "").split()
    return [*words, ""] if line.endswith(" ") or len(words) == 1 else words


def _begins(names: Iterable[str], word: str) -> list[str]:
    return [name for name in names if name.startswith(word)]


def _listed(names: Iterable[str], word: str) -> list[str]:
    """Complete the last entry of a list; what stands before it stays."""
    cut = max(word.rfind(sign) for sign in ",:!&") + 1
    return [word[:cut] + name for name in names if name.startswith(word[cut:])]


def _options() -> dict[str, dict[str, bool]]:
    from headway.control.verbs import namespace

    return {
        name: {
            "--" + argument.names[0].replace("_", "-"): argument.takes_value
            for argument in namespace[name].get_arguments(ignore_unknown_help=True)
        }
        for name in namespace.task_names
    }


def _names(desk: Desk, kind: str) -> Sequence[str]:
    """Name what there is; of a fleet that does not read nothing, for Tab is no place to say so."""
    try:
        return tuple(dict.fromkeys(_KINDS[kind](desk)))
    except (HeadwayError, OSError):
        return ()


def _hosts(desk: Desk) -> Iterable[str]:
    groups = (group for host in desk.hosts for group in host.groups)
    return [host.name for host in desk.hosts] + sorted(set(groups)) + ["all"]


def _parts(desk: Desk) -> Iterable[str]:
    return sorted({one.name for host in desk.hosts for one in host.instances})


def _gates(desk: Desk) -> Iterable[str]:
    files = desk.fleet.names("checks")
    return [name.removesuffix(".py") for name in files if name.endswith(".py")]


def _releases(desk: Desk) -> Iterable[str]:
    from headway.control.telling import history

    past = history.past(history.path_of(desk.fleet), 50)
    return [host.release for one in past for host in one.hosts if host.release]


def _rollouts(desk: Desk) -> Iterable[str]:
    from headway.control.telling import history

    return [one.id for one in history.past(history.path_of(desk.fleet), 50)]


def _metrics(desk: Desk) -> Iterable[str]:
    from headway.control.telling import history

    seen = history.samples(history.path_of(desk.fleet))
    return sorted({name for one in seen for name in (one.gate, one.measurement.name)})


_KINDS: Mapping[str, Callable[[Desk], Iterable[str]]] = {
    "hosts": _hosts,
    "parts": _parts,
    "gates": _gates,
    "releases": _releases,
    "releases_or_hosts": lambda desk: [*(host.name for host in desk.hosts), *_releases(desk)],
    "rollouts": _rollouts,
    "metrics": _metrics,
    "launches": lambda _: ("current", "previous"),
    "inventories": lambda desk: desk.fleet.inventories(),
    "on_invalid": lambda _: ("hold", "return"),
    "shells": lambda _: tuple(SCRIPTS),
}
