"""OpenSSH's configuration is read as OpenSSH reads it: Includes in place, the first value wins."""

from pathlib import Path

import paramiko
import pytest

from headway.control.errors import ConfigError
from headway.control.reaching import ssh_config


def looked_up(text: str, host: str) -> dict[str, object]:
    """Look a host up as the connection does."""
    return dict(paramiko.SSHConfig.from_text(text).lookup(host))


def test_an_include_is_put_in_where_it_stands(tmp_path: Path) -> None:
    """Globs, files below files; after an Include its block goes on."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/a").write_text("Host gpu1\n  Port 2201\n  Include ../deep\n  User a\n")
    (tmp_path / "deep").write_text("Host gpu9\n  Port 2209\n")
    main = tmp_path / "config"
    main.write_text("User early\nInclude conf.d/*\nPort 2222\nHost gpu2\n  Port 2202\n")
    text = ssh_config.text(main)
    assert looked_up(text, "gpu1")["port"] == "2201"
    assert looked_up(text, "gpu9")["port"] == "2209"
    assert looked_up(text, "gpu2")["port"] == "2222"
    assert looked_up(text, "other")["port"] == "2222"
    assert looked_up(text, "gpu1")["user"] == "early"


def test_an_include_that_includes_itself_ends(tmp_path: Path) -> None:
    """A loop is an error with the file, not a full stack."""
    (tmp_path / "config").write_text("Include config\n")
    with pytest.raises(ConfigError, match="over 16 deep"):
        ssh_config.text(tmp_path / "config")


def test_a_chosen_file_has_to_exist(tmp_path: Path) -> None:
    """--ssh-config names the file that is not there."""
    with pytest.raises(ConfigError, match="no such SSH configuration"):
        ssh_config.text(tmp_path / "none")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("-o UserKnownHostsFile=/k -J gpu1", {"userknownhostsfile": "/k", "proxyjump": "gpu1"}),
        ("-oPort=2201 -l root -i /key", {"port": "2201", "user": "root", "identityfile": "/key"}),
        ("-o 'ProxyCommand ssh -W %h:%p gpu1'", {"proxycommand": "ssh -W %h:%p gpu1"}),
        ("-o Port=1 -o Port=2", {"port": "1"}),
        ("", {}),
    ],
)
def test_words_of_the_inventory(arguments: str, found: dict[str, str]) -> None:
    """ansible_ssh_common_args: what headway knows, the first one wins."""
    assert ssh_config.options(arguments, "hosts.yaml:3") == found


@pytest.mark.parametrize("arguments", ["-C", "-o", "-o Port", "-F /x", "-o 'a", "gpu1"])
def test_a_word_it_does_not_know_is_an_error_with_its_line(arguments: str) -> None:
    """Nothing is dropped in silence."""
    with pytest.raises(ConfigError, match=r"hosts\.yaml:3"):
        ssh_config.options(arguments, "hosts.yaml:3")


def test_words_go_before_the_file() -> None:
    """For this host only."""
    text = ssh_config.for_host("gpu1", {"port": "1"}) + "Host *\n  Port 2\n"
    assert looked_up(text, "gpu1")["port"] == "1"
    assert looked_up(text, "gpu2")["port"] == "2"
