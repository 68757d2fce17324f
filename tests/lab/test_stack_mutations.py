"""Somebody changed the record or the world: it is named before anything stops.

One host with an accepted project, release B over release A, which it could go back to. Each
mutation is made over plain ssh, named by the verb that it concerns, and mended again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.lab.fleet import Said
from tests.lab.lab import Lab
from tests.lab.looks import RECORD
from tests.lab.projects import FOLDER, PROJECT, Projects, pushed
from tests.lab.proof import Proofs
from tests.lab.stacks import PORT, Docked, Registry, docked

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

PLAN, STATUS, THERE, BACK = "plan", "status", "rollout", "rollback"
ALONE = "headway-host rollback"
CODES = {PLAN: (10,), STATUS: (0, 1), THERE: (8,), BACK: (8,), ALONE: (8,)}
LARGE = 4 << 20  # bytes of the layer that v3 of the router has more
KEPT = "cp -a --no-preserve=links {0} /root/kept"
AGAIN = "rm -rf {0} && mv -T /root/kept {0}"
NO_REGISTRY = "systemctl stop docker-registry"
A_REGISTRY = (
    "systemctl start docker-registry && curl -s --retry 100 --retry-delay 0 --retry-max-time 20 "
    f"--retry-all-errors -o /dev/null http://127.0.0.1:{PORT}/v2/"
)
# The router's container is headway's again: made of the recorded files, and noted.
MENDED = (
    "headway-host compose stack up -d router; "
    "id=$(docker inspect --format '{{.Id}}' stack-router-1); "
    f'sed -i "s/\\"id\\":\\"[0-9a-f]*\\"/\\"id\\":\\"$id\\"/" {RECORD}/containers/stack.router.json'
)


@dataclass(frozen=True)
class Mutation:
    """What is done to the host (or the registry's), the verb that names it, and in which words.

    Shell has KEPT and RUNNING, the ids of both releases; KEPT_BLOB and RUNNING_BLOB, the blob of
    each one's override; OLD and OLD_KEEP, the kept release's router and its keep tag.
    """

    verb: str
    words: tuple[str, ...]
    breaks: str = ":"
    mends: str = ":"
    store_breaks: str = ":"
    store_mends: str = ":"


def edited(path: str, sed: str, verb: str, *words: str) -> Mutation:
    """Edit a file in place."""
    return Mutation(
        verb, words, f"{KEPT.format(path)} && sed -i '{sed}' {path}", AGAIN.format(path)
    )


def deleted(path: str, verb: str, *words: str) -> Mutation:
    """Delete a file."""
    return Mutation(verb, words, f"{KEPT.format(path)} && rm {path}", AGAIN.format(path))


MUTATIONS: Mapping[str, Mutation] = {
    "the kept release's image removed, registry stopped": Mutation(
        BACK,
        ("router:v1", "not pulled"),
        'docker image rm --force "$(docker image inspect --format {{.Id}} $OLD)"',
        "docker pull -q $OLD && docker tag $OLD $OLD_KEEP",
        NO_REGISTRY,
        A_REGISTRY,
    ),
    "the kept release's image removed, on the host alone": Mutation(
        ALONE,
        ("router:v1", "not pulled"),
        'docker image rm --force "$(docker image inspect --format {{.Id}} $OLD)"',
        "docker pull -q $OLD && docker tag $OLD $OLD_KEEP",
        NO_REGISTRY,
        A_REGISTRY,
    ),
    "the running release's image untagged": Mutation(
        PLAN,
        ("router:v2", "not on this host"),
        "docker image rm --force $NEW $NEW_KEEP",
        "docker pull -q $NEW && docker tag $NEW $NEW_KEEP",
    ),
    "a keep tag moved to another image": Mutation(
        PLAN,
        ("router:v2", "kept by no tag"),
        "docker tag $OLD $NEW_KEEP",
        "docker tag $NEW $NEW_KEEP",
    ),
    "a blob of the kept release edited": edited("$KEPT_BLOB", "s/image/imago/", BACK, "blob"),
    "the same blob, on the host alone": edited("$KEPT_BLOB", "s/image/imago/", ALONE, "blob"),
    "a blob of the kept release deleted": deleted("$KEPT_BLOB", BACK, "blob", "missing"),
    "a blob of the running release edited": edited(
        "$RUNNING_BLOB", "s/image/imago/", STATUS, "blob", "changed"
    ),
    "a blob of the running release deleted": deleted("$RUNNING_BLOB", STATUS, "blob", "missing"),
    "the override deleted": deleted(f"{FOLDER}/headway.pins.yaml", PLAN, "headway.pins.yaml"),
    "the override edited": edited(
        f"{FOLDER}/headway.pins.yaml", "$ a # by hand", PLAN, "headway.pins.yaml"
    ),
    "compose.yaml edited": edited(
        f"{FOLDER}/compose.yaml", "s/--threads 1/--threads 2/", PLAN, "compose.yaml"
    ),
    "compose.yaml no YAML any more": edited(
        f"{FOLDER}/compose.yaml", "1 i {{{", PLAN, "stack/router", "Compose"
    ),
    "the variables edited": edited(
        f"{FOLDER}/stack.env", "s/router:v2/router:v1/", PLAN, "stack.env"
    ),
    "a mounted file edited": edited(
        f"{FOLDER}/haproxy/haproxy.cfg", "s/2s/9s/", PLAN, "haproxy.cfg"
    ),
    "a mounted file's mode changed": Mutation(
        PLAN,
        ("haproxy.cfg", "mode"),
        f"chmod 600 {FOLDER}/haproxy/haproxy.cfg",
        f"chmod 644 {FOLDER}/haproxy/haproxy.cfg",
    ),
    "a service added by hand": Mutation(
        STATUS,
        ("stack/extra", "somebody added"),
        "mkdir -p /tmp/extra && printf 'services:\\n  extra:\\n    image: lab/engine:v1\\n"
        '    entrypoint: [/bin/sleep, "99"]\\n    network_mode: none\\n\' > /tmp/extra/c.yaml && '
        "docker compose -p stack -f /tmp/extra/c.yaml up -d --no-recreate extra",
        "docker rm -f stack-extra-1",
    ),
    "a second container of a service": Mutation(
        PLAN,
        ("stack/router", "2 containers"),
        "headway-host compose stack up -d --no-recreate --scale router=2 router",
        "docker rm -f stack-router-2",
    ),
    "a service recreated by hand": Mutation(
        PLAN,
        ("stack/router", "made by somebody else"),
        "headway-host compose stack up -d --force-recreate router",
        MENDED,
    ),
    "a service recreated by hand from other variables": Mutation(
        PLAN,
        ("stack/router", "Compose would make it anew"),
        f"cd {FOLDER} && ENGINE_IMAGE=x ROUTER_IMAGE=$OLD docker compose up -d --no-deps router",
        MENDED,
    ),
    "a container removed by hand": Mutation(
        PLAN, ("stack/router", "no container"), "docker rm -f stack-router-1", MENDED
    ),
    "a container stopped by hand": Mutation(
        PLAN,
        ("stack/router", "exited"),
        "docker stop stack-router-1",
        "docker start stack-router-1",
    ),
    "a restart policy changed by hand": Mutation(
        PLAN,
        ("stack/router", "restart policy is no, not unless-stopped"),
        "docker update --restart=no stack-router-1",
        "docker update --restart=unless-stopped stack-router-1",
    ),
    "the record of what Compose is given edited": edited(
        f"{RECORD}/stacks/{PROJECT}.json",
        "s/compose.yaml/other.yaml/",
        PLAN,
        "stack stack",
        "differs in files",
    ),
    "a profile taken out of that record": edited(
        f"{RECORD}/stacks/{PROJECT}.json",
        's/"profiles":\\["all"\\]/"profiles":[]/',
        PLAN,
        "stack stack",
        "profiles",
    ),
    "that record deleted": deleted(
        f"{RECORD}/stacks/{PROJECT}.json", PLAN, "stack stack", "not recorded"
    ),
    "the record of a container edited": edited(
        f"{RECORD}/containers/stack.router.json",
        's/"id":"..../"id":"0000/',
        PLAN,
        "stack/router",
        "made by somebody else",
    ),
    "the record of a container deleted": deleted(
        f"{RECORD}/containers/stack.router.json", PLAN, "stack/router", "made by somebody else"
    ),
    "the kept release's record edited": edited(
        f"{RECORD}/releases/$KEPT.json", "s/router:v1/router:v2/", BACK, "was changed by hand"
    ),
    "the kept release's record edited, on the host alone": edited(
        f"{RECORD}/releases/$KEPT.json", "s/router:v1/router:v2/", ALONE, "was changed by hand"
    ),
    "the running release's record edited": edited(
        f"{RECORD}/releases/$RUNNING.json", "s/router:v2/router:v1/", THERE, "was changed by hand"
    ),
    "the wanted name taken by another container": Mutation(
        BACK,
        ("stack/router", "name stack-router-1 is taken"),
        "docker rename stack-router-1 aside && docker create --name stack-router-1 $OLD",
        "docker rm stack-router-1 && docker rename aside stack-router-1",
    ),
}


@dataclass(frozen=True)
class Other:
    """A release C that cannot come here: images and what else is described, and what is said."""

    words: tuple[str, ...]
    router: str = "router:v3"
    breaks: str = ":"
    mends: str = ":"
    store_breaks: str = ":"
    store_mends: str = ":"
    compose: tuple[str, str] = ("", "")


_PULLS = "/var/lib/docker/tmp"
_CONFIG = "/etc/docker/registry/config.yml"
_HTPASSWD = '{"realm": "lab", "path": "/etc/docker/registry/htpasswd"}'
_LOGIN = f'"auth": {{"htpasswd": {_HTPASSWD}}}'
OTHERS: Mapping[str, Other] = {
    "a manifest that the registry lost": Other(
        ("router:v3", "not pulled", "manifest unknown"),
        store_breaks="mv /var/lib/docker-registry/docker/registry/v2/repositories/router /root/",
        store_mends="mv /root/router /var/lib/docker-registry/docker/registry/v2/repositories/",
    ),
    "a registry that is down": Other(
        ("router:v3", "not pulled"), store_breaks=NO_REGISTRY, store_mends=A_REGISTRY
    ),
    "a login that the registry refuses": Other(
        ("router:v3", "not pulled", "no basic auth credentials"),
        store_breaks=f"cp -a {_CONFIG} /root/kept; {NO_REGISTRY}; "
        f"sed -i 's#\"http\":#{_LOGIN}, &#' {_CONFIG}; {A_REGISTRY}",
        store_mends=f"mv /root/kept {_CONFIG}; {NO_REGISTRY}; {A_REGISTRY}",
    ),
    "no room for the image": Other(
        ("router:v3", "no space left"),
        breaks=f"mount -t tmpfs -o size=1m tmpfs {_PULLS}",
        mends=f"umount {_PULLS}",
    ),
    "no inodes for the image": Other(
        ("router:v3", "no space left"),
        breaks=f"mount -t tmpfs -o nr_inodes=1 tmpfs {_PULLS}",
        mends=f"umount {_PULLS}",
    ),
    "a blob of the running release edited": Other(
        ("blob", "was changed"),
        "router:v1",
        "cp -a $RUNNING_BLOB /root/kept; sed -i s/image/imago/ $RUNNING_BLOB",
        "mv /root/kept $RUNNING_BLOB",
    ),
    "a log driver that keeps nothing": Other(
        ("log driver none",),
        "router:v1",
        compose=("&logging {driver: journald}", "&logging {driver: none}"),
    ),
}


@dataclass(frozen=True)
class Stood:
    """The host with its project, the registry, and the words that mutations are written in."""

    project: Projects
    box: Docked
    store: Docked
    registry: Registry
    words: Mapping[str, str]

    def sh(self, box: Docked, command: str) -> None:
        """Run a mutation's shell."""
        given = "; ".join(f"{name}={value}" for name, value in self.words.items())
        box.sh(f"set -e; cd /; {given}; {command}")

    def launches(self) -> Mapping[str, tuple[str, str]]:
        """Give each owned service's container and when it was started."""
        found = self.box.containers(PROJECT)
        return {name: (one.id, one.started) for name, one in found.items()}

    def says(self, verb: str) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        """Carry a verb through: its code, every sentence of it, and what was done to parts."""
        if verb == ALONE:
            done = self.box.host.ssh(ALONE)
            rows = tuple((done.stdout + done.stderr).splitlines())
            return done.returncode, rows, tuple(row for row in rows if "  stop  " in row)
        said = self.project.fleet.invoke(verb, self.box.host)
        rows = tuple(sentences([*said.story, *said.stderr.splitlines()]))
        return said.code, rows, stopped(said)


def stopped(said: Said) -> tuple[str, ...]:
    """Name the parts that were stopped."""
    return tuple(one["part"] for one in said.bodies("step_began") if one["step"] == "stop")


def sentences(value: Any) -> Iterator[str]:
    """Give every text in what headway said."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from sentences(each)
    elif isinstance(value, Iterable):
        for each in value:
            yield from sentences(each)


def accepted(said: Said) -> None:
    """See that a call of headway ended well."""
    assert said.code == 0, (said.sentence if said.told("host_ended") else "", said.stderr)


@pytest.fixture(scope="module")
def stood(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stood]:
    """Give a host on release B, with A to go back to; the routers differ."""
    box, store = docked(lab, "mutated", "shelf", fresh=True)
    registry = Registry(store.host)
    registry.start()
    grow = ["--entrypoint", "sh", "lab/router:v2", "-c", f"cat /dev/urandom | head -c {LARGE} > /x"]
    store.docker("run", "--name", "next", "--network", "none", *grow)
    store.docker("commit", "--change", "LABEL lab.version=v3", "next", "lab/router:v3")
    for image in ("engine:v1", "router:v1", "router:v2", "router:v3", "foreign:v1"):
        pushed(store, registry, image)
    box.remove_images("lab/router:v2")
    project = Projects(lab, tmp_path_factory.mktemp("fleet"), registry)
    words = {}
    for name, version in (("KEPT", "v1"), ("RUNNING", "v2")):
        described(project, box, registry, f"router:{version}")
        accepted(project.rollout(box))
        state = json.loads(box.sh(f"cat {RECORD}/state.json"))
        words[name] = state["accepted"][0]["release"]
        words[f"{name}_BLOB"] = override_blob(box, words[name])
    for name, version in (("OLD", "v1"), ("NEW", "v2")):
        digest = registry.digest(f"router:{version}")
        words[name] = registry.name(f"router@{digest}")
        words[f"{name}_KEEP"] = f"headway-keep:{digest.removeprefix('sha256:')[:16]}"
    yield Stood(project, box, store, registry, words)
    registry.stop()


def described(project: Projects, box: Docked, registry: Registry, router: str) -> None:
    """Describe and pin a release with this router."""
    project.describe(box, registry.name("engine:v1"), registry.name(router), profiles=["all"])
    accepted(project.pin(box))


def override_blob(box: Docked, release: str) -> str:
    """Say where the bytes of a release's override lie in the record."""
    found = json.loads(box.sh(f"cat {RECORD}/releases/{release}.json"))
    files = (each.get("file", {}) for part in found["parts"] for each in part["resources"])
    sha256 = next(
        each["blob"]["sha256"] for each in files if "headway.pins" in str(each.get("path", ""))
    )
    return f"{RECORD}/blobs/{sha256[:2]}/{sha256}"


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_named_before_anything_stops(stood: Stood, name: str, prove: Proofs) -> None:
    """The verb that it concerns names the very thing, and every container is as it was."""
    mutation = MUTATIONS[name]
    try:
        stood.sh(stood.box, mutation.breaks)
        stood.sh(stood.store, mutation.store_breaks)
        before = stood.launches()

        code, rows, stops = stood.says(mutation.verb)

        after = stood.launches()
    finally:
        stood.sh(stood.store, mutation.store_mends)
        stood.sh(stood.box, mutation.mends)
    named = [row for row in rows if all(word in row for word in mutation.words)]
    assert named, "\n".join((f"code {code}", *rows))
    assert not stops
    assert after == before
    assert code in CODES[mutation.verb]
    prove("3 mutations", f"{name}; {mutation.verb}", named[0])


@pytest.mark.parametrize("name", OTHERS)
def test_what_cannot_come_here_is_named_in_stage(stood: Stood, name: str, prove: Proofs) -> None:
    """Another release whose images or logs are not to be had is refused, nothing was touched."""
    other = OTHERS[name]
    project = stood.project
    try:
        if other.compose[0]:
            project.change("project/compose.yaml", *other.compose)
        described(project, stood.box, stood.registry, other.router)
        stood.sh(stood.box, other.breaks)
        stood.sh(stood.store, other.store_breaks)
        before = stood.launches()

        code, rows, stops = stood.says(THERE)

        after = stood.launches()
    finally:
        stood.sh(stood.store, other.store_mends)
        stood.sh(stood.box, other.mends)
        if other.compose[0]:
            project.change("project/compose.yaml", *reversed(other.compose))
        described(project, stood.box, stood.registry, "router:v2")
    named = [row for row in rows if all(word in row for word in other.words)]
    assert named, "\n".join((f"code {code}", *rows))
    assert not stops
    assert after == before
    assert code in CODES[THERE]
    prove("3 mutations", f"{name}; rollout", named[0])


def test_an_image_of_another_platform_is_no_pin(stood: Stood, prove: Proofs) -> None:
    """It is named where it would be pinned; nothing of it comes to the host."""
    foreign = stood.registry.name("foreign:v1")
    stood.project.describe(stood.box, stood.registry.name("engine:v1"), foreign, profiles=["all"])

    said = stood.project.pin(stood.box)

    described(stood.project, stood.box, stood.registry, "router:v2")
    assert said.code == 2
    assert "foreign:v1 is not for linux/amd64" in said.stderr
    prove("3 mutations", "an image for another platform; pin", said.stderr.splitlines()[0])


def test_the_mended_host_stands_as_accepted(stood: Stood) -> None:
    """After all of that the same release is unchanged: every mutation was the named one alone."""
    said = stood.project.rollout(stood.box)

    assert [one["outcome"] for one in said.bodies("rested")] == ["unchanged"], said.stderr


def test_a_rollback_needs_nothing_of_what_it_leaves(stood: Stood, prove: Proofs) -> None:
    """Drift is told first; the left release's image and bytes are lost, and A comes back."""
    wanted = stood.box.inspect(stood.words["OLD"])["Id"]
    stood.sh(stood.store, NO_REGISTRY)
    stood.sh(stood.box, f"rm $RUNNING_BLOB; sed -i s/2s/9s/ {FOLDER}/haproxy/haproxy.cfg")
    stood.sh(stood.box, "docker image rm --force $NEW $NEW_KEEP")

    code, rows, _ = stood.says(ALONE)

    stood.sh(stood.store, A_REGISTRY)
    assert code == 0, rows
    assert stood.box.container(PROJECT, "router").image == wanted
    notes = [at for at, row in enumerate(rows) if row.startswith("note: ")]
    stops = [at for at, row in enumerate(rows) if "  stop  " in row]
    drift = next(row for row in rows if "haproxy.cfg" in row)
    assert rows.index(drift) < stops[0]
    assert len(notes) >= 2
    prove("3 mutations", "a rollback over drift, image and blob of B lost", drift)
