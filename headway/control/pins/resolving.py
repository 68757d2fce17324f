"""An image's reference resolved to what it is now, by its registry: `Registries.resolve`."""

from collections.abc import Callable
from pathlib import Path

from headway.control import local
from headway.control.errors import ConfigError, UnreachableError, UsageError
from headway.control.pins import credentials, web
from headway.control.pins.manifest import manifest, platform_of
from headway.control.pins.pins import Entry, lacks
from headway.control.pins.reference import Reference, is_id, reference
from headway.control.pins.registry import Registry, UnknownImageError
from headway.control.pins.settings import is_plain

Now = Callable[[], str]


class Registries:
    """All registries of one verb, each with its login and tokens; `now` gives a UTC time."""

    def __init__(
        self,
        known: credentials.Known,
        now: Now,
        *,
        file: Path,
        ask: web.Ask = web.ask,
        run: credentials.Run = local.run,
    ) -> None:
        self._known = known
        self._now = now
        self._file = file
        self._ask = ask
        self._run = run
        self._open: dict[tuple[str, bool], Registry] = {}

    def resolve(
        self,
        ref: str,
        where: str,
        platforms: tuple[str, ...],
        *,
        insecure: tuple[str, ...] = (),
        was: Entry | None = None,
    ) -> Entry:
        """Ask what an image is now, and see that it is for all of these platforms.

        An image that is what it `was` is that very entry: the registry is asked for no more.
        ConfigError at `where`: the image, the login or the platform; UnknownImageError: nobody
        there has it; UnreachableError: no answer.
        """
        image = reference(ref, where)
        try:
            found = self._found(image, insecure, platforms, was)
        except UnknownImageError as error:
            raise UnknownImageError(f"{where}: {error}", hint=error.hint) from None
        except UnreachableError as error:
            raise UnreachableError(f"{ref}: {error}", hint=error.hint) from None
        except UsageError as error:
            raise ConfigError(where, f"image {ref}: {error}", hint=error.hint) from None
        for each in platforms:
            if found.platforms and each not in found.platforms:
                hint = "another tag, or image_platform: what this host is"
                raise ConfigError(where, f"image {ref} {lacks(found, each)}", hint=hint)
        return found

    def _found(
        self,
        image: Reference,
        insecure: tuple[str, ...],
        platforms: tuple[str, ...],
        was: Entry | None,
    ) -> Entry:
        registry = self._registry(image, insecure)
        digest = registry.digest(image)
        if not is_id(digest):
            raise UsageError(f"{registry.name} names it {digest!r}, and Docker takes sha256 alone")
        if was is not None and was.digest == digest:
            return was
        try:
            found, size = _contents(registry, image, digest, platforms)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{registry.name} has a manifest that nobody can read: {error}"
            ) from None
        return Entry(digest=digest, platforms=found, size=size, resolved_at=self._now())

    def _registry(self, image: Reference, insecure: tuple[str, ...]) -> Registry:
        name, plain = image.registry, is_plain(image, insecure)
        if (name, plain) not in self._open:

            def login() -> credentials.Login:
                return credentials.login(name, self._known, file=self._file, run=self._run)

            self._open[name, plain] = Registry(name, login, plain=plain, ask=self._ask)
        return self._open[name, plain]


def _contents(
    registry: Registry, image: Reference, digest: str, platforms: tuple[str, ...]
) -> tuple[tuple[str, ...], int]:
    """Say which platforms an image is for, and how many bytes a pull for ours brings."""
    told = manifest(registry.content(image, "manifests", digest))
    if not told.is_index:
        name = platform_of(registry.content(image, "blobs", told.config))
        return ((name,) if name else ()), told.size
    mine = next((told.platforms[each] for each in platforms if each in told.platforms), "")
    size = manifest(registry.content(image, "manifests", mine)).size if mine else 0
    return tuple(sorted(told.platforms)), size
