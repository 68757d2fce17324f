"""Weights: fetched whole or not at all, resumed where they were cut, never fetched over."""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.fetching import download, fetch
from headway.runner.fetching.pace import Pace
from headway.runner.machine import Machine
from headway.runner.resources import ResourceError, weights
from headway.runner.resources.weights import Delivery, Folder
from headway.wire.release import Part, release_of
from headway.wire.resources import Fetch, FoundWeights, Weights, WeightsFile
from tests.lab.hub import Hub, blob_id
from tests.runner.resources.scripted import blob, machine_at

PATH = "/srv/weights/org--model-abc"
PARTIAL = "srv/weights/.headway-coming-org--model-abc"
BIG = os.urandom(900_000)
FILES = {"config.json": b'{"a": 1}\n', "sub/empty.txt": b"", "model.safetensors": BIG}
TOKEN = "hf_very_secret"  # noqa: S105 # the stand-in's own


def no_sleep(_: float) -> None:
    """Wait for nothing: no server needs the time."""


def always() -> bool:
    """Listen to the end."""
    return True


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Give a hub with one model."""
    with Hub() as hub:
        hub.publish("org/model", FILES)
        yield hub


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give a host that has nothing yet."""
    return machine_at(tmp_path)[0]


def wanted(hub: Hub) -> Weights:
    """Want all of the model, by the hashes that a hub gives of each file."""
    rows = tuple(
        WeightsFile(name, len(data), hashlib.sha256(data).hexdigest())
        if name.endswith(".safetensors")
        else WeightsFile(name, len(data), "", blob_id(data))
        for name, data in sorted(FILES.items())
    )
    return Weights(PATH, f"org/model@{hub.repositories['org/model'].branches['main']}", rows)


def delivery(hub: Hub, **how: object) -> Delivery:
    """Let it come from the hub, told to nobody."""
    commit = hub.repositories["org/model"].branches["main"]
    fetched = Fetch(PATH, f"{hub.url}/org/model/resolve/{commit}/")
    return Delivery(replace(fetched, **how), lambda *_: None, always)  # type: ignore[arg-type]


def fetched(hub: Hub, machine: Machine) -> Weights:
    """Fetch them whole."""
    want = wanted(hub)
    resources.apply(want, machine, delivery=delivery(hub))
    return want


def test_a_revision_comes_whole_and_cannot_be_written(
    hub: Hub, machine: Machine, tmp_path: Path
) -> None:
    """Every byte as published, read-only, in a folder that got its name in one step."""
    want = wanted(hub)
    assert resources.diff(want, machine) == f"{PATH} is missing"
    fetched(hub, machine)
    folder = tmp_path / PATH[1:]
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert {(folder / name).stat().st_mode & 0o777 for name in FILES} == {0o444}
    assert folder.stat().st_mode & 0o777 == 0o755
    assert not (tmp_path / PARTIAL).exists()
    assert resources.diff(want, machine) is None
    assert "900000 model.safetensors\n" in (resources.text_now(want, machine) or "")


def test_a_fetch_that_was_cut_goes_on_where_it_was(
    hub: Hub, machine: Machine, tmp_path: Path
) -> None:
    """Ranges from there on, hashed as a whole at the end; what came stays after a failure, too."""
    hub.cut_after = 400_000
    fetch(wanted(hub), machine, delivery(hub), no_sleep)
    assert [one.range for one in hub.of("storage")] == ["", "bytes=400000-", "bytes=800000-"]
    assert (tmp_path / PATH[1:] / "model.safetensors").read_bytes() == BIG


def test_what_came_stays_until_the_next_try(hub: Hub, machine: Machine, tmp_path: Path) -> None:
    """Seven tries that bring nothing end it; the next order asks for the rest alone."""
    part = tmp_path / PARTIAL / "model.safetensors.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(BIG[:700_000])
    hub.down = True
    with pytest.raises(ResourceError) as caught:
        fetch(wanted(hub), machine, delivery(hub), no_sleep)
    assert "the server answers 503, 7 times in a row; 700000 of 900000 bytes came" in str(
        caught.value
    )
    assert resources.diff(wanted(hub), machine) == (
        f"{PATH} is missing (700009 of 900009 bytes are here)"
    )
    hub.down = False
    hub.asked.clear()
    fetch(wanted(hub), machine, delivery(hub), no_sleep)
    assert [(one.server, one.range) for one in hub.asked if "model" in one.path.split("/")[-1]] == [
        ("hub", "bytes=700000-"),
        ("storage", "bytes=700000-"),
    ]


def test_bytes_that_are_not_the_pinned_ones_are_thrown_away(
    hub: Hub, machine: Machine, tmp_path: Path
) -> None:
    """A partial file of other bytes shows by its hash at the end; the next try starts anew."""
    part = tmp_path / PARTIAL / "model.safetensors.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 10)
    with pytest.raises(ResourceError, match=r"hashes to \w{12}, and \w{12} is pinned; it was th"):
        fetch(wanted(hub), machine, delivery(hub), no_sleep)
    assert not part.exists()
    assert not (tmp_path / PATH[1:]).exists()
    fetched(hub, machine)


def test_the_token_goes_to_the_hub_alone(hub: Hub, machine: Machine) -> None:
    """Storage that a hub sends on to would refuse it, and might log it."""
    hub.repositories["org/model"].token = TOKEN
    token = blob(machine, TOKEN + "\n", secret=True)
    resources.apply(wanted(hub), machine, delivery=delivery(hub, token=token))
    assert {one.authorization for one in hub.of("hub")} == {f"Bearer {TOKEN}"}
    assert {one.authorization for one in hub.of("storage")} == {""}


@pytest.mark.parametrize("gated", [False, True])
def test_a_refused_login_is_one_line_without_the_token(
    hub: Hub, machine: Machine, *, gated: bool
) -> None:
    """It is said at once: no try more, nothing fetched."""
    hub.repositories["org/model"].token = "hf_other"  # noqa: S105 # the stand-in's own
    hub.repositories["org/model"].gated = gated
    token = blob(machine, TOKEN, secret=True)
    with pytest.raises(ResourceError) as caught:
        resources.apply(wanted(hub), machine, delivery=delivery(hub, token=token))
    assert "config.json: refused (401); the token is missing, wrong, or over" in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert len(hub.asked) == 1


def test_a_server_that_has_another_length_is_not_listened_to(hub: Hub, machine: Machine) -> None:
    """A mirror's login page came with status 200 once; not a byte of it is kept."""
    want = wanted(hub)
    longer = replace(want, files=tuple(replace(one, size=one.size + 1) for one in want.files))
    with pytest.raises(ResourceError, match="the server has 9 bytes of it, 10 are pinned"):
        resources.apply(longer, machine, delivery=delivery(hub))


def test_bytes_come_no_faster_than_the_limit(hub: Hub, machine: Machine) -> None:
    """900 kB at 1 MiB/s are 0.86 s of waiting, whatever the network could do."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(seconds)

    clock = time.monotonic()
    fetch(wanted(hub), machine, delivery(hub, max_mib_s=1), sleep)
    assert 0.8 < time.monotonic() - clock < 3
    assert 0 < max(slept) <= 0.2


def test_who_waits_is_told_and_who_left_ends_it(hub: Hub) -> None:
    """Done, total and rate every few seconds; with nobody left, the fetch ends there."""
    told: list[tuple[int, int, int]] = []
    here = [True]
    how = delivery(hub)
    pace = Pace(
        Delivery(how.how, lambda *said: told.append(said), lambda: here[0]), 1000, 0, no_sleep
    )
    pace.came(100)
    assert told == []
    pace._told = (time.monotonic() - 10, 0)
    pace.came(100)
    assert [(done, total) for done, total, _ in told] == [(200, 1000)]
    assert 15 <= told[0][2] <= 20
    pace._told = (time.monotonic() - 10, 0)
    here[0] = False
    with pytest.raises(ResourceError, match="the controller is gone"):
        pace.came(1)


def test_it_ends_at_its_deadline(hub: Hub, machine: Machine) -> None:
    """What came by then stays."""
    with pytest.raises(ResourceError, match=r"bytes of the weights came within 0 s.*what came st"):
        resources.apply(wanted(hub), machine, delivery=delivery(hub, deadline_s=0))


def test_one_folder_is_filled_by_one_order(hub: Hub, machine: Machine, tmp_path: Path) -> None:
    """Two controllers at once must not write into one file."""
    (tmp_path / PARTIAL).mkdir(parents=True)
    partial = f"/{PARTIAL}"
    with (
        weights.alone(machine, partial),
        pytest.raises(ResourceError, match="is being filled by another order"),
    ):
        resources.apply(wanted(hub), machine, delivery=delivery(hub))


def test_weights_come_over_http_alone(hub: Hub, machine: Machine) -> None:
    """A file:// in a record must not read this host's files."""
    with pytest.raises(ResourceError, match=r"weights come over http:// or https:// alone"):
        resources.apply(wanted(hub), machine, delivery=delivery(hub, url="file:///etc/"))


def test_a_server_is_its_scheme_name_and_port() -> None:
    """Only the very same one is shown the token again after a redirect."""
    same = download._server("https://hub.example/a")
    assert download._server("https://hub.example:443/b") == same
    others = "http://hub.example/a", "https://hub.example:8443/", "https://hub.example.evil/"
    assert all(download._server(url) != same for url in others)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: os.truncate(f / "model.safetensors", 5), "model.safetensors has 5 bytes, not"),
        (lambda f: (f / "config.json").unlink(), "config.json is gone"),
        (lambda f: os.utime(f / "config.json", (1, 1)), "config.json was written to"),
        (lambda f: (f / "generation_config.json").write_text("{}"), "generation_config.json was a"),
        (
            lambda f: ((f / "config.json").unlink(), (f / "config.json").symlink_to("/etc/passwd")),
            "config.json is no file (link)",
        ),
        (lambda f: (f / weights.MANIFEST).write_text("{"), "does not read"),
    ],
)
def test_what_was_changed_is_named_and_never_fetched_over(
    hub: Hub, machine: Machine, tmp_path: Path, change: object, says: str
) -> None:
    """An engine may have these very files mapped: they stay until a person removes them."""
    want = fetched(hub, machine)
    assert callable(change)
    change(tmp_path / PATH[1:])
    assert says in (resources.diff(want, machine) or "")
    hub.asked.clear()
    with pytest.raises(ResourceError, match="stop what runs from it and remove the folder"):
        resources.apply(want, machine, delivery=delivery(hub))
    assert hub.asked == []


def test_a_folder_that_headway_did_not_fetch_stays(
    hub: Hub, machine: Machine, tmp_path: Path
) -> None:
    """Whatever lies there may be somebody's."""
    (tmp_path / PATH[1:]).mkdir(parents=True)
    with pytest.raises(ResourceError, match="is there, and headway did not fetch it"):
        resources.apply(wanted(hub), machine, delivery=delivery(hub))


def test_only_what_no_release_names_may_go(hub: Hub, machine: Machine, tmp_path: Path) -> None:
    """Whole ones and half fetched ones, with their bytes; what a kept release names is not told."""
    want = fetched(hub, machine)
    other = replace(want, path="/data/other-def")
    hub.down = True
    with pytest.raises(ResourceError):
        fetch(other, machine, delivery(hub), no_sleep)
    release = release_of((Part("engine", "vllm", (want,)),))
    (half,) = weights.unnamed(machine, [release])
    assert half == Folder("/data/.headway-coming-other-def", 9)
    size = sum(map(len, FILES.values())) + (tmp_path / PATH[1:] / weights.MANIFEST).stat().st_size
    assert weights.unnamed(machine, []) == (half, Folder(PATH, size))

    for folder in weights.unnamed(machine, []):
        weights.let_go(machine, folder)
    assert weights.unnamed(machine, []) == ()
    assert not (tmp_path / PATH[1:]).exists()
    assert list((tmp_path / "var/lib/headway/weights").iterdir()) == []


def test_found_weights_are_known_by_names_sizes_and_times(machine: Machine, tmp_path: Path) -> None:
    """Through the links of a cache as well; another time of change is another fingerprint."""
    folder = tmp_path / "models/x"
    folder.mkdir(parents=True)
    (tmp_path / "blob").write_bytes(b"w" * 10)
    (folder / "model.gguf").symlink_to(tmp_path / "blob")
    unknown = FoundWeights("/models/x", "any")
    said = resources.diff(unknown, machine) or ""
    assert said.startswith("/models/x holds 1 files of 10 bytes with fingerprint ")
    known = FoundWeights("/models/x", said.split("fingerprint ")[1][:12])
    assert resources.diff(known, machine) is None
    os.utime(tmp_path / "blob", (5, 5))
    assert "with fingerprint" in (resources.diff(known, machine) or "")
    with pytest.raises(ResourceError, match="headway did not fetch it and cannot"):
        resources.apply(known, machine)
    assert (
        resources.diff(FoundWeights("/none", "x"), machine) == "/none is missing or holds no file"
    )
    one = FoundWeights("/models/x/model.gguf", "any")
    assert resources.text_now(one, machine) == "10 5 model.gguf\n"
