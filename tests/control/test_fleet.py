"""A fleet's own files come first, built-in ones second, and which inventory is never a guess."""

from pathlib import Path

import pytest

from headway.control.errors import ConfigError, UsageError
from headway.control.fleet import VARIABLE, Fleet, builtin, find


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def hosts(path: Path) -> Path:
    """Write an inventory file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("all:\n  hosts: {gpu1: }\n")
    return path


def test_the_nearest_folder_with_an_inventory_or_tasks_is_the_fleet(tmp_path: Path) -> None:
    """Verbs work from any folder within a fleet, as git does."""
    (tmp_path / "tasks.py").touch()
    deep = tmp_path / "roles" / "vllm"
    deep.mkdir(parents=True)

    assert find(deep).root == tmp_path


def test_no_fleet_is_an_error_that_says_what_is_looked_for(tmp_path: Path) -> None:
    """Rather than an empty inventory."""
    with pytest.raises(UsageError, match=r"inventory/ or tasks\.py"):
        find(tmp_path)


@pytest.mark.parametrize("name", ["hosts.yaml", "hosts.yml", "hosts", "hosts.ini"])
def test_a_hosts_file_lies_in_inventory(tmp_path: Path, name: str) -> None:
    """Under any of Ansible's names."""
    path = hosts(tmp_path / "inventory" / name)

    assert find(tmp_path).hosts_file() == path


def test_a_lone_fleet_folder_needs_no_choice(tmp_path: Path) -> None:
    """One folder a fleet; the only one is meant."""
    path = hosts(tmp_path / "inventory" / "lab" / "hosts.yaml")

    assert find(tmp_path).hosts_file() == path


def test_of_several_fleets_one_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by path or by the environment; never by us."""
    lab = hosts(tmp_path / "inventory" / "lab" / "hosts.yaml")
    prod = hosts(tmp_path / "inventory" / "prod" / "hosts.ini")

    with pytest.raises(UsageError, match="several fleets: lab, prod"):
        find(tmp_path).hosts_file()
    assert find(tmp_path, "prod").hosts_file() == prod
    assert find(tmp_path / "inventory", "lab/hosts.yaml").hosts_file() == lab
    monkeypatch.setenv(VARIABLE, "lab")
    assert find(tmp_path).hosts_file() == lab
    assert find(tmp_path, "prod").hosts_file() == prod


def test_an_unknown_inventory_offers_near_names(tmp_path: Path) -> None:
    """A typo does not fall back to another fleet."""
    hosts(tmp_path / "inventory" / "prod" / "hosts.yaml")

    with pytest.raises(UsageError, match=r"no inventory 'prd'; did you mean prod\?"):
        find(tmp_path, "prd").hosts_file()


def test_an_empty_inventory_folder_says_what_to_write(tmp_path: Path) -> None:
    """The first thing a newcomer meets."""
    (tmp_path / "inventory").mkdir()

    with pytest.raises(UsageError) as caught:
        find(tmp_path).hosts_file()

    assert caught.value.hint == "write your hosts to inventory/hosts.yaml"


def test_the_fleets_own_comes_before_the_built_in_one(tmp_path: Path) -> None:
    """A fleet replaces a role by having one of that name."""
    name = "own.j2"
    own = tmp_path / "templates" / name
    own.parent.mkdir()
    own.touch()
    fleet = Fleet(tmp_path)

    assert fleet.lookup("templates", name) == own
    assert fleet.folders("templates") == (tmp_path / "templates", builtin("templates"))
    assert name in fleet.names("templates")


@pytest.mark.parametrize("name", ["owm.j2", "", "../secret", "/etc/passwd"])
def test_what_is_not_there_is_named_where_it_was_asked_for(tmp_path: Path, name: str) -> None:
    """A path that leaves the folder is not there, either."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "own.j2").touch()
    (tmp_path / "secret").touch()
    fleet = Fleet(tmp_path)

    with pytest.raises(ConfigError, match=r"^role\.yaml:3: there is no .* in templates/; "):
        fleet.lookup("templates", name, where="role.yaml:3")
    with pytest.raises(UsageError, match="there is no"):
        fleet.lookup("templates", name)


def test_a_path_outside_is_shown_whole(tmp_path: Path) -> None:
    """Messages name files as the operator can open them."""
    fleet = Fleet(tmp_path)

    assert fleet.shown(tmp_path / "roles" / "a") == "roles/a"
    assert fleet.shown(Path("/etc/hosts")) == "/etc/hosts"


@pytest.mark.parametrize(
    ("content", "error"), [(b"\xff\xfe", "byte 0 is not UTF-8"), (None, "cannot be read: No such")]
)
def test_an_unreadable_file_is_one_line(tmp_path: Path, content: bytes | None, error: str) -> None:
    """Not a traceback of the codec."""
    path = tmp_path / "f.yaml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=rf"^f\.yaml: {error}"):
        Fleet(tmp_path).document(path)
