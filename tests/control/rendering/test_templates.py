"""Text is rendered strictly; types are kept, and a secret stays one through whatever is done."""

from typing import Any

import pytest

from headway.control.errors import ConfigError
from headway.control.rendering.scope import Scope
from headway.control.rendering.templates import Templates
from headway.control.secrets import Secret
from tests.control.rendering.fleets import values

SECRET = "s3cret-value"  # noqa: S105 # the canary


def scope(variables: dict[str, Any], **fixed: Any) -> Scope:
    """Make a scope in which `key` is a secret."""
    templates = Templates(lambda name: ("included", name))
    return Scope(values({"key": Secret.of(SECRET, "vault.yaml:1"), **variables}), fixed, templates)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ port }}", 8080),
        ("  {{ port }}", "  8080"),
        ("http://x:{{ port }}/v1", "http://x:8080/v1"),
        ("{{ port + 1 }}", 8081),
        ("{{ flags }}", {"a": [1, True, None]}),
        ("{{ flags.a[1] }}", True),
        ("{{ {'a': {'b': port}} }}", {"a": {"b": 8080}}),
        ("{{ flags | combine({'b': 2}) }}", {"a": [1, True, None], "b": 2}),
        ("{{ name | quote }}", "'a b'"),
        ("{{ flags | to_json }}", '{"a":[1,true,null]}'),
        ("{{ 'of $HOME' | compose }}", '"of $$HOME"'),
        ("{{ {'a_b': 1, 'c': 'x'} | option_words }}", ["--a-b", "1", "-c", "x"]),
        ("{{ {'a_b': true} | option_words(dashes=false) }}", ["--a_b"]),
        ("{{ missing | default('x') }}", "x"),
        ("{% if port > 80 %}high{% endif %}", "high"),
        ("no braces", "no braces"),
    ],
)
def test_one_expression_keeps_its_type_and_text_is_text(text: str, value: Any) -> None:
    """Exactly one `{{ }}` gives the value itself."""
    found = scope({"port": 8080, "flags": {"a": [1, True, None]}, "name": "a b"}).render(
        text, values({"it": text})["it"]
    )
    assert found == value
    assert type(found) is type(value)


def test_variables_stand_in_variables() -> None:
    """A value is rendered when it is asked for, however deep its text lies."""
    found = scope(
        {
            "url": "{{ base }}/v1",
            "base": "http://{{ hosts[0].name }}",
            "hosts": [{"name": "{{ n }}"}],
        },
        n="g1",
    )
    assert found.get("url") == "http://g1/v1"


def test_what_nobody_asks_for_may_be_broken() -> None:
    """An inventory holds variables of many roles."""
    assert scope({"good": 1, "bad": "{{ nothing }}"}).get("good") == 1


def test_fixed_names_hold_braces_of_their_own() -> None:
    """A command line is no template, even when a chat template stands in it."""
    found = scope({"line": "{{ exec_start }}"}, exec_start="--chat '{{ x }}'")
    assert found.get("line") == "--chat '{{ x }}'"


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("{{ key }}", SECRET),
        ("Bearer {{ key }}", "Bearer " + SECRET),
        ("{{ 'Bearer ' ~ key }}", "Bearer " + SECRET),
        ("{{ key | upper }}", SECRET.upper()),
        ("{{ nested.inner[0] }}", SECRET),
        ("{% for k in nested.inner %}{{ k }}{% endfor %}", SECRET),
        ("{{ through }}", "x" + SECRET),
    ],
)
def test_a_secret_stays_one(text: str, opened: str) -> None:
    """No filter and no concatenation makes a secret printable."""
    found = scope({"nested": {"inner": ["{{ key }}"]}, "through": "x{{ key }}"}).render(
        text, values({"it": text})["it"]
    )
    assert isinstance(found, Secret)
    assert found.reveal() == opened


def test_neighbours_of_a_secret_stay_plain() -> None:
    """Naming a mapping that holds a secret does not make secrets of its other values."""
    found = scope({"env": {"K": "{{ key }}", "N": "4"}, "all": "{{ env }}"}).get("all")
    assert found["N"] == "4"
    assert found["K"].reveal() == SECRET


def test_doing_something_with_them_makes_secrets_of_all() -> None:
    """What an expression did to a secret cannot be known, so all of its text is one."""
    found = scope({"made": "{{ {'K': key ~ '!', 'N': 'n', 'P': 1} }}"}).get("made")
    assert [type(found[name]) for name in "KNP"] == [Secret, Secret, int]


def test_a_file_tells_which_secrets_went_in() -> None:
    """The whole file is secret then; its includes see the same variables."""
    filled = scope({"env": {"K": "{{ key }}"}}).file("{{ env.K }} {% include 'x' %}", "a.j2")
    assert filled.text == SECRET + " included"
    assert list(filled.secrets) == ["env.K"]
    assert scope({}).file("plain", "a.j2").secrets == {}


def test_an_error_never_shows_the_secret() -> None:
    """The message of what failed may quote its operands."""
    with pytest.raises(ConfigError) as caught:
        scope({}).render("{{ {}[key] }}", values({"it": ""})["it"])
    assert SECRET not in str(caught.value)
