"""What an inventory says of images: variables of hosts and groups, each with its line.

insecure_registries: [registry.lab:5000]    asked and pulled from without TLS
images_on_host: ["acme/*"]                  no registry has these: pinned by id
images_from: gpu1                           who brings them to a host: a host, or controller
image_platform: linux/arm64                 linux/amd64 where nobody says
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from headway.control.inventory.misfit import misfit, text
from headway.control.inventory.model import Value
from headway.control.pins.pins import PLATFORM
from headway.control.pins.reference import Reference, is_here

CONTROLLER = "controller"


@dataclass(frozen=True)
class Settings:
    """How the images of one host are found; `source` is a host's name, CONTROLLER, or ""."""

    insecure: tuple[str, ...] = ()
    on_host: tuple[str, ...] = ()
    source: str = ""
    source_where: str = ""
    platform: str = PLATFORM

    def is_on_host(self, ref: str) -> bool:
        """Say whether the operator declares that no registry has an image."""
        return any(fnmatchcase(ref, pattern) for pattern in self.on_host)


def settings(values: Mapping[str, Value]) -> Settings:
    """Read them; what does not fit is a ConfigError at its line."""
    source = values.get("images_from")
    return Settings(
        _words(values, "insecure_registries"),
        _words(values, "images_on_host"),
        text(values, "images_from") or "",
        source.where if source else "",
        text(values, "image_platform") or PLATFORM,
    )


def is_plain(image: Reference, insecure: tuple[str, ...]) -> bool:
    """Say whether a registry is asked without TLS: this machine itself, or so declared."""
    return is_here(image.registry) or image.registry in insecure


def _words(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    if name not in values:
        return ()
    told = values[name].value
    if told is None:
        return ()
    if not isinstance(told, list) or not all(isinstance(word, str) and word for word in told):
        raise misfit(values[name], name, f"wants a list of words, got {told!r}")
    return tuple(told)
