"""A role and a host's variables become a release; what does not fit has a file and a line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.control.errors import ConfigError
from headway.control.inventory.model import Value
from headway.control.rendering.render import Rendered, render
from headway.control.rendering.systemd_text import words
from headway.control.rendering.unit_file import last, settings
from headway.control.secrets import Secret
from headway.wire.env_text import environment
from headway.wire.gate import Where
from headway.wire.resources import Dir, DropIn, File, FoundVenv, LockedVenv, Package, Sysctl, Unit
from tests.control.rendering.fleets import fleet, host

CASES = Path(__file__).parents[2] / "cases"

ENGINE = """\
    defaults:
      port: 8080
      options: {ctx_size: 4096, mem: 0.9}
      env: {HF_TOKEN: "{{ token }}", OMP_NUM_THREADS: 4}
    subject: "{{ instance }}.service"
    listens: ["{{ port }}"]
    resources:
      - venv: {lock: engine.lock, python: python3.11}
      - env_file: {path: "/etc/{{ instance }}.env", values: "{{ env }}"}
      - unit:
          name: "{{ instance }}.service"
          exec: {program: "{{ venv }}/bin/engine", words: [serve], options: "{{ options }}"}
          sections:
            Service: {Restart: always, EnvironmentFile: "/etc/{{ instance }}.env"}
            Install: {WantedBy: multi-user.target}
    gates:
      - probe: {port: "{{ port }}", deadline_s: 60}
    """


@pytest.fixture
def rendered(tmp_path: Path) -> Rendered:
    """Give an engine that was rendered for a host."""
    files = {"roles/engine/role.yaml": ENGINE, "roles/engine/engine.lock": "engine==1\n"}
    token = Secret.of("hf_123456", "inventory/hosts.yaml:3")
    return render(fleet(tmp_path, files), host({"a": "engine"}, {"token": token}, port=8001))


def content(rendered: Rendered, path: str) -> str:
    """Give the bytes of a file or of a unit's fragment as text."""
    (part,) = rendered.release.parts
    for one in part.resources:
        if isinstance(one, File) and one.path == path:
            return rendered.blobs[one.blob.sha256].decode()
        if isinstance(one, Unit) and one.name == path:
            return rendered.blobs[one.fragment.sha256].decode()
    raise KeyError(path)


def test_a_part_holds_what_its_instance_needs(rendered: Rendered) -> None:
    """Options, ports, the unit that is judged, and the variables it must have."""
    (part,) = rendered.release.parts
    assert (part.name, part.role, part.listens) == ("a", "engine", (8001,))
    assert part.subject is not None
    assert part.subject.unit == "a.service"
    assert part.argv[1:] == (("serve",), ("--ctx-size", "4096"), ("--mem", "0.9"))
    assert part.env_names == ("HF_TOKEN", "OMP_NUM_THREADS")


def test_the_unit_starts_the_argv_that_is_recorded(rendered: Rendered) -> None:
    """What the options gate compares is what systemd will start."""
    (part,) = rendered.release.parts
    start = last(settings(content(rendered, "a.service")), "ExecStart")
    assert words(start) == tuple(word for row in part.argv for word in row)


def test_a_secret_lies_in_a_secret_blob_only(rendered: Rendered) -> None:
    """Its value is known to the redactor, its name to the release, its text to one 0600 file."""
    assert environment(content(rendered, "/etc/a.env")).get("HF_TOKEN") == "hf_123456"
    assert rendered.secret_values == ("hf_123456",)
    assert rendered.release.secret_names == ("HF_TOKEN",)
    secret = {blob.sha256 for blob in rendered.release.blobs() if blob.secret}
    holding = {digest for digest, data in rendered.blobs.items() if b"hf_123456" in data}
    assert holding == secret
    assert "hf_123456" not in repr(rendered)


def test_two_secrets_of_one_name_are_both_known(tmp_path: Path) -> None:
    """Each instance has a token of its own, under the name its engine reads."""
    role = 'resources:\n  - env_file: {path: "/etc/{{ instance }}.env", values: {T: "{{ t }}"}}\n'
    two = host({"a": "r", "b": "r"})
    own = [
        replace(one, vars={"t": Value(Secret.of(f"token of {one.name}", ""), "")})
        for one in two.instances
    ]
    made = render(fleet(tmp_path, {"roles/r/role.yaml": role}), replace(two, instances=tuple(own)))
    assert made.secret_values == ("token of a", "token of b")


def test_a_gate_keeps_its_types_and_its_own_keys(rendered: Rendered) -> None:
    """A whole expression keeps its type; name, part and deadline stand beside the parameters."""
    (gate,) = rendered.gates
    assert (gate.name, gate.kind, gate.part, gate.deadline_s) == ("probe", "probe", "a", 60)
    assert gate.params == {"port": 8001}
    assert gate.where is Where.HOST


def test_the_same_words_make_the_same_release(tmp_path: Path, rendered: Rendered) -> None:
    """A release is named by what runs."""
    again = render(
        fleet(tmp_path, {}), host({"a": "engine"}, {"token": Secret.of("hf_123456", "")}, port=8001)
    )
    assert again.release.id == rendered.release.id


def test_a_venv_is_named_by_what_it_is_made_of(tmp_path: Path, rendered: Rendered) -> None:
    """Another lock is another folder; its path reaches whatever comes after it."""
    (part,) = rendered.release.parts
    venv = next(one for one in part.resources if isinstance(one, LockedVenv))
    assert part.argv[0] == (venv.path + "/bin/engine",)
    changed = render(
        fleet(tmp_path, {"roles/engine/engine.lock": "engine==2\n"}),
        host({"a": "engine"}, {"token": "plain"}),
    )
    assert changed.release.parts[0].argv[0] != part.argv[0]


KINDS = """\
    resources:
      - dir: {path: /srv/models, mode: '0750', owner: llm}
      - file: {path: /srv/a, source: a.txt}
      - file: {path: /srv/b, content: "b{{ 1 + 1 }}", mode: '0600'}
      - template: {path: /srv/c, source: c.j2}
      - sysctl: {values: {net.core.somaxconn: 4096}}
      - package: {names: [jq, numactl]}
      - venv: {found: /opt/engine/venv, fingerprint: abc}
      - file: {path: /srv/d, content: d, when: "{{ more }}"}
      - unit:
          name: tick.timer
          enabled: false
          sections: {Timer: {OnCalendar: daily}}
          dropins: {10-more.conf: {Timer: {Persistent: true}}, 20-file.conf: drop.conf}
    """


def test_every_kind_becomes_its_wire_resource(tmp_path: Path) -> None:
    """Each authoring kind, once."""
    files = {
        "roles/kinds/role.yaml": KINDS,
        "roles/kinds/a.txt": "plain {{ text }}\n",
        "templates/c.j2": "{% for n in [1, 2] %}\n{{ n }} {{ venv is defined }}\n{% endfor %}\n",
        "roles/kinds/drop.conf": "[Timer]\n",
    }
    made = render(fleet(tmp_path, files), host({"k": "kinds"}, {"more": False}))
    (part,) = made.release.parts
    folder, a, b, c, sysctl, jq, numactl, venv, timer = part.resources
    assert folder == Dir("/srv/models", 0o750, "llm", "root")
    assert isinstance(a, File)
    assert made.blobs[a.blob.sha256] == b"plain {{ text }}\n"
    assert isinstance(b, File)
    assert (made.blobs[b.blob.sha256], b.mode) == (b"b2", 0o600)
    assert isinstance(c, File)
    assert made.blobs[c.blob.sha256] == b"1 False\n2 False\n"
    assert made.sources["/srv/c"] == "templates/c.j2"
    assert sysctl == Sysctl("net.core.somaxconn", "4096")
    assert (jq, numactl) == (Package("jq"), Package("numactl"))
    assert venv == FoundVenv("/opt/engine/venv", "abc")
    assert isinstance(timer, Unit)
    assert (timer.enabled, timer.restart) == (False, "no")
    assert [type(one) for one in timer.dropins] == [DropIn, DropIn]
    assert made.blobs[timer.dropins[0].blob.sha256] == b"[Timer]\nPersistent=yes\n"
    assert part.subject is None


def test_a_file_may_be_empty(tmp_path: Path) -> None:
    """Empty is a content; none is a mistake."""
    role = "resources:\n  - file: {path: /srv/marker, content: ''}\n"
    made = render(fleet(tmp_path, {"roles/r/role.yaml": role}), host({"r": "r"}))
    assert list(made.blobs.values()) == [b""]


def test_an_error_says_who_wants_it(tmp_path: Path) -> None:
    """Many instances share a role; the line alone would not say which variable to look at."""
    with pytest.raises(ConfigError) as caught:
        render(fleet(tmp_path, {}), host({"main": "llama_cpp"}))
    assert "instance main of gpu1 wants it" in caught.value.hint
    assert "lock and venv_path" in caught.value.hint


def test_the_fleets_own_file_goes_before_the_built_in_one(tmp_path: Path) -> None:
    """A fleet changes a template by having one of the same name."""
    role = "resources:\n  - template: {path: /srv/u, source: engine.service.j2}\n"
    own = fleet(tmp_path, {"roles/r/role.yaml": role, "templates/engine.service.j2": "mine"})
    made = render(own, host({"r": "r"}))
    assert list(made.blobs.values()) == [b"mine"]


def test_parts_go_in_the_order_of_their_roles(tmp_path: Path) -> None:
    """What is beneath goes first, whatever the order in the inventory."""
    roles = {f"roles/{name}/role.yaml": f"order: {order}\n" for name, order in [("x", 9), ("y", 1)]}
    made = render(fleet(tmp_path, roles), host({"a": "x", "b": "y", "c": "x"}))
    assert [part.name for part in made.release.parts] == ["b", "a", "c"]


def test_a_host_without_instances_runs_nothing(tmp_path: Path) -> None:
    """No parts make the empty release."""
    assert render(fleet(tmp_path, {}), host({})).release.id == "empty"


BAD: dict[str, dict[str, Any]] = yaml.safe_load((CASES / "bad_role.yaml").read_text())


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_one_line_with_its_place(name: str, tmp_path: Path) -> None:
    """Every misfit is found without a host, and says file, line, path and what would be right."""
    case = BAD[name]
    files = {"roles/bad/role.yaml": case.get("role", ""), **case.get("files", {})}
    variables = {"secret": Secret.of("s3cret-value", "inventory/hosts.yaml:3")}
    instances = case.get("instances", {"b": "bad"})
    with pytest.raises(ConfigError) as caught:
        render(fleet(tmp_path, files), host(instances, {**variables, **case.get("vars", {})}))
    message = str(caught.value)
    assert message.startswith(case["says"]), message
    assert case.get("hint", "") in caught.value.hint
    assert "s3cret-value" not in message
