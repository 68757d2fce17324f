"""Compose files are read as Compose reads them. Cases are data, held against Compose itself."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.control.errors import ConfigError
from headway.control.rendering.compose import (
    Project,
    ServiceText,
    bound_files,
    override_text,
    read,
)
from headway.control.rendering.interpolation import TemplateError, fill, has_default
from headway.control.rendering.shell_words import ENDS, SplitError, split

CASES = Path(__file__).parents[2] / "cases" / "compose"


def cases(file: str) -> dict[str, dict[str, Any]]:
    """Read the cases of one kind."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((CASES / file).read_text())
    return found


PROJECTS = cases("projects.yaml")
TEXTS = cases("interpolation.yaml")
COMMANDS = cases("commands.yaml")
FILES = {name for name in PROJECTS if "error" not in PROJECTS[name]}


def project(case: dict[str, Any]) -> Project:
    """Read a case's files, named a.yaml, b.yaml and so on."""
    env = {name: "yes" if text is True else str(text) for name, text in case.get("env", {}).items()}
    return read(
        [(f"{name}.yaml", text) for name, text in zip("abc", case["files"], strict=False)], env
    )


def plain(value: Any) -> Any:
    """Give tuples and mappings as YAML has them."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", sorted(FILES))
def test_projects(name: str) -> None:
    """Merged over one another, variables in place, every key with its line."""
    case = PROJECTS[name]
    made = project(case)

    for service, fields in case["want"].items():
        got = asdict(made.services[service])
        assert {key: plain(got[key]) for key in fields} == fields
    assert made.name == case.get("name", "")
    assert [f"{one.variable} {one.where}" for one in made.unset] == case.get("unset", [])
    for path, where in case.get("at", {}).items():
        assert made.at(*path.split()) == where


@pytest.mark.parametrize("name", sorted(PROJECTS.keys() - FILES))
def test_what_is_not_read(name: str) -> None:
    """The line, what is wrong with it, and nothing of ours."""
    with pytest.raises(ConfigError) as caught:
        project(PROJECTS[name])
    assert str(caught.value).startswith(PROJECTS[name]["error"])


@pytest.mark.parametrize("name", TEXTS)
def test_interpolation(name: str) -> None:
    """Variables, defaults, replacements and dollars."""
    case = TEXTS[name]
    env = {"E": "", "G": "g"}
    if "error" in case:
        with pytest.raises(TemplateError) as caught:
            fill(case["text"], env)
        assert str(caught.value) == case["error"]
        return
    filled = fill(case["text"], env)
    assert filled.text == case["value"]
    assert list(filled.unset) == case.get("unset", [])
    assert list(filled.defaults) == case.get("defaults", [])


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str) -> None:
    """A string is split by no shell, and what stands behind ; & | < > is gone."""
    case = COMMANDS[name]
    if "error" in case:
        with pytest.raises(SplitError) as caught:
            split(case["text"])
        assert str(caught.value) == case["error"]
        return
    found = split(case["text"])
    assert list(found.words) == case["words"]
    assert found.lost == case.get("lost", "")


@given(st.lists(st.text(st.sampled_from("ab-=1.;&|<>#\"'"), min_size=1), max_size=6))
def test_words_in_quotes_come_back(words: list[str]) -> None:
    """What stands in quotes is passed on as it is."""
    text = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)
    assert split(text).words == tuple(words)


@given(st.text(st.sampled_from("ab $#\\" + ENDS)))
def test_words_and_loss_add_up(text: str) -> None:
    """What is lost is the end of the text, from a sign on."""
    try:
        found = split(text)
    except SplitError:
        return
    assert text.endswith(found.lost)
    assert found.lost[:1] in ("", *ENDS)


@given(st.text(), st.dictionaries(st.sampled_from(["A", "B"]), st.text()))
def test_a_doubled_dollar_is_a_dollar(text: str, env: dict[str, str]) -> None:
    """What headway writes into an override comes back whatever variables there are."""
    assert fill(text.replace("$", "$$"), env).text == text


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("${A:-b}", True),
        ("r:${A-b}", True),
        ("$${A:-b}", False),
        ("$$${A:-b}", True),
        ("${A:?b-c}", False),
        ("${A}", False),
        ("$A:-b", False),
    ],
)
def test_a_default_is_seen_in_the_text(text: str, *, has: bool) -> None:
    """Also where the variable is given today."""
    assert has_default(text) is has


def test_the_override_is_the_same_whatever_the_order() -> None:
    """Its bytes are part of a release: they change with what it says, and with nothing else."""
    pins = {"b": "r/b@sha256:1", "a": "r/a@sha256:2"}
    labels = {"a": {"y": "1", "x": "a: $b # \"c\" 'ä'"}, "c": {}}

    text = override_text(pins, labels)

    assert text == override_text(dict(reversed(pins.items())), dict(reversed(labels.items())))
    assert text == (
        "# Written by headway: images as they are pinned, and labels. Changes here are lost.\n"
        "services:\n"
        '  "a":\n'
        '    image: "r/a@sha256:2"\n'
        "    labels:\n"
        '      "x": "a: $$b # \\"c\\" \'ä\'"\n'
        '      "y": "1"\n'
        '  "b":\n'
        '    image: "r/b@sha256:1"\n'
        '  "c": {}\n'
    )


_words = st.text(st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=0xFFFF))


@given(st.dictionaries(_words, _words), st.dictionaries(_words, _words))
def test_the_override_says_what_it_was_given(pins: dict[str, str], labels: dict[str, str]) -> None:
    """Read over any file it gives these images and labels, whatever is in them."""
    services = {"s" + name: image for name, image in pins.items()}
    own = {"s": {"l" + name: value for name, value in labels.items()}}

    made = read([("o.yaml", override_text(services, own))], {"A": "x"})

    assert {name: one.image for name, one in made.services.items() if one.image} == {
        name: image for name, image in services.items() if image
    }
    assert made.services["s"].labels == own["s"]


def test_profiles_choose_services() -> None:
    """A service without profiles is always there."""
    text = (
        "services: {a: {image: a}, b: {image: b, profiles: [p, q]}, c: {image: c, profiles: [r]}}"
    )
    made = read([("a.yaml", text)], {})

    assert made.enabled(()) == ("a",)
    assert made.enabled({"q"}) == ("a", "b")
    assert made.enabled({"*"}) == ("a", "b", "c")


def test_a_service_mounts_files_and_folders_above_them() -> None:
    """Relative sources start from the project's folder; a name that only begins alike is none."""
    binds = ("./conf", "../up.cfg", "/srv/models/", "~/keys")
    paths = {
        "/opt/p/conf/a/b.yaml",
        "/opt/p/conf",
        "/opt/p/conf.bak",
        "/opt/p/other",
        "/opt/up.cfg",
        "/srv/models/m/config.json",
        "/root/keys/k",
    }
    found = bound_files(ServiceText("a", binds=binds), "/opt/p", paths)
    assert set(found) == paths - {"/opt/p/conf.bak", "/opt/p/other"}
    assert list(found) == sorted(found)
    assert bound_files(ServiceText("a", binds=("/",)), "/opt/p", {"/etc/x"}) == ("/etc/x",)
