"""`pin`: resolve the images of hosts' owned services into pins.yaml, and say what moved."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from headway.control.desk import Desk
from headway.control.errors import ConfigError, HeadwayError, RefusedError
from headway.control.fleet import PINS
from headway.control.inventory.model import Host
from headway.control.pins import credentials
from headway.control.pins.docker import Held, held
from headway.control.pins.pins import Entry, Pins, lacks, write
from headway.control.pins.reference import is_id, reference
from headway.control.pins.registry import UnknownImageError
from headway.control.pins.resolving import Registries
from headway.control.pins.settings import Settings, settings
from headway.control.pins.sources import Sources
from headway.control.pins.wanted import Images, Wanted
from headway.control.telling.table import table
from headway.wire.phase import Exit, worst

SHORT = len("sha256:") + 12


@dataclass(frozen=True)
class Need:
    """One reference, and who wants it: (host, what it runs as, how its host finds images)."""

    ref: str
    where: str
    users: tuple[tuple[Host, Wanted, Settings], ...]

    @property
    def services(self) -> tuple[str, ...]:
        """Name the services as their parts are named, INSTANCE.SERVICE, each once."""
        return tuple(dict.fromkeys(f"{w.instance}.{w.service}" for _, w, _ in self.users))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Name the hosts, each once."""
        return tuple(dict.fromkeys(host.name for host, _, _ in self.users))

    @property
    def platforms(self) -> tuple[str, ...]:
        """Say what the image has to be for."""
        return tuple(dict.fromkeys(w.platform or found.platform for _, w, found in self.users))


@dataclass(frozen=True)
class Row:
    """What became of one reference; `new` None: it could not be resolved."""

    need: Need
    old: Entry | None
    new: Entry | None


def pin(desk: Desk, images: Images, *, repin: bool, on_host: Sequence[str] = ()) -> Exit:
    """Resolve what is not pinned yet, with `repin` all of it, and write pins.yaml.

    `on_host` names references that no registry has, as `images_on_host` does. What cannot be
    resolved is said, a line each; the rest is written all the same.
    """
    registries = Registries(desk.fleet.secrets.known, _now, file=credentials.config_file())
    was = desk.fleet.pins.entries
    rows: list[Row] = []
    failed: list[HeadwayError] = []
    inventory = desk.inventory
    with Sources(inventory.names, inventory.host, desk.reach) as hosts:
        for need in needed(desk.hosts, images):
            old = was.get(need.ref)
            try:
                if old is not None and not repin:
                    new = _kept(need, old)
                else:
                    new = _now_is(need, old, registries, hosts, on_host)
                rows.append(Row(need, old, new))
            except HeadwayError as error:
                failed.append(error)
                rows.append(Row(need, old, None))
    entries = {**was, **{row.need.ref: row.new for row in rows if row.new is not None}}
    changed = entries != was
    if changed:
        write(desk.fleet.root / PINS, Pins(entries))
    _show(desk, rows, changed=changed)
    for problem in failed:
        desk.complain(problem)
    return worst(problem.exit_code for problem in failed)


def needed(hosts: Sequence[Host], images: Images) -> Iterator[Need]:
    """Put together who wants what, in the order of hosts and services."""
    found: dict[str, Need] = {}
    for host in hosts:
        own = settings(host.vars)
        for wanted in images(host):
            if is_id(wanted.ref):
                continue  # it says itself what it is
            need = found.get(wanted.ref) or Need(wanted.ref, wanted.where, ())
            found[wanted.ref] = replace(need, users=(*need.users, (host, wanted, own)))
    yield from found.values()


def _kept(need: Need, old: Entry) -> Entry:
    """Leave a pin as it is; the registry is not asked."""
    for each in need.platforms:
        if old.platforms and each not in old.platforms:
            raise ConfigError(need.where, f"image {need.ref} {lacks(old, each)}")
    return old


def _now_is(
    need: Need, old: Entry | None, registries: Registries, hosts: Sources, on_host: Sequence[str]
) -> Entry:
    """Ask what the image is now: its registry, or where it is that no registry has."""
    named = reference(need.ref, need.where).named
    declared = any(own.is_on_host(need.ref) for _, _, own in need.users)
    if declared or any(fnmatchcase(need.ref, pattern) for pattern in on_host):
        found = _on_hosts(need, old, hosts)
        if found is None:
            names = ", ".join(dict.fromkeys(own.source or host.name for host, _, own in need.users))
            problem = f"image {need.ref} is on none of: {names}"
            hint = "build or load it there, or set images_from"
            raise ConfigError(need.where, problem, hint=hint)
        return found
    insecure = tuple({name for _, _, own in need.users for name in own.insecure})
    try:
        return registries.resolve(need.ref, need.where, need.platforms, insecure=insecure, was=old)
    except UnknownImageError:
        found = None if named else _on_hosts(need, old, hosts)
        if found is None:
            raise
        return found


def _on_hosts(need: Need, old: Entry | None, hosts: Sources) -> Entry | None:
    """Read the id where the image comes from, else on every host that runs it; None: nowhere.

    It must be one and the same image, for the platform of its hosts.
    """
    seen: dict[str, Held] = {}
    for host, _, own in need.users:
        name, transport = hosts.of(host, own)
        found = None if name in seen else held(transport, need.ref, name)
        if found is not None:
            seen[name] = found
    if not seen:
        return None
    name, first = next(iter(seen.items()))
    other = next((n for n, each in seen.items() if each.image_id != first.image_id), "")
    if other:
        problem = f"image {need.ref} is another one on {other} than on {name}"
        raise RefusedError(f"{need.where}: {problem}", hint=f"set images_from: {name}, or {other}")
    for each in need.platforms:
        if each.split("/")[:2] != first.platform.split("/"):
            problem = f"image {need.ref} on {name} is for {first.platform}, and not for {each}"
            raise ConfigError(need.where, problem)
    if old is not None and old.image_id == first.image_id:
        return old
    return Entry(image_id=first.image_id, read_on=name, size=first.size, resolved_at=_now())


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# --- what is said ------------------------------------------------------------------------------


def _show(desk: Desk, rows: Sequence[Row], *, changed: bool) -> None:
    if desk.json:
        for row in rows:
            desk.row("pin", _json(row))
        return
    if not rows:
        desk.print("these hosts have no owned services: nothing to pin")
        return
    header = ("SERVICE", "HOSTS", "IMAGE", "OLD", "NEW")
    drawn = [
        (", ".join(need.services), ", ".join(need.hosts), need.ref, *_words(row))
        for row in rows
        for need in (row.need,)
    ]
    ending = f"wrote {PINS}; commit it" if changed else f"{PINS} stays as it is"
    desk.print(f"{table(header, drawn, desk.width)}\n{ending}")


def _words(row: Row) -> tuple[str, str]:
    """Say old and new so short that both fit a line; the whole of it is in the file."""
    old = row.old.content[:SHORT] if row.old else "-"
    if row.new is None:
        return old, "not resolved"
    same = row.old is not None and row.old.content == row.new.content
    on = f" on {row.new.read_on}" if row.new.read_on else ""
    return old, "as pinned" if same else row.new.content[:SHORT] + on


def _json(row: Row) -> dict[str, object]:
    return {
        "ref": row.need.ref,
        "services": list(row.need.services),
        "hosts": list(row.need.hosts),
        "old": row.old.content if row.old else "",
        "new": row.new.content if row.new else "",
    }
