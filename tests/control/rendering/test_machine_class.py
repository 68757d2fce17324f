"""A host's class is declared once, read by every role, and refused where it does not fit."""

from pathlib import Path
from typing import Any

import pytest

from headway.control.errors import ConfigError
from headway.control.rendering.render import render
from headway.wire.env_text import environment
from tests.control.rendering.fleets import fleet, host

ROLE = """\
    defaults: {nccl: "{{ machine.nccl }}"}
    resources:
      - env_file:
          path: /etc/e.env
          values: "{{ {'CARDS': machine.cards, 'NAME': machine.name} | combine(nccl) }}"
    gates: [{ready: {machine: "{{ machine }}"}}]
    """
H200X2 = {
    "cards": 2,
    "card": "NVIDIA H200",
    "memory_mib": 143771,
    "p2p": True,
    "nccl": {"NCCL_P2P_LEVEL": "NVL"},
}


def rendered(tmp_path: Path, variables: dict[str, Any], **own: Any) -> tuple[dict[str, str], Any]:
    """Render the role on a host with these variables: its environment, what `ready` is asked."""
    made = render(fleet(tmp_path, {"roles/r/role.yaml": ROLE}), host({"r": "r"}, variables, **own))
    (content,) = made.blobs.values()
    return environment(content.decode()), made.gates[0].params["machine"]


def test_a_role_takes_what_the_class_declares(tmp_path: Path) -> None:
    """The environment has its variables, and `ready` holds the machine against all of it."""
    values, asked = rendered(tmp_path, {"class": "h200x2", "classes": {"h200x2": H200X2}})

    assert values == {"CARDS": "2", "NAME": "h200x2", "NCCL_P2P_LEVEL": "NVL"}
    assert asked == {"name": "h200x2", "driver": "", **H200X2}


def test_an_instance_may_need_something_else(tmp_path: Path) -> None:
    """What the inventory gives the role wins over the class."""
    variables = {"class": "h200x2", "classes": {"h200x2": H200X2}}

    values, _ = rendered(tmp_path, variables, nccl={"NCCL_P2P_DISABLE": 1})

    assert values["NCCL_P2P_DISABLE"] == "1"
    assert "NCCL_P2P_LEVEL" not in values


@pytest.mark.parametrize("variables", [{}, {"class": "h200x2"}])
def test_a_host_needs_no_declared_class(tmp_path: Path, variables: dict[str, Any]) -> None:
    """Nothing is declared, so that nothing is held against the machine."""
    values, asked = rendered(tmp_path, variables)

    assert values == {"CARDS": "0", "NAME": variables.get("class", "")}
    assert asked["p2p"] is None


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        (
            {"class": "h200", "classes": {"h200x2": H200X2}},
            "inventory/hosts.yaml:20: class 'h200' is declared nowhere; did you mean h200x2?",
        ),
        (
            {"class": "a", "classes": {"a": {"card": 2}}},
            "inventory/hosts.yaml:21: classes/a/card: wants text",
        ),
        (
            {"class": "a", "classes": {"a": {"gpus": 2}}},
            "inventory/hosts.yaml:21: classes/a/gpus: unknown key",
        ),
        ({"class": "a", "classes": {"a": [1]}}, "classes/a wants a mapping of cards, card"),
        ({"class": "a", "classes": ["a"]}, "classes wants a mapping"),
        ({"class": 5}, "class wants a word without a slash, got 5"),
    ],
)
def test_what_does_not_fit_is_an_error_at_its_line(
    tmp_path: Path, variables: dict[str, Any], problem: str
) -> None:
    """Before any host is touched."""
    with pytest.raises(ConfigError) as raised:
        rendered(tmp_path, variables)

    assert problem in str(raised.value)
