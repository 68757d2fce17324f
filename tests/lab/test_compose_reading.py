"""Compose files are read as Compose reads them: what it says of every case, and of chance."""

import json
import random
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.control.rendering.compose import Project, ServiceText, read
from headway.control.rendering.interpolation import TemplateError, fill
from headway.control.rendering.shell_words import SplitError, split
from tests.lab.lab import Lab
from tests.lab.stacks import Docked, docked

pytestmark = [pytest.mark.lab, pytest.mark.stacks]

CASES = Path(__file__).parents[1] / "cases" / "compose" / "projects.yaml"
SIGNS = ("a", "b", "1", " ", '"', "'", "\\", ";", ">", "2>", "`", "$", "(", ")", "\n", "#")
BRACES = ("$", "{", "}", "A", "G", "E", ":-", "-", "+", ":?", "$G", "${A:-", "${G", "x")
GIVEN = {"E": "", "G": "g"}
TRIES = 400


@pytest.fixture(scope="module")
def box(lab: Lab) -> Docked:
    """Give a host with Compose."""
    return docked(lab, "reader")[0]


def config(box: Docked, folder: str, files: Mapping[str, str], env: Mapping[str, str]) -> Any:
    """Ask Compose for what these files say together; None where it refuses them."""
    here = f"/srv/{folder}"
    names = " ".join(f"-f {name}" for name in files)
    given = " ".join(shlex.quote(f"{name}={value}") for name, value in env.items())
    for name, text in {**files, **dict.fromkeys(("one.env", "two.env", "chat.env"), "")}.items():
        path = box.host.path(f"{here}/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    clean = f'env -i PATH="$PATH" HOME=/root {given}'
    asked = f"{clean} docker compose {names} --profile '*' config --format json"
    answer = box.sh(f"cd {here}; {asked} 2>/dev/null || echo null")
    return json.loads(answer)


def compared(one: ServiceText) -> dict[str, Any]:
    """Give what can be compared of a service as it is read here."""
    return {
        "image": one.image,
        "command": None if one.command is None else list(one.command),
        "entrypoint": None if one.entrypoint is None else list(one.entrypoint),
        "environment": dict(one.environment),
        "labels": dict(one.labels),
        "profiles": list(one.profiles),
        "depends_on": sorted(one.depends_on),
        "restart": one.restart,
        "network_mode": one.network_mode,
        "init": one.init,
        "ports": len(one.ports),
        "devices": [(one.driver, one.count, list(one.ids)) for one in one.devices],
        "health": one.healthcheck.get("interval"),
    }


def told(service: Mapping[str, Any]) -> dict[str, Any]:
    """Give the same of Compose's answer, which doubles every dollar."""
    deploy = service.get("deploy", {}).get("resources", {}).get("reservations", {})
    devices = [*deploy.get("devices", []), *service.get("gpus", [])]
    return {
        "image": service.get("image", ""),
        "command": plain(service.get("command")),
        "entrypoint": plain(service.get("entrypoint")),
        "environment": plain(service.get("environment", {})),
        "labels": plain(service.get("labels", {})),
        "profiles": service.get("profiles", []),
        "depends_on": sorted(service.get("depends_on", {})),
        "restart": service.get("restart", ""),
        "network_mode": service.get("network_mode", ""),
        "init": service.get("init", False),
        "ports": len(service.get("ports", [])),
        "devices": [
            (one.get("driver", ""), counted(one.get("count")), one.get("device_ids", []))
            for one in devices
        ],
        "health": service.get("healthcheck", {}).get("interval"),
    }


def plain(value: Any) -> Any:
    """Take the doubled dollars away."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.replace("$$", "$") if isinstance(value, str) else value


def counted(count: int | None) -> str:
    """Write a count as files do: -1 is all of them."""
    return "" if count is None else "all" if count == -1 else str(count)


def without_shorthand(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out who makes the cards: `gpus: all` does not say."""
    return {**fields, "devices": [one[1:] for one in fields["devices"]]}


def test_every_case_is_what_compose_says(box: Docked) -> None:
    """Files over one another, anchors, scalars, variables: service by service."""
    cases = yaml.safe_load(CASES.read_text())
    asked = {name: case for name, case in cases.items() if case.get("held") is not False}
    for number, (name, case) in enumerate(asked.items()):
        files = {f"{letter}.yaml": text for letter, text in zip("abc", case["files"], strict=False)}
        env = {key: "yes" if value is True else value for key, value in case.get("env", {}).items()}
        said = config(box, f"case{number}", files, env)
        assert (said is None) == ("error" in case), name
        if said is not None:
            made = read(list(files.items()), env)
            agree(made, said["services"], name)


def agree(made: Project, services: Mapping[str, Any], name: str) -> None:
    """See that every service is the same."""
    assert set(made.services) == set(services), name
    for service, one in made.services.items():
        mine, theirs = map(without_shorthand, (compared(one), told(services[service])))
        assert mine == theirs, f"{name}: {service}"


def test_string_commands_are_split_as_compose_splits_them(box: Docked) -> None:
    """Quotes, signs and backslashes by chance: whatever is accepted here has the same words."""
    chance = random.Random(1)  # noqa: S311 - a seed that is the same every time
    texts: dict[str, tuple[str, ...]] = {}
    while len(texts) < TRIES:
        text = "".join(chance.choices(SIGNS, k=chance.randint(1, 12)))
        try:
            texts[text] = split(text).words
        except SplitError:
            continue

    services = {
        f"s{at}": {"image": "a", "command": text.replace("$", "$$")}
        for at, text in enumerate(texts)
    }
    said = config(box, "commands", {"a.yaml": json.dumps({"services": services})}, {})

    for at, (text, words) in enumerate(texts.items()):
        assert plain(said["services"][f"s{at}"]["command"]) == list(words), text


def test_variables_are_put_in_place_as_compose_puts_them(box: Docked) -> None:
    """Braces, operators and dollars by chance: whatever is accepted here becomes the same text."""
    chance = random.Random(1)  # noqa: S311
    texts: dict[str, str] = {}
    while len(texts) < TRIES:
        text = "".join(chance.choices(BRACES, k=chance.randint(1, 8)))
        try:
            texts[text] = fill(text, GIVEN).text
        except TemplateError:
            continue

    labels = {f"l{at}": text for at, text in enumerate(texts)}
    services = {"a": {"image": "a", "labels": labels}}
    said = config(box, "texts", {"a.yaml": json.dumps({"services": services})}, GIVEN)

    for at, (text, filled) in enumerate(texts.items()):
        assert plain(said["services"]["a"]["labels"][f"l{at}"]) == filled, text
