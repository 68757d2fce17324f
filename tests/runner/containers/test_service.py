"""One service's container: what of it is otherwise, how it is made, kept and taken away."""

import json
from collections.abc import Callable

import pytest

from headway.runner.containers import compose, guarding, record, strangers
from headway.runner.containers.record import Made
from headway.runner.resources import ResourceError, image, service
from headway.wire.resources import Image, Pin, Service
from tests.runner.containers.world import FOLDER, POLICY, PROJECT, STACK, StackWorld, digest, pin

ROUTER = Service(PROJECT, "router", pin("router", "v1"))
NAME = f"{PROJECT}/router"


def _again(world: StackWorld) -> None:
    """Make the router anew behind headway's back, of the same files."""
    old = world.docker.one(PROJECT, "router")
    del world.docker.containers[old["Id"]]
    compose.make(world.machine, STACK, "router")
    world.docker.start(world.docker.one(PROJECT, "router"))


def _without_record(world: StackWorld) -> None:
    record.drop(world.disk, NAME)


def _edited(world: StackWorld) -> None:
    text = world.disk.read(f"{FOLDER}/compose.yaml") or b""
    edited = text.replace(b'"reg/router"', b'"reg/router", "init": true')
    world.disk.write(f"{FOLDER}/compose.yaml", edited, 0o600, *world.disk.me())


def _unknown(world: StackWorld) -> None:
    for name in ("compose.yaml", "pins.yaml"):
        whole = json.loads(world.disk.read(f"{FOLDER}/{name}") or b"")
        del whole["services"]["router"]
        text = json.dumps(whole).encode()
        world.disk.write(f"{FOLDER}/{name}", text, 0o600, *world.disk.me())


def _policy(world: StackWorld) -> None:
    container = world.docker.one(PROJECT, "router")["Id"]
    world.docker(["docker", "update", "--restart=no", container])


def _other_image(world: StackWorld) -> None:
    world.docker.one(PROJECT, "router")["Image"] = "sha256:other"


DRIFT: dict[str, tuple[Callable[[StackWorld], object], str]] = {
    "removed": (lambda w: w.docker.containers.clear(), "has no container"),
    "a second one": (lambda w: w.docker.add(PROJECT, "router", "x"), "has 2 containers, not one"),
    "another image": (_other_image, "runs image other, not"),
    "made anew": (_again, "was made by somebody else; headway's was"),
    "its record lost": (_without_record, "was made by somebody else"),
    "an edited file": (_edited, "Compose would make it anew"),
    "no such service": (_unknown, f"Compose knows no such service in {FOLDER}/compose.yaml"),
    "its policy": (_policy, f"its restart policy is no, not {POLICY}"),
    "its image gone": (lambda w: w.docker.images.clear(), "is not on this host any more"),
    "Docker down": (lambda w: w.docker.close(), "docker is not running here"),
}


@pytest.mark.parametrize("name", DRIFT)
def test_what_is_otherwise_is_named(world: StackWorld, name: str) -> None:
    """One sentence that begins with the service."""
    assert service.diff(ROUTER, world.machine) is None
    happens, words = DRIFT[name]

    happens(world)

    said = service.diff(ROUTER, world.machine)
    assert said is not None
    assert said.startswith(f"{NAME}: ")
    assert words in said


def test_a_guarded_containers_policy_is_no_drift(world: StackWorld) -> None:
    """While a transition is not decided it is "no", on purpose."""
    made = record.read(world.disk, NAME)
    assert made is not None
    record.write(world.disk, NAME, Made(made.id, made.policy, guarded=True))
    _policy(world)

    assert service.diff(ROUTER, world.machine) is None


def test_files_that_moved_by_hand_do_not_hide_behind_an_old_answer(world: StackWorld) -> None:
    """Compose is asked once, as long as its files are as they were, and again when not."""
    asked = len([call for call in world.docker.calls if "--hash" in call])
    compose.hashes(world.machine, STACK)
    compose.hashes(world.machine, STACK)
    _edited(world)

    compose.hashes(world.machine, STACK)

    now = len([call for call in world.docker.calls if "--hash" in call])
    assert now - asked <= 2


def test_a_question_ahead_is_the_one_question(world: StackWorld) -> None:
    """Whoever wants the answer later finds it there."""
    _edited(world)
    before = len(world.docker.calls)

    compose.ask_ahead(world.machine, STACK)
    compose.ask_ahead(world.machine, STACK)
    found = compose.hashes(world.machine, STACK)

    assert set(found) == {"engine", "router"}
    assert len(world.docker.calls) - before == 1


def test_nothing_is_made_of_files_that_nobody_recorded(world: StackWorld) -> None:
    """A service without its project's record is an error that names both."""
    world.disk.remove(compose.path(PROJECT))

    with pytest.raises(ResourceError, match="chat/router: no Compose files are recorded for chat"):
        service.apply(ROUTER, world.machine)


def test_composes_own_words_are_the_error(world: StackWorld) -> None:
    """What it says on stderr, without Docker's prefix."""
    world.docker.refuses["compose"] = "no space left on device"

    with pytest.raises(ResourceError, match="did not make chat/router: no space left on device"):
        service.apply(ROUTER, world.machine)


def test_a_moved_tag_of_an_adopted_project_leads_back_to_its_image(world: StackWorld) -> None:
    """Its files name a tag, and somebody pulled that anew meanwhile."""
    old, new = "sha256:" + "1" * 64, "sha256:" + "2" * 64
    world.docker.holds("plain:v1", old)
    world.docker.holds("plain:v1", new)
    held = Service(PROJECT, "router", Pin("plain:v1", image_id=old))

    service.apply(held, world.machine)

    assert world.docker.images["plain:v1"] == old


def test_what_goes_leaves_no_container_and_no_record(world: StackWorld) -> None:
    """It was stopped before."""
    service.remove(ROUTER, world.machine)

    assert [one["Name"] for one in world.docker.containers.values()] == ["/chat-engine-1"]
    assert record.read(world.disk, NAME) is None


def test_a_service_somebody_added_is_a_stranger(world: StackWorld) -> None:
    """No file of the project knows it; what the files know is none, whoever manages it."""
    assert list(strangers.strangers(world.machine, STACK)) == []
    world.docker.add(PROJECT, "extra", "x")

    [said] = strangers.strangers(world.machine, STACK)

    assert said.startswith("chat/extra: container ")


def test_making_a_guarded_container_again_keeps_the_operators_policy(world: StackWorld) -> None:
    """Compose keeps the one that fits, whose policy is "no" by then: that is not the operator's."""
    guarding.put(world.machine, [NAME])

    service.apply(ROUTER, world.machine)

    assert world.policies()["router"] == "no"
    guarding.off(world.machine, [NAME])
    assert world.policies()["router"] == POLICY


def test_a_policy_that_was_changed_by_hand_comes_back(world: StackWorld) -> None:
    """A repair took the changed one for the operator's, and rested accepted with it."""
    _policy(world)

    guarding.put(world.machine, [NAME])
    guarding.off(world.machine, [NAME])

    assert world.policies()["router"] == POLICY


def test_the_policy_of_a_container_that_is_not_headways_is_its_own(world: StackWorld) -> None:
    """Its operator made it anew from other files: on the way back it has what he gave it."""
    _again(world)
    container = world.docker.one(PROJECT, "router")["Id"]
    world.docker(["docker", "update", "--restart=on-failure", container])

    guarding.put(world.machine, [NAME])
    guarding.off(world.machine, [NAME])

    assert world.policies()["router"] == "on-failure"


# -- images


def test_a_missing_image_is_pulled_by_digest_and_kept(world: StackWorld) -> None:
    """Never by its tag, which may have moved."""
    one = Pin("reg/new:v1", digest("new"))
    world.docker.registry[one.name()] = "sha256:new"
    assert "is not on this host" in (image.diff(Image(one), world.machine) or "")

    image.apply(Image(one), world.machine)

    assert image.diff(Image(one), world.machine) is None
    assert world.docker.images[image.keep_tag(one)] == "sha256:new"
    assert [call for call in world.docker.calls if call.startswith("pull")] == [
        f"pull --quiet {one.name()}"
    ]


def test_a_pull_that_fails_says_why(world: StackWorld) -> None:
    """In the registry's words, with the reference that people know."""
    with pytest.raises(ResourceError, match="reg/lost:v1 was not pulled: manifest unknown"):
        image.apply(Image(Pin("reg/lost:v1", digest("lost"))), world.machine)


def test_an_image_for_another_machine_is_refused(world: StackWorld) -> None:
    """Docker starts it, and it dies of an exec format error."""
    one = Pin("reg/foreign:v1", digest("foreign"))
    world.docker.registry[one.name()] = "sha256:arm"

    with pytest.raises(ResourceError, match="is for linux/arm64, this host is linux/amd64"):
        image.apply(Image(one), world.machine)


def test_an_image_that_no_registry_has_cannot_be_brought(world: StackWorld) -> None:
    """It is refused before anything is tried, and where it comes from is said."""
    lost = Image(Pin("own:v1", image_id="sha256:" + "9" * 64))

    assert "no registry has it" in (image.refusal(lost, world.machine) or "")
    assert image.refusal(Image(pin("router", "v2")), world.machine) is None
