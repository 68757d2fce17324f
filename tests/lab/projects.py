"""A fleet whose hosts run a Compose project: two engines and a router, each judged by itself."""

from collections.abc import Mapping
from pathlib import Path

from tests.lab.fleet import Fleet, Said
from tests.lab.lab import Lab
from tests.lab.stacks import COMPOSE, HAPROXY, Docked, Registry

PROJECT = "stack"
FOLDER = f"/srv/{PROJECT}"
ENGINES = ("engine-a", "engine-b")
OWNS: Mapping[str, Mapping[str, object]] = {
    "engine-a": {"listens": [8001]},
    "engine-b": {"listens": [8002]},
    "router": {"listens": [8080]},
}
ROLE = """\
description: a Compose project as operators write one
defaults:
  env: {}
  owns: {}
  profiles: []
  files: [compose.yaml]
  mounts: [haproxy]
  health_s: 60
resources:
  - stack:
      project: stack
      folder: project
      files: "{{ files }}"
      env: "{{ env }}"
      profiles: "{{ profiles }}"
      mounts: "{{ mounts }}"
      owns: "{{ owns }}"
gates:
  - in_place: {}
  - ready: {}
  - health: {service: "{{ owns | select('in', ['engine-a', 'engine-b']) | list }}", engine: llama_cpp, model: copy, counters: false, deadline_s: "{{ health_s }}"}
  - health: {service: "{{ owns | select('in', ['router']) | list }}", name: front, path: /health, deadline_s: "{{ health_s }}"}
  - restarts: {}
  - images: {}
  - options: {service: "{{ owns | select('in', ['engine-a', 'engine-b']) | list }}", engine: llama_cpp}
  - journal:
      service: "{{ owns | select('in', ['engine-a', 'engine-b']) | list }}"
      engine: llama_cpp
      require: ['@listening']
      forbid: ['@named']
"""  # noqa: E501 - one gate a line


class Projects:
    """Such a fleet. Images are what `env` of a host says: ENGINE_IMAGE and ROUTER_IMAGE."""

    def __init__(self, lab: Lab, folder: Path, registry: Registry) -> None:
        """Write the project and its role."""
        self.fleet = Fleet(lab, folder)
        self.folder = folder
        self.write("roles/project/role.yaml", ROLE)
        self.write("project/compose.yaml", COMPOSE)
        self.write("project/haproxy/haproxy.cfg", HAPROXY)
        self.write("inventory/group_vars/all.yaml", f"insecure_registries: [{registry.address}]\n")

    def write(self, name: str, text: str) -> None:
        """Write a file of the fleet."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def change(self, name: str, old: str, new: str) -> None:
        """Write other words into a file of the fleet; they have to be there."""
        text = (self.folder / name).read_text()
        assert old in text, (name, old)
        self.write(name, text.replace(old, new))

    def describe(self, box: Docked, engine: str, router: str, **own: object) -> None:
        """Say which images a host's project has."""
        env = {"ENGINE_IMAGE": engine, "ROUTER_IMAGE": router}
        role = {"role": "project", "env": env, "owns": OWNS, **own}
        self.fleet.describe(box.host, chat=role)

    def pin(self, box: Docked, *words: str) -> Said:
        """Pin what the host's services run."""
        return self.fleet.invoke("pin", box.host, *words)

    def rollout(self, box: Docked, *words: str) -> Said:
        """Roll out what is described."""
        return self.fleet.invoke("rollout", box.host, *words)


def pushed(box: Docked, registry: Registry, image: str, tag: str = "") -> str:
    """Push one of the lab's images and give its name there."""
    name = registry.name(tag or image)
    box.push(f"lab/{image}", name)
    return name
