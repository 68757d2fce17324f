"""Hosts are made when they are selected, and every value knows where it was written."""

from pathlib import Path

import pytest

from headway.control.errors import ConfigError
from headway.control.inventory import Inventory, load
from headway.control.inventory.connection import HONOURED, INSTEAD
from headway.control.inventory.report import explain, inventory_json, inventory_text
from headway.control.secrets import MASK
from tests.control.inventory.written import fleet

FILES = {
    "inventory/hosts.yaml": """\
all:
  vars: {tz: UTC}
  children:
    engines:
      hosts:
        gpu[1:2]:
        gpu1: {ansible_host: 10.0.0.1, ansible_port: 2222}
      vars:
        class: h200x8
        roles: [gpu_host]
    h200:
      hosts: {gpu1: }
""",
    "inventory/group_vars/all.yml": """\
tz: Europe/Berlin
hf_token: !secret {env: HW_TEST_ABSENT}
ansible_become: yes
ansible_become_password: hunter22
""",
    "inventory/group_vars/h200.yml": """\
roles:
  - role: vllm
    name: chat
    port: 8001
    options:
      max_model_len: 4096
""",
    "inventory/host_vars/gpu1/main.yml": """\
tz: Asia/Tokyo
roles: [{role: vllm, name: embed}]
""",
}


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """Two engines, one of them with everything."""
    return load(fleet(tmp_path, FILES))


def test_connection_variables_become_the_hosts_own(inventory: Inventory) -> None:
    """What is not said is left to ~/.ssh/config."""
    gpu1, gpu2 = inventory.select(["engines"])

    assert (gpu1.address, gpu1.port, gpu1.user, gpu1.key_file) == ("10.0.0.1", 2222, None, None)
    assert (gpu2.address, gpu2.port) == ("gpu2", None)
    assert (gpu1.become, gpu1.become_user) == (True, "root")


def test_a_password_in_the_open_is_a_secret_all_the_same(tmp_path: Path) -> None:
    """It is never shown, and the fleet's redactor knows it."""
    written = fleet(tmp_path, FILES)
    (host,) = load(written).select(["gpu1"])

    assert host.become_password is not None
    assert host.become_password.reveal() == "hunter22"
    assert "hunter22" not in repr(host.become_password)
    assert written.secrets.redactor.text("hunter22") == MASK


def test_roles_add_up_from_parents_to_the_host(inventory: Inventory) -> None:
    """A host that names a role keeps those of its groups."""
    gpu1, gpu2 = inventory.select(["engines"])

    assert [(one.name, one.role) for one in gpu1.instances] == [
        ("gpu_host", "gpu_host"),
        ("chat", "vllm"),
        ("embed", "vllm"),
    ]
    assert [one.name for one in gpu2.instances] == ["gpu_host"]
    assert gpu1.instance("chat") is gpu1.instances[1]
    assert gpu2.instance("chat") is None


def test_an_instance_has_variables_of_its_own_with_their_lines(inventory: Inventory) -> None:
    """Down to the option, as an error about it must name it."""
    (gpu1,) = inventory.select(["gpu1"])
    chat = gpu1.instances[1]

    assert {name: value.value for name, value in chat.vars.items()} == {
        "port": 8001,
        "options": {"max_model_len": 4096},
    }
    assert chat.where == "inventory/group_vars/h200.yml:2"
    assert chat.vars["port"].where == "inventory/group_vars/h200.yml:4"
    assert chat.vars["options"].at("max_model_len") == "inventory/group_vars/h200.yml:6"
    assert chat.vars["options"].at("absent") == "inventory/group_vars/h200.yml:5"


def test_a_value_remembers_what_it_won_over(inventory: Inventory) -> None:
    """Newest first: that is the order in which somebody looks for the surprise."""
    (gpu1,) = inventory.select(["gpu1"])

    zone = explain(gpu1)["tz"]

    assert (zone.value, zone.where) == ("Asia/Tokyo", "inventory/host_vars/gpu1/main.yml:1")
    assert [(old.value, old.where) for old in zone.overridden] == [
        ("Europe/Berlin", "inventory/group_vars/all.yml:1"),
        ("UTC", "inventory/hosts.yaml:2"),
    ]


def test_values_in_ini_have_lines_too(tmp_path: Path) -> None:
    """Each line of the file is one."""
    files = {"inventory/hosts.ini": "[g]\na x=1\n[g:vars]\ny=2\n"}
    (host,) = load(fleet(tmp_path, files)).select(["g"])

    assert host.vars["x"].where == "inventory/hosts.ini:2"
    assert host.vars["y"].where == "inventory/hosts.ini:4"


def test_only_the_files_of_selected_hosts_are_read(tmp_path: Path) -> None:
    """Another host's broken file does not stop tonight's rollback."""
    broken = {"inventory/host_vars/gpu2.yml": "a: [\n"}
    inventory = load(fleet(tmp_path, {**FILES, **broken}))

    assert inventory.select(["gpu1"])[0].name == "gpu1"
    with pytest.raises(ConfigError, match=r"^inventory/host_vars/gpu2\.yml:2: not YAML"):
        inventory.select(["gpu2"])


def test_a_connection_variable_may_be_a_template(tmp_path: Path) -> None:
    """Whole fleets are addressed by one line in group_vars/all."""
    files = {
        "inventory/hosts.yaml": "all: {hosts: {gpu1.rack2: }, vars: {domain: 'lan'}}\n",
        "inventory/group_vars/all.yml": (
            "ansible_host: '{{ inventory_hostname_short }}.{{ domain }}'\n"
            "ansible_port: '{{ 22 }}'\n"
        ),
    }
    (host,) = load(fleet(tmp_path, files)).select(["all"])

    assert (host.address, host.port) == ("gpu1.lan", 22)


def test_what_counts_for_nothing_is_named(tmp_path: Path) -> None:
    """A connection variable of Ansible's that we do not heed, and files of no group or host."""
    files = {
        **FILES,
        "inventory/group_vars/engnes.yml": "a: 1\n",
        "inventory/host_vars/gpu9": "a: 1\n",
        "inventory/host_vars/gpu2.yml": "ansible_ssh_common_args: -J jump\nansible_odd: 1\n",
    }
    found = load(fleet(tmp_path, files)).unheeded()

    assert [(one.where, one.problem) for one in found] == [
        (
            "inventory/host_vars/gpu2.yml:1",
            "ansible_ssh_common_args is not heeded: write ProxyJump and such to ~/.ssh/config",
        ),
        (
            "inventory/host_vars/gpu2.yml:2",
            "ansible_odd is not heeded: headway does not know it",
        ),
        ("inventory/group_vars/engnes.yml", "speaks for no group of the inventory"),
        ("inventory/host_vars/gpu9", "speaks for no host of the inventory"),
    ]


def test_no_variable_is_both_heeded_and_refused() -> None:
    """The two tables are one decision."""
    assert not set(HONOURED) & set(INSTEAD)


def test_the_report_for_people_shows_places_and_no_secret(inventory: Inventory) -> None:
    """A line a value, what it won over below it, instances at the end."""
    text = inventory_text(inventory.select(["gpu1"]))

    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["gpu1", "ssh", "10.0.0.1:2222,", "sudo", "to", "root"]
    assert lines[1] == ["groups:", "engines,", "h200"]
    assert ["hf_token", "***", "inventory/group_vars/all.yml:2"] in lines
    zone = lines.index(["tz", "Asia/Tokyo", "inventory/host_vars/gpu1/main.yml:1"])
    assert lines[zone + 1] == ["<", "Europe/Berlin", "inventory/group_vars/all.yml:1"]
    assert ["chat:", "role", "vllm", "inventory/group_vars/h200.yml:2"] in lines
    assert not [line for line in lines if line[:1] == ["roles"]]


def test_the_report_for_programs_says_the_same(inventory: Inventory) -> None:
    """Plain JSON values; a secret is ***, and its source is not asked."""
    host = inventory_json(inventory.select(["gpu1"]))[0]

    assert (host["name"], host["address"], host["groups"]) == (
        "gpu1",
        "10.0.0.1",
        ["engines", "h200"],
    )
    assert host["vars"]["hf_token"]["value"] == MASK
    assert host["vars"]["tz"]["overridden"][1] == {
        "value": "UTC",
        "where": "inventory/hosts.yaml:2",
    }
    assert host["instances"][1]["vars"]["port"]["value"] == 8001


def test_names_and_groups_can_be_listed(inventory: Inventory) -> None:
    """For completion, floors and `status`."""
    assert inventory.names == ("gpu1", "gpu2")
    assert inventory.groups["engines"] == ("gpu1", "gpu2")
    assert inventory.groups["h200"] == ("gpu1",)
