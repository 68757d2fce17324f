"""Whose a process is, by whole cgroup paths; how systemd and LXC lay those out."""

import pytest

from headway.runner.cards.evict.claim import cgroup_of, guest_cgroups, is_one_s_own
from headway.runner.cards.evict.process import lies_in

DOCKER = "/docker/" + "0f" * 32


@pytest.mark.parametrize(
    ("cgroup", "own"),
    [
        ("/system.slice/engine.service", True),
        ("/system.slice/system-engine.slice/engine@1.service", True),
        ("/system.slice/docker-" + "0f" * 32 + ".scope", True),
        (DOCKER, True),
        ("/lxc/129/ns" + DOCKER, True),
        ("/lxc/129/ns/system.slice/engine.service", True),
        ("/", False),
        ("", False),
        ("/system.slice", False),
        ("/init.scope", False),
        ("/lxc/129/ns/init.scope", False),
        ("/lxc/129/ns", False),
        ("/lxc.payload.129", False),
        ("/docker", False),
        ("/system.slice/../engine.service", False),
        ("engine.service", False),
    ],
)
def test_only_one_unit_s_or_container_s_cgroup_can_be_claimed(cgroup: str, *, own: bool) -> None:
    """A slice, a root or a whole guest would claim what is not ours."""
    assert is_one_s_own(cgroup) is own


@pytest.mark.parametrize(
    ("cgroup", "above", "inside"),
    [
        ("/system.slice/engine.service", "/system.slice/engine.service", True),
        ("/system.slice/engine.service/worker", "/system.slice/engine.service", True),
        ("/system.slice/engine.service2", "/system.slice/engine.service", False),
        ("/system.slice/engine", "/system.slice/engine.service", False),
        ("/lxc/129/ns/system.slice/engine.service", "/system.slice/engine.service", False),
        ("/anything", "/", False),
        ("/anything", "", False),
    ],
)
def test_whole_names_of_the_path_count(cgroup: str, above: str, *, inside: bool) -> None:
    """A beginning of a name is another name, and the root holds nobody in particular."""
    assert lies_in(cgroup, above) is inside


@pytest.mark.parametrize(
    ("slice_", "unit", "cgroup"),
    [
        ("system.slice", "engine.service", "/system.slice/engine.service"),
        ("-.slice", "engine.service", "/engine.service"),
        ("a-b-c.slice", "e.service", "/a.slice/a-b.slice/a-b-c.slice/e.service"),
        ("", "engine.service", ""),
    ],
)
def test_a_unit_that_is_down_lies_where_its_slice_puts_it(
    slice_: str, unit: str, cgroup: str
) -> None:
    """systemd.slice(5): each dash in a slice's name is a folder."""
    assert cgroup_of(slice_, unit) == cgroup


@pytest.mark.parametrize("cgroup", ["/", "", "/system.slice", "/init.scope", "/../x.service"])
def test_a_node_is_never_asked_for_a_whole_guest(cgroup: str) -> None:
    """What is not one unit's in there matches nothing, and so does a number that is none."""
    assert guest_cgroups(129, cgroup) == ()
    assert guest_cgroups(0, "/system.slice/engine.service") == ()


def test_a_guest_s_unit_is_found_in_every_layout_and_in_no_other_guest() -> None:
    """lxc/129/ns is Proxmox's; 1290 and the monitor's are not it."""
    found = guest_cgroups(129, "/system.slice/engine.service")
    assert found == (
        "/lxc/129/ns/system.slice/engine.service",
        "/lxc/129/system.slice/engine.service",
        "/lxc.payload.129/system.slice/engine.service",
    )
    for other in ("/lxc/1290/ns", "/lxc.monitor/129", "/lxc/130/ns", "/system.slice/lxc/129/ns"):
        path = other + "/system.slice/engine.service"
        assert not [own for own in found if lies_in(path, own)]
