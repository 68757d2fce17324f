"""What travels runs under the oldest and the newest Python of a host, and reads what we write."""

import shutil
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headway.wire.loader import dumps
from tests.lab.host import Host, HostSpec
from tests.lab.lab import REPO
from tests.lab.proof import Proofs
from tests.wire.vocabulary import dataclasses_of_the_wire, values

pytestmark = [pytest.mark.lab, pytest.mark.rollout]

THERE = "/opt/tree"
AGAIN = """\
import importlib, sys
sys.path.insert(0, sys.argv[1])
from headway.wire import loader
for row in sys.stdin:
    module, name, text = row.rstrip("\\n").split(" ", 2)
    kind = getattr(importlib.import_module(module), name)
    print(module, name, loader.dumps(loader.loads(kind, text)))
"""


def rows(each: int) -> list[str]:
    """Draw this many values of every type of the vocabulary, a line each."""
    found: list[str] = []

    def note(value: object) -> None:
        kind = type(value)
        found.append(f"{kind.__module__} {kind.__name__} {dumps(value)}")

    draw = settings(
        max_examples=each,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    for _, kind in sorted(dataclasses_of_the_wire().items()):
        draw(given(values(kind))(note))()
    return found


@pytest.mark.parametrize("recipe", ["bullseye", "trixie"])
def test_every_type_makes_the_round_trip_on_a_host(
    hosts: Callable[..., list[Host]], recipe: str, prove: Proofs
) -> None:
    """Written here, read and written there, the same bytes; every module is imported, too."""
    [host] = hosts(HostSpec(recipe, recipe), fresh=True)
    for folder in ("headway/wire", "headway/runner", "checks"):
        shutil.copytree(
            REPO / folder,
            host.path(f"{THERE}/{folder}"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copy(REPO / "headway/__init__.py", host.path(f"{THERE}/headway/__init__.py"))
    host.path(f"{THERE}/tests").mkdir()
    shutil.copy(REPO / "tests/oldest.py", host.path(f"{THERE}/tests/oldest.py"))
    host.path("/opt/again.py").write_text(AGAIN)
    sent = rows(12)

    whole = host.ssh(["python3", "-I", "-S", f"{THERE}/tests/oldest.py"])
    again = host.ssh(
        ["python3", "-I", "-S", "/opt/again.py", THERE], stdin="".join(f"{row}\n" for row in sent)
    )

    assert whole.returncode == 0, whole.stderr
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines() == sent
    prove(
        "4 types",
        f"{len(sent)} values of {len(dataclasses_of_the_wire())} types",
        whole.stdout.strip(),
    )
