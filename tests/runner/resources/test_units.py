"""A unit: what systemd goes by is as wanted, strangers are named, and it is there and back."""

from pathlib import Path

import pytest

from headway.runner import resources
from headway.runner.resources import unit as units
from headway.wire.record import Absent, Before, WasUnit
from headway.wire.resources import DropIn, Unit
from tests.runner.resources.scripted import blob, machine_at, tree

FRAGMENT = "[Service]\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n"
UNITS = "etc/systemd/system"


def _put(root: Path, path: str, text: str) -> Path:
    real = root / path
    real.parent.mkdir(parents=True, exist_ok=True)
    real.write_text(text)
    return real


def _enable(root: Path, name: str) -> None:
    wants = root / UNITS / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / name).symlink_to(f"/etc/systemd/system/{name}")


def test_fragment_and_dropins_are_written(tmp_path: Path) -> None:
    """A secret one is for root alone; whether it is enabled is not apply's to bring about."""
    machine, run = machine_at(tmp_path)
    unit = Unit(
        "x.service",
        blob(machine, FRAGMENT),
        dropins=(DropIn("10-a.conf", blob(machine, "[Unit]\n", secret=True)),),
    )
    resources.apply(unit, machine)
    assert (tmp_path / UNITS / "x.service").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / UNITS / "x.service.d/10-a.conf").stat().st_mode & 0o777 == 0o600
    assert resources.diff(unit, machine, enabled=False) is None
    assert run.calls == []


@pytest.mark.parametrize(
    ("wanted", "linked", "text", "says"),
    [
        (True, False, FRAGMENT, "x.service: is not enabled: it would not start at boot"),
        (True, True, FRAGMENT, None),
        (False, True, FRAGMENT, "x.service: is enabled, and should not start at boot"),
        (False, False, FRAGMENT, None),
        (True, False, "[Service]\nExecStart=/bin/true\n", None),
        (True, False, "[Install]\n#WantedBy=multi-user.target\n", None),
    ],
)
def test_enabled_is_read_from_links(
    tmp_path: Path, *, wanted: bool, linked: bool, text: str, says: str | None
) -> None:
    """No command is run for it; a unit without [Install] cannot be enabled, so nothing is said."""
    machine, run = machine_at(tmp_path)
    unit = Unit("x.service", blob(machine, text), wanted)
    _put(tmp_path, f"{UNITS}/x.service", text)
    if linked:
        _enable(tmp_path, "x.service")
    assert resources.diff(unit, machine) == says
    assert run.calls == []


def test_strangers_are_named_and_the_guard_is_none(tmp_path: Path) -> None:
    """`systemctl edit` at night changes what runs; the plan has to say so."""
    machine, _ = machine_at(tmp_path)
    unit = Unit("x.service", blob(machine, FRAGMENT))
    _put(tmp_path, f"{UNITS}/x.service", FRAGMENT)
    _put(tmp_path, f"{UNITS}/x.service.d/override.conf", "[Service]\n")
    _put(tmp_path, f"{UNITS}/x.service.d/zz-headway-guard.conf", "[Unit]\n")
    _put(tmp_path, "run/systemd/system.control/x.service.d/50-CPU.conf", "[Service]\n")

    assert resources.diff(unit, machine, enabled=False) == (
        "x.service: /etc/systemd/system/x.service.d/override.conf is not of this release; "
        "/run/systemd/system.control/x.service.d/50-CPU.conf changes it"
    )
    assert "50-CPU.conf changes x.service; remove it" in str(resources.refusal(unit, machine))


def test_a_stranger_goes_and_comes_back(tmp_path: Path) -> None:
    """Its bytes are kept with the before-images, its folder with its mode."""
    machine, _ = machine_at(tmp_path, {"systemctl show": (0, "ActiveState=active\n", "")})
    _put(tmp_path, f"{UNITS}/x.service", FRAGMENT)
    _put(tmp_path, f"{UNITS}/x.service.d/override.conf", "[Service]\nNice=3\n")
    (tmp_path / UNITS / "x.service.d").chmod(0o700)
    whole = tree(tmp_path)
    unit = Unit("x.service", blob(machine, FRAGMENT + "#\n"))

    was = resources.before(unit, machine)
    resources.apply(unit, machine)

    assert not (tmp_path / UNITS / "x.service.d").exists()
    assert was[0] == Before("unit:x.service", WasUnit(enabled=False, active=True))
    resources.restore(was, machine)
    assert tree(tmp_path) == whole


def test_a_packaged_unit_is_uncovered_not_copied(tmp_path: Path) -> None:
    """Going back to a packaged unit must not leave a copy that hides the package's next version."""
    machine, _ = machine_at(tmp_path)
    _put(tmp_path, "usr/lib/systemd/system/x.service", FRAGMENT)
    packaged = Unit("x.service", blob(machine, FRAGMENT))
    assert resources.diff(packaged, machine, enabled=False) is None

    resources.apply(Unit("x.service", blob(machine, "[Service]\n")), machine)
    assert (tmp_path / UNITS / "x.service").read_text() == "[Service]\n"
    resources.apply(packaged, machine)

    assert not (tmp_path / UNITS / "x.service").exists()
    assert resources.diff(packaged, machine, enabled=False) is None


def test_removing_takes_links_along(tmp_path: Path) -> None:
    """A unit whose fragment is gone cannot be disabled: systemctl refuses, the link would stay."""
    machine, run = machine_at(tmp_path)
    unit = Unit("x.service", blob(machine, FRAGMENT))
    resources.apply(unit, machine)
    _enable(tmp_path, "x.service")
    resources.remove(unit, machine)
    assert list((tmp_path / UNITS).iterdir()) == []
    assert run.calls == []


@pytest.mark.parametrize(
    ("was", "linked", "calls", "after"),
    [
        (WasUnit(enabled=True, active=False), False, ["systemctl enable x.service"], False),
        (WasUnit(enabled=True, active=False), True, [], True),
        (WasUnit(enabled=False, active=True), True, [], False),
        (Absent(), True, [], False),
    ],
)
def test_enabled_is_put_back(
    tmp_path: Path, was: WasUnit | Absent, *, linked: bool, calls: list[str], after: bool
) -> None:
    """Only systemd makes links: it knows aliases and templates."""
    machine, run = machine_at(tmp_path)
    _put(tmp_path, f"{UNITS}/x.service", FRAGMENT)
    if linked:
        _enable(tmp_path, "x.service")
    resources.restore((Before("unit:x.service", was),), machine)
    assert run.calls == calls
    assert bool(units.links("x.service", machine)) is after


def test_text_is_shown_as_systemctl_cat_does(tmp_path: Path) -> None:
    """And not at all where any of it is secret."""
    machine, _ = machine_at(tmp_path)
    drop = DropIn("10-a.conf", blob(machine, "[Unit]\n"))
    unit = Unit("x.service", blob(machine, FRAGMENT), dropins=(drop,))
    assert resources.text_now(unit, machine) is None
    resources.apply(unit, machine)
    assert resources.text_now(unit, machine) == (
        f"# /etc/systemd/system/x.service\n{FRAGMENT}\n"
        "# /etc/systemd/system/x.service.d/10-a.conf\n[Unit]\n"
    )
    hidden = Unit("x.service", blob(machine, FRAGMENT, secret=True))
    assert resources.text_now(hidden, machine) is None
