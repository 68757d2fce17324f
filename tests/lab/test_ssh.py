"""Over real sshd and sudo: who gets in, who is refused, and what the one line says."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from headway.control.errors import UnreachableError
from headway.control.inventory.model import Host, Value
from headway.control.reaching.conversation import Session
from headway.control.reaching.reach import over_ssh
from headway.control.secrets import Secret
from headway.wire.talk import Done, Follow
from tests.control.doubles import scripted
from tests.lab.host import Host as LabHost
from tests.lab.host import HostSpec
from tests.lab.lab import Lab
from tests.lab.recipes import OPS_PASSWORD

pytestmark = pytest.mark.lab
Boot = Callable[..., list[LabHost]]
ECHO = 'hear(); import os; say({"done": {"exit_code": 0, "sentence": "uid %d" % os.getuid()}})\n'
PACK = scripted(ECHO)


def target(lab: Lab, host: LabHost, **changes: object) -> Host:
    """Describe a lab host as an inventory would."""
    known = Value(f"-o UserKnownHostsFile={lab.known_hosts}", "hosts.yaml:1")
    entry = Host(
        host.name,
        host.address,
        (),
        {"ansible_ssh_common_args": known},
        user=host.spec.login,
        key_file=str(lab.key),
        become=host.spec.login != "root",
    )
    return replace(entry, **changes)  # type: ignore[arg-type] # a test names fields by keyword


def opened(
    host: Host, config: Path | None = None, password: str | None = None, connect_s: int = 10
) -> Session:
    """Open a session the way a verb does."""
    secret = Secret.of(password, "test") if password is not None else None
    return over_ssh(PACK, config, secret, connect_s).open(host, lambda _told: None)


def uid(session: Session) -> str:
    """Ask the double of the runner who it is."""
    with session:
        (word,) = session.order(Follow())
    assert isinstance(word, Done)
    return word.sentence


def test_root_gets_in_with_a_key(lab: Lab, hosts: Boot) -> None:
    """The runner is brought and says hello; the second time it is there."""
    (host,) = hosts("gpu1")
    for _ in range(2):
        assert uid(opened(target(lab, host))) == "uid 0"
    assert host.path(f"/var/lib/headway/runner/{PACK.sha256}/__main__.py").is_file()


def test_sudo_gets_its_password_only_when_it_asks(lab: Lab, hosts: Boot) -> None:
    """A login without root's rights becomes root with the password of the inventory."""
    (host,) = hosts(HostSpec("gpu9", login="ops"))
    assert uid(opened(target(lab, host), password=OPS_PASSWORD)) == "uid 0"


@pytest.mark.parametrize(
    "defaults", ["use_pty", "!use_pty", "requiretty", "lecture=always", "NOPASSWD"]
)
def test_sudo_in_its_moods(lab: Lab, hosts: Boot, defaults: str) -> None:
    """A pty of sudo's own, a lecture, no password at all; requiretty refuses, in its words."""
    (host,) = hosts(HostSpec("gpu9", login="ops"))
    line = "ops ALL=(ALL) NOPASSWD: ALL" if defaults == "NOPASSWD" else f"Defaults {defaults}"
    file = host.path("/etc/sudoers.d/lab")
    file.write_text(line + "\n")
    file.chmod(0o440)
    try:
        if defaults == "requiretty":
            with pytest.raises(UnreachableError, match=r"no runner came up .*you must have a tty"):
                opened(target(lab, host), password=OPS_PASSWORD)
        else:
            assert uid(opened(target(lab, host), password=OPS_PASSWORD)) == "uid 0"
    finally:
        file.unlink()


@pytest.mark.parametrize(
    ("password", "sentence"),
    [("wrong", "sudo refused the password"), (None, "asks for a password, and none is given")],
)
def test_a_wrong_password_is_said(
    lab: Lab, hosts: Boot, password: str | None, sentence: str
) -> None:
    """Sudo asks again, or nobody knows the answer: one line with user and host, no hanging."""
    (host,) = hosts(HostSpec("gpu9", login="ops"))
    with pytest.raises(UnreachableError, match=f"ops@gpu9: sudo {sentence}|ops@gpu9: {sentence}"):
        opened(target(lab, host), password=password)


def test_an_unknown_host_key_is_refused_with_the_command_that_adds_it(
    lab: Lab, hosts: Boot, tmp_path: Path
) -> None:
    """The command of the hint makes the next try work."""
    (host,) = hosts("gpu1")
    file = tmp_path / "known_hosts"
    known = {"ansible_ssh_common_args": Value(f"-o UserKnownHostsFile={file}", "x:1")}
    with pytest.raises(
        UnreachableError, match=r"gpu1: the host key of 10\.77\.0\.\d+ is unknown"
    ) as raised:
        opened(target(lab, host, vars=known))
    command = raised.value.hint.partition("then: ")[2]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert uid(opened(target(lab, host, vars=known))) == "uid 0"


def test_a_changed_host_key_is_refused_with_the_command_that_replaces_it(
    lab: Lab, hosts: Boot, tmp_path: Path
) -> None:
    """Another machine answers under this address; the hint's commands accept it on purpose."""
    first, second = hosts("gpu1", "gpu2")
    file = tmp_path / "known_hosts"
    key = lab.known_hosts.read_text().splitlines()
    theirs = next(line for line in key if line.startswith(second.address + " "))
    file.write_text(theirs.replace(second.address, first.address, 1) + "\n")
    known = {"ansible_ssh_common_args": Value(f"-o UserKnownHostsFile={file}", "x:1")}
    with pytest.raises(UnreachableError, match="has changed to") as raised:
        opened(target(lab, first, vars=known))
    command = raised.value.hint.partition("reinstalled: ")[2]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert uid(opened(target(lab, first, vars=known))) == "uid 0"


def test_a_jump_host_of_the_ssh_configuration_is_used(
    lab: Lab, hosts: Boot, tmp_path: Path
) -> None:
    """Included files, aliases and ProxyJump: the host sees the jump host as its peer."""
    jump, host = hosts("gpu1", "gpu2")
    config = tmp_path / "config"
    config.write_text(
        f"Include {lab.ssh_config}\nHost inner\n  HostName {host.address}\n  ProxyJump gpu1\n"
        f"  User root\n  IdentityFile {lab.key}\n  UserKnownHostsFile {lab.known_hosts}\n"
    )
    entry = Host("inner", "inner", (), {})
    with opened(entry, config) as session:
        peers = host.inside(["ss", "-Htn", "state", "established", "sport", "=", ":22"])
        assert list(session.order(Follow())) == [Done(0, "uid 0")]
    assert jump.address in peers


def test_a_jump_host_that_is_down_is_named_with_the_host_behind_it(tmp_path: Path) -> None:
    """Which hop it was, and for whom."""
    config = tmp_path / "config"
    config.write_text("Host jump\n  HostName 127.0.0.1\n  Port 9\nHost inner\n  ProxyJump jump\n")
    sentence = r"gpu7: by way of jump: 127\.0\.0\.1 port 9: nobody listens there"
    with pytest.raises(UnreachableError, match=sentence):
        opened(Host("gpu7", "inner", (), {}), config)


def test_hosts_behind_one_jump_host_share_its_login(lab: Lab, hosts: Boot, tmp_path: Path) -> None:
    """Called at the same time, they make one connection to the jump host, not one each."""
    jump, first, second = hosts("gpu1", "gpu2", "gpu3")
    config = tmp_path / "config"
    config.write_text(f"Host gpu2 gpu3\n  ProxyJump gpu1\nInclude {lab.ssh_config}\n")
    entries = [Host(host.name, host.name, (), {}) for host in (first, second)]
    before = logins(jump)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda entry: uid(opened(entry, config)), entries)) == ["uid 0"] * 2
    assert logins(jump) - before <= 1


def logins(host: LabHost) -> int:
    """Count the logins that sshd has let in since the host was booted."""
    return host.inside(["journalctl", "-u", "ssh", "--no-pager"]).count("Accepted publickey")


def test_a_jump_host_that_cannot_reach_the_host_says_so(
    lab: Lab, hosts: Boot, tmp_path: Path
) -> None:
    """The jump host answers, the host behind it does not: the line names the second hop."""
    hosts("gpu1")
    config = tmp_path / "config"
    config.write_text(
        f"Include {lab.ssh_config}\nHost inner\n  HostName 127.0.0.1\n  ProxyJump gpu1\n"
    )
    with pytest.raises(UnreachableError, match=r"inner: 127\.0\.0\.1 port 9: the jump host cannot"):
        opened(Host("inner", "inner", (), {}, port=9), config)


@pytest.mark.parametrize(
    ("hidden", "sentence"),
    [
        ("/usr/bin/python3", "python3 does not run .*not found"),
        ("/usr/lib/python3.11/json", "python3 is incomplete .*json"),
    ],
)
def test_a_host_without_a_whole_python_is_one_sentence(
    lab: Lab, hosts: Boot, hidden: str, sentence: str
) -> None:
    """No python3, or Debian's python3-minimal: nothing can run there, and nothing is left there."""
    (host,) = hosts("gpu2", fresh=True)
    host.inside(["mv", hidden, f"{hidden}.hidden"])
    try:
        with pytest.raises(UnreachableError, match=f"gpu2: {sentence}"):
            opened(target(lab, host))
        assert not host.path("/var/lib/headway").exists()
    finally:
        host.inside(["mv", f"{hidden}.hidden", hidden])


def test_a_noisy_login_is_skipped(lab: Lab, hosts: Boot) -> None:
    """What a profile prints on standard output is not part of the conversation."""
    (host,) = hosts("gpu1")
    profile = host.path("/root/.bashrc")
    before = profile.read_text() if profile.exists() else ""
    profile.write_text("printf 'WELCOME TO GPU1 '\n" + before)
    try:
        assert uid(opened(target(lab, host))) == "uid 0"
    finally:
        profile.write_text(before)


def test_a_refused_login_names_user_and_keys(lab: Lab, hosts: Boot, tmp_path: Path) -> None:
    """A key the host does not know: the line says who was refused and how to try by hand."""
    (host,) = hosts("gpu1")
    key = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with pytest.raises(UnreachableError, match="does not let root in") as raised:
        opened(target(lab, host, key_file=str(key)))
    assert "ssh -p 22 root@" in raised.value.hint


def test_a_key_with_a_passphrase_and_no_agent_is_said(
    lab: Lab, hosts: Boot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is the ssh-add that makes it work."""
    (host,) = hosts("gpu1")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = tmp_path / "locked"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "s3cret", "-f", str(key)], check=True
    )
    with pytest.raises(UnreachableError, match="has a passphrase") as raised:
        opened(target(lab, host, key_file=str(key)))
    assert raised.value.hint == f"ssh-add {key}"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"port": 9}, "gpu1: .* port 9: nobody listens there"),
        ({"address": "10.77.0.250"}, "no answer within|No route to host"),
        ({"address": "no-such-host.invalid"}, "the name is not known"),
        ({"key_file": "/nonexistent/key"}, "key /nonexistent/key cannot be read"),
        ({"become": True, "become_user": "nobody"}, "headway needs root"),
    ],
)
def test_what_keeps_us_out_is_one_line(
    lab: Lab, hosts: Boot, changes: dict[str, object], sentence: str
) -> None:
    """Every way not to get in has its sentence and, where there is one, its next step."""
    (host,) = hosts("gpu1")
    with pytest.raises(UnreachableError, match=sentence):
        opened(target(lab, host, **changes), connect_s=2)
