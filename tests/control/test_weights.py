"""Weights are pinned by a person's word, and releases are made of the pins alone."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.control import weights
from headway.control.errors import ConfigError, HeadwayError, RefusedError, UnreachableError
from headway.control.fleet import Fleet
from headway.control.rendering.render import Rendered, render
from headway.control.secrets import Secret
from headway.control.weights import Moved, PinnedFile, Source, WeightsPin, pinned, source_of
from headway.wire.env_text import environment
from headway.wire.resources import Fetch, File, FoundWeights, Weights
from tests.control.rendering.fleets import fleet, host
from tests.lab.hub import Hub, blob_id

BIG = b"w" * 5000
FILES = {
    ".gitattributes": b"*.gguf filter=lfs\n",
    "config.json": b"{}\n",
    "m-Q4.gguf": BIG,
    "m-Q8.gguf": BIG + BIG,
}
SHA = hashlib.sha256(BIG).hexdigest()
COMMIT = "9c925d64d72725edaf899c6cb9c377fd0709d9c8"
PIN = f"""
    org/model@main:
      commit: {COMMIT}
      files:
        config.json: {{size: 3, blob_id: {blob_id(b"{}" + bytes([10]))}}}
        m-Q4.gguf: {{size: 5000, sha256: {SHA}}}
    """
TOKEN = "hf_very_secret"  # noqa: S105 # the stand-in's own
ROLE = """
    resources:
      - weights:
          source: "{{ source }}"
          files: "{{ files | default([]) }}"
          file: "{{ file | default('') }}"
          token: "{{ token | default(none) }}"
          endpoint: "{{ endpoint | default('') }}"
          fingerprint: "{{ fingerprint | default('') }}"
          max_mib_s: "{{ cap | default(0) }}"
      - file: {path: "/etc/{{ instance }}", content: "{{ weights_path }}"}
    """


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Give a hub with one model."""
    with Hub() as hub:
        hub.publish("org/model", FILES)
        yield hub


def made(root: Path, pins: str = PIN, **variables: Any) -> Rendered:
    """Render a role that holds weights."""
    files = {"roles/engine/role.yaml": ROLE, **({"weights.yaml": pins} if pins else {})}
    return render(fleet(root, files), host({"a": "engine"}, variables))


def path_in(rendered: Rendered) -> str:
    """Give what the variable for them named."""
    (part,) = rendered.release.parts
    (file,) = (one for one in part.resources if isinstance(one, File))
    return rendered.blobs[file.blob.sha256].decode()


def test_a_revision_is_resolved_to_its_commit_and_files(hub: Hub) -> None:
    """By the real library: large files by sha256, small ones by git's id; no plumbing."""
    source = Source("x:1", "org/model", "main", endpoint=hub.url)
    assert weights.resolve(source) == WeightsPin(
        hub.repositories["org/model"].branches["main"],
        {
            "config.json": PinnedFile(3, "", blob_id(b"{}\n")),
            "m-Q4.gguf": PinnedFile(5000, SHA),
            "m-Q8.gguf": PinnedFile(10000, hashlib.sha256(BIG + BIG).hexdigest()),
        },
    )
    assert hub.of("storage") == []


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"repo": "org/none"}, RefusedError, "org/none@main of .*: no such repository"),
        ({"revision": "v9"}, RefusedError, "the repository has no such revision"),
        ({"repo": "org/shut"}, RefusedError, "org/shut@main of .* is gated"),
        ({"endpoint": "http://127.0.0.1:9"}, UnreachableError, "Connection refused"),
    ],
)
def test_what_a_hub_does_not_give_is_one_line(
    hub: Hub, change: dict[str, str], error: type[HeadwayError], says: str
) -> None:
    """Which repository, which hub, and why; never a traceback of the library's."""
    hub.publish("org/shut", FILES)
    hub.repositories["org/shut"].token = TOKEN
    hub.repositories["org/shut"].gated = True
    source = replace(Source("x:1", "org/model", "main", endpoint=hub.url), **change)  # type: ignore[arg-type]
    with pytest.raises(error, match=says):
        weights.resolve(source)


def test_pins_are_made_once_and_again_when_told(hub: Hub, tmp_path: Path) -> None:
    """A branch that moves moves nothing here; `again` does, and says from where to where."""
    hub.repositories["org/model"].token = TOKEN
    variables = {
        "source": "org/model@main",
        "endpoint": hub.url,
        "token": Secret.of(TOKEN, "inventory/hosts.yaml:3"),
    }
    files = {"roles/engine/role.yaml": ROLE}
    made_of, hosts = fleet(tmp_path, files), [host({"a": "engine", "b": "engine"}, variables)]
    first = hub.repositories["org/model"].branches["main"]
    assert pinned(made_of, hosts) == [Moved("org/model@main", "", first, 3, 15003)]
    text = (tmp_path / "weights.yaml").read_text()
    assert f"m-Q4.gguf: {{size: 5000, sha256: {SHA}}}" in text
    assert TOKEN not in text

    second = hub.publish("org/model", {**FILES, "config.json": b"{ }\n"})
    asked = len(hub.asked)
    assert pinned(Fleet(tmp_path), hosts) == []
    assert len(hub.asked) == asked
    assert (tmp_path / "weights.yaml").read_text() == text
    assert pinned(Fleet(tmp_path), hosts, again=True) == [
        Moved("org/model@main", first, second, 3, 15004)
    ]
    assert Fleet(tmp_path).weights["org/model@main"].commit == second


def test_what_is_not_pinned_names_the_command(tmp_path: Path) -> None:
    """Rendering asks no hub."""
    with pytest.raises(ConfigError, match="weights org/model@main are not pinned") as caught:
        made(tmp_path, "", source="org/model")
    assert "invoke pin --host" in caught.value.hint
    assert caught.value.where.startswith("roles/engine/role.yaml:")


def test_weights_are_a_folder_named_after_their_revision(tmp_path: Path) -> None:
    """Files, sizes and hashes are part of the release; where they come from stands beside it."""
    rendered = made(tmp_path, source="org/model@main")
    (part,) = rendered.release.parts
    (one,) = (one for one in part.resources if isinstance(one, Weights))
    assert one.path == "/srv/weights/org--model-9c925d64d72725ed"
    assert one.source == f"org/model@{COMMIT}"
    assert [(file.name, file.size) for file in one.files] == [
        ("config.json", 3),
        ("m-Q4.gguf", 5000),
    ]
    assert path_in(rendered) == one.path
    url = f"https://huggingface.co/org/model/resolve/{COMMIT}/"
    assert rendered.release.fetches == (Fetch(one.path, url),)


def test_one_file_of_many_is_chosen(tmp_path: Path) -> None:
    """Another choice is another folder; the variable names the file itself."""
    rendered = made(tmp_path, source="org/model@main", file="m-Q4.gguf")
    (part,) = rendered.release.parts
    (one,) = (one for one in part.resources if isinstance(one, Weights))
    assert one.path.startswith("/srv/weights/org--model-9c925d64d72725ed-")
    assert [file.name for file in one.files] == ["m-Q4.gguf"]
    assert path_in(rendered) == f"{one.path}/m-Q4.gguf"
    with pytest.raises(ConfigError, match=r"have no file '\*Q5\*'"):
        made(tmp_path, source="org/model@main", files=["*Q5*"])


def test_another_token_or_limit_is_the_same_release(tmp_path: Path) -> None:
    """A token is rotated without a restart; it is a secret blob and stands nowhere else."""
    plain = made(tmp_path, source="org/model@main")
    token = Secret.of(TOKEN, "inventory/hosts.yaml:3")
    other = made(tmp_path, source="org/model@main", token=token, cap=50)
    assert other.release.id == plain.release.id
    (fetch,) = other.release.fetches
    assert fetch.token is not None
    assert fetch.token.secret
    assert fetch.max_mib_s == 50
    assert other.blobs[fetch.token.sha256] == TOKEN.encode()
    assert fetch.token in tuple(other.release.blobs())
    assert TOKEN in other.secret_values
    with pytest.raises(ConfigError, match="token is no secret"):
        made(tmp_path, source="org/model@main", token=TOKEN)


def test_a_url_brings_its_own_hash(tmp_path: Path) -> None:
    """Its size is asked for once; the file itself is what the variable names."""
    url = "https://files.example/models/m.Q4.gguf"
    pin = f"{url}:\n  commit: {SHA}\n  files:\n    m.Q4.gguf: {{size: 5000, sha256: {SHA}}}\n"
    rendered = made(tmp_path, pin, source=f"{url}#sha256={SHA}")
    assert path_in(rendered) == f"/srv/weights/m.Q4-{SHA[:16]}/m.Q4.gguf"
    assert rendered.release.fetches[0].url == url
    with pytest.raises(ConfigError, match="are not pinned"):
        made(tmp_path, pin, source=f"{url}#sha256={'0' * 64}")
    with pytest.raises(ConfigError, match="has no hash"):
        made(tmp_path, pin, source=url)


def test_the_size_of_a_url_is_asked_of_its_server(hub: Hub) -> None:
    """Nothing is downloaded."""
    commit = hub.repositories["org/model"].branches["main"]
    url = f"{hub.storage}/org/model/{commit}/m-Q4.gguf"
    source = source_of(f"{url}#sha256={SHA}", "x:1")
    assert weights.resolve(source) == WeightsPin(SHA, {"m-Q4.gguf": PinnedFile(5000, SHA)})
    assert [one.method for one in hub.of("storage")] == ["HEAD"]


def test_what_is_there_is_known_by_its_fingerprint(tmp_path: Path) -> None:
    """A path is fetched by nobody."""
    rendered = made(tmp_path, "", source="/models/x/", fingerprint="abc", file="m.gguf")
    (part,) = rendered.release.parts
    assert FoundWeights("/models/x", "abc") in part.resources
    assert path_in(rendered) == "/models/x/m.gguf"
    with pytest.raises(ConfigError, match="what is there wants its fingerprint"):
        made(tmp_path, "", source="/models/x")


@pytest.mark.parametrize("text", ["model", "org/model@", "org/model/x", "../x", "a b/c"])
def test_a_source_is_one_of_three_things(text: str) -> None:
    """Anything else is refused where it stands."""
    with pytest.raises(ConfigError, match="is no source: ORG/REPO@REVISION"):
        source_of(text, "x:1")


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a//b", "a/./b", "a\nb"])
def test_a_file_stays_in_its_folder(name: str) -> None:
    """Whatever a hub, or a pin that was edited, calls it."""
    pin = WeightsPin(COMMIT, {name: PinnedFile(3, SHA)})
    with pytest.raises(ConfigError, match="is no plain name"):
        weights.chosen(pin, (), Source("x:1", "org/model", "main"))


@pytest.mark.parametrize(
    ("role", "option", "variable"),
    [
        ("vllm", "", "HF_HUB_OFFLINE"),
        ("sglang", "--model-path", "HF_HUB_OFFLINE"),
        ("llama_cpp", "--model", "LLAMA_ARG_OFFLINE"),
    ],
)
def test_engines_run_from_them_and_ask_no_hub(
    tmp_path: Path, role: str, option: str, variable: str
) -> None:
    """The path is the model; its name is the repository's, and no revision's."""
    files = {"weights.yaml": PIN, "e.lock": "e==1\n"}
    own = {"weights": {"source": "org/model@main"}, "lock": "e.lock"}
    rendered = render(fleet(tmp_path, files), host({"a": role}, own))
    (part,) = rendered.release.parts
    words = [word for row in part.argv for word in row]
    path = "/srv/weights/org--model-9c925d64d72725ed"
    assert path in words
    if option:
        assert words[words.index(option) + 1] == path
    alias = "--alias" if role == "llama_cpp" else "--served-model-name"
    assert words[words.index(alias) + 1] == "model"
    (file,) = (one for one in part.resources if isinstance(one, File))
    assert environment(rendered.blobs[file.blob.sha256].decode())[variable] == "1"
