"""Environments: built whole or not at all, from hashes alone; found ones are only looked at."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.machine import Machine
from headway.runner.resources import venv
from headway.wire.resources import FoundVenv, LockedVenv, Wheel
from tests.runner.resources.scripted import Scripted, blob, machine_at

PATH = "/opt/venvs/engine-abc"
SITE = "lib/python3.11/site-packages"
PIP = f"{PATH}/bin/python -I -m pip --isolated install"
PATCH = "--- a/eng/m.py\n+++ b/eng/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def _installed(root: Path, *names: str, path: str = PATH) -> None:
    for name in names:
        (root / path[1:] / SITE / f"{name}.dist-info").mkdir(parents=True)


OTHER_HASH = """\
ERROR: THESE DO NOT MATCH. Somebody may have tampered with them.
    engine==1 from http://x/engine.whl:
        Expected sha256 0000
"""
NO_INDEX = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'
ERROR: No matching distribution found for engine==1
"""


@pytest.fixture
def host(tmp_path: Path) -> tuple[Machine, Scripted]:
    """Give a host whose pip installs one engine with one module."""
    machine, run = machine_at(tmp_path)

    def pip(_: Sequence[str]) -> tuple[int, str, str]:
        _installed(tmp_path, "Eng_Ine-1.0", "torch-2.9.1+cu130")
        module = tmp_path / PATH[1:] / SITE / "eng/m.py"
        (module.parent / "__pycache__").mkdir(parents=True)
        module.write_text("x = 1\n")
        (module.parent / "__pycache__/m.cpython-311.pyc").write_text("")
        (module.parent / "__pycache__/mm.cpython-311.pyc").write_text("")
        return 0, "", ""

    run.table[PIP] = pip
    return machine, run


def test_it_is_built_from_lock_wheels_and_patches(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """The marker is written last, after everything else is on the disk."""
    machine, run = host
    wheel = Wheel("eng-1.0-py3-none-any.whl", blob(machine, b"PK"))
    wanted = LockedVenv(
        PATH,
        blob(machine, "torch==2.9.1 --hash=sha256:00\n"),
        "python3.11",
        "http://me@index:80/simple",
        (wheel,),
        (blob(machine, PATCH),),
    )
    assert resources.diff(wanted, machine) == f"{PATH} is missing"
    resources.apply(wanted, machine)

    build = f"{PATH}/.headway-build"
    quiet = "--require-hashes --no-input --no-cache-dir --disable-pip-version-check --quiet"
    index = "--index-url http://me@index:80/simple --trusted-host index:80"
    files = f"--requirement {build}/lock.txt --requirement {build}/wheels.txt"
    assert run.calls == [
        f"python3.11 -I -m venv {PATH}",
        f"{PIP} {quiet} {index} {files}",
        f"sync --file-system {PATH}",
    ]
    assert run.environments[1] == {"PIP_CONFIG_FILE": "/dev/null"}
    real = tmp_path / PATH[1:]
    assert (real / SITE / "eng/m.py").read_text() == "x = 2\n"
    pycache = real / SITE / "eng/__pycache__"
    assert [path.name for path in pycache.iterdir()] == ["mm.cpython-311.pyc"]
    assert (real / ".headway-complete").read_text() == "eng-ine==1.0\ntorch==2.9.1+cu130\n"
    assert not (real / ".headway-build").exists()
    assert resources.diff(wanted, machine) is None
    assert resources.text_now(wanted, machine) == "eng-ine==1.0\ntorch==2.9.1+cu130\n"


def test_wheels_go_in_under_their_own_names_and_hashes(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """The name tells pip what is in it, the hash that nobody changed it on the way."""
    machine, run = host
    seen = {}

    def pip(_: Sequence[str]) -> tuple[int, str, str]:
        build = tmp_path / PATH[1:] / ".headway-build"
        seen.update({path.name: path.read_text() for path in build.iterdir()})
        return 1, "", ""

    run.table[PIP] = pip
    data = blob(machine, "PK")
    wanted = LockedVenv(
        PATH, blob(machine, "lock\n"), wheels=(Wheel("e-1-py3-none-any.whl", data),)
    )
    with pytest.raises(resources.ResourceError):
        resources.apply(wanted, machine)
    assert seen == {
        "lock.txt": "lock\n",
        "e-1-py3-none-any.whl": "PK",
        "wheels.txt": f"{PATH}/.headway-build/e-1-py3-none-any.whl --hash=sha256:{data.sha256}\n",
    }
    assert run.environments[-1] == {}


@pytest.mark.parametrize(
    ("row", "reply", "says"),
    [
        (PIP, (1, "", "WARNING: x\nERROR: No match for torch==9\n"), "ERROR: No match for torch"),
        (PIP, (1, "", OTHER_HASH), "ERROR: THESE DO NOT MATCH: engine==1 from http://x/engine.whl"),
        (PIP, (1, "", "Killed\n"), "pip could not fill /opt/venvs/engine-abc: Killed"),
        (
            PIP,
            (1, "", NO_INDEX),
            "engine-abc: its package index does not answer; look at index_url",
        ),
        ("python3 -I", (1, "ensurepip is not available\n", ""), "package python3-venv): ensurepip"),
        ("python3 -I", (127, "", "python3: No such file\n"), "cannot make /opt/venvs/engine-abc"),
        ("sync", (1, "", "sync: Input/output error\n"), "sync failed: sync: Input/output error"),
    ],
)
def test_a_build_that_fails_leaves_nothing(
    tmp_path: Path,
    host: tuple[Machine, Scripted],
    row: str,
    reply: tuple[int, str, str],
    says: str,
) -> None:
    """And says the line of pip that decides."""
    machine, run = host
    run.table[row] = reply
    with pytest.raises(resources.ResourceError) as caught:
        resources.apply(LockedVenv(PATH, blob(machine, "lock\n")), machine)
    assert says in str(caught.value)
    assert not (tmp_path / PATH[1:]).exists()


def test_a_patch_that_does_not_fit_fails_the_build(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """An engine without its patch is another engine."""
    machine, _ = host
    patch = blob(machine, PATCH.replace("x = 1", "y = 1"))
    with pytest.raises(resources.ResourceError, match=r"hunk 1 of eng/m\.py fits in 0 places"):
        resources.apply(LockedVenv(PATH, blob(machine, "lock\n"), patches=(patch,)), machine)
    assert not (tmp_path / PATH[1:]).exists()


def test_half_a_build_is_built_anew(tmp_path: Path, host: tuple[Machine, Scripted]) -> None:
    """A power cut in the middle left a folder without the marker."""
    machine, _ = host
    _installed(tmp_path, "left-0.1")
    wanted = LockedVenv(PATH, blob(machine, "lock\n"))
    assert resources.diff(wanted, machine) == f"{PATH} was left half built"
    resources.apply(wanted, machine)
    assert not (tmp_path / PATH[1:] / SITE / "left-0.1.dist-info").exists()


def test_a_patched_one_is_named_and_never_rebuilt_under_a_running_engine(
    tmp_path: Path, host: tuple[Machine, Scripted]
) -> None:
    """`pip install` by hand at night; the running engine still reads from that folder."""
    machine, run = host
    wanted = LockedVenv(PATH, blob(machine, "lock\n"))
    resources.apply(wanted, machine)
    site = tmp_path / PATH[1:] / SITE
    (site / "torch-2.9.1+cu130.dist-info").rename(site / "torch-2.8.0.dist-info")
    _installed(tmp_path, "flash_attn-2.7")
    calls = len(run.calls)

    assert resources.diff(wanted, machine) == (
        f"{PATH} was changed by hand: flash-attn 2.7 was added, torch is 2.8.0, not 2.9.1+cu130"
    )
    with pytest.raises(resources.ResourceError, match="stop what runs from it and remove"):
        resources.apply(wanted, machine)
    assert len(run.calls) == calls


def test_a_found_one_is_judged_by_fingerprint(tmp_path: Path) -> None:
    """And cannot be brought about."""
    machine, run = machine_at(tmp_path)
    assert resources.diff(FoundVenv("/opt/v", "0" * 12), machine) == (
        "/opt/v is missing or lists no packages"
    )
    _installed(tmp_path, "vllm-0.12.0", "torch-2.9.1", path="/opt/v")
    now = venv.fingerprint(["torch==2.9.1", "vllm==0.12.0"])
    assert resources.diff(FoundVenv("/opt/v", now), machine) is None
    assert resources.diff(FoundVenv("/opt/v", "0" * 12), machine) == (
        f"/opt/v lists 2 packages with fingerprint {now}, not 000000000000"
    )
    with pytest.raises(resources.ResourceError, match="headway did not make it and cannot"):
        resources.apply(FoundVenv("/opt/v", "0" * 12), machine)
    assert run.calls == []


def test_many_differences_are_counted() -> None:
    """Three are named, as many as a line has room for."""
    built = [f"p{n}==1" for n in range(6)]
    assert venv.compare(built, []) == "p0 is gone, p1 is gone, p2 is gone, and 3 more"
    assert venv.compare(built, built) == ""
