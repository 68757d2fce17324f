"""What `ansible-inventory --list` answers, headway answers.

Each case in tests/cases/inventory/ holds the files of an inventory, and what ansible-core 2.19
said to `ansible-inventory -i FILE --list` (groups, hostvars) and to `ansible PATTERN -i FILE
--list-hosts` (selects).
"""

from pathlib import Path
from typing import Any

import pytest

from headway.control.inventory import Inventory, load
from tests.control.inventory.written import cases, fleet

CASES = cases("inventory")


def loaded(root: Path, case: dict[str, Any]) -> Inventory:
    """Write a case's files and read them."""
    return load(fleet(root, {f"inventory/{name}": text for name, text in case["files"].items()}))


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_every_host_has_the_variables_that_ansible_gives_it(
    case: dict[str, Any], tmp_path: Path
) -> None:
    """Precedence, types and file lookup are Ansible's."""
    inventory = loaded(tmp_path, case)

    answered = {
        host.name: {name: value.value for name, value in host.vars.items()}
        for host in inventory.select(["all"])
    }

    assert {name: values for name, values in answered.items() if values} == case["hostvars"]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_every_group_has_the_members_that_ansible_gives_it(
    case: dict[str, Any], tmp_path: Path
) -> None:
    """Hosts of their own and children, in the order of the file."""
    inventory = loaded(tmp_path, case)

    answered = {
        name: {
            **({"children": group.children} if group.children else {}),
            **({"hosts": group.hosts} if group.hosts and name != "all" else {}),
        }
        for name, group in inventory._tree.groups.items()
    }

    assert {name: group for name, group in answered.items() if group} == case["groups"]


SELECTS = [
    pytest.param(case, pattern, hosts, id=f"{name}-{pattern}")
    for name, case in CASES
    for pattern, hosts in case.get("selects", {}).items()
]


@pytest.mark.parametrize(("case", "pattern", "hosts"), SELECTS)
def test_a_pattern_selects_the_hosts_that_ansible_selects(
    case: dict[str, Any], pattern: str, hosts: list[str], tmp_path: Path
) -> None:
    """In the same order, too: it is the order of a rollout."""
    inventory = loaded(tmp_path, case)

    assert [host.name for host in inventory.select([pattern])] == hosts
