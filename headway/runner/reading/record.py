"""The record told: releases with the texts of their files, transitions with their events."""

from typing import Dict, Iterator, List, Optional

from headway.runner.blobs import Blobs
from headway.runner.orders.session import Session
from headway.runner.reading.blotting import blotted, secrets_of
from headway.runner.records import RecordError, Records
from headway.wire.marks import ROOT
from headway.wire.phase import Exit
from headway.wire.release import EMPTY, Release
from headway.wire.talk import Done, FromHost, Recall, Recalled, Remembered, Trouble

TEXT_BYTES = 1 << 18
"""What is longer is no configuration that anybody reads."""

LEFT_BYTES = 1 << 14
"""So much of the end of a failed release's journal is told."""


def tell(session: Session, order: Recall) -> FromHost:
    """Say it; a release that is not here, or that two beginnings fit, is exit 2 with the names."""
    records = session.records
    state = records.state()
    kept = [state.running(), *(old.release for old in state.accepted), *records.releases()]
    releases: List[Release] = []
    for wanted in order.releases:
        fits = sorted({name for name in kept if name.startswith(wanted)})
        name = state.running() if wanted == "accepted" else fits[0] if len(fits) == 1 else ""
        if not name:
            known = ", ".join(fits or sorted(set(kept))[:8])
            what = "several releases begin with" if fits else "there is no release"
            return Trouble(Exit.USAGE, f"{what} {wanted!r} in this host's record: {known}")
        releases.append(_release(records, name))
    texts = dict(_texts(releases, session.machine.blobs))
    names = records.transitions()[: order.transitions]
    told = [one for name in names for one in [_remembered(records, name)] if one is not None]
    recalled = Recalled(state, tuple(releases), texts, tuple(told))
    secrets = secrets_of(records, session.machine.blobs)
    session.channel.say(blotted(recalled, Recalled, secrets))
    return Done(Exit.ACCEPTED)


def _release(records: Records, name: str) -> Release:
    try:
        return records.release(name)
    except RecordError as error:
        return Release(EMPTY.schema, name, EMPTY.origin, unheld=(str(error),))


def _texts(releases: List[Release], blobs: Blobs) -> "Iterator[tuple[str, str]]":
    """Give what is text and no secret, by the hash of its bytes."""
    secret = {blob.sha256 for one in releases for blob in one.blobs() if blob.secret}
    for release in releases:
        for blob in release.blobs():
            if blob.sha256 in secret or blob.size > TEXT_BYTES:
                continue
            try:
                yield blob.sha256, (blobs.read_if_whole(blob.sha256) or b"").decode()
            except UnicodeDecodeError:
                continue


def _remembered(records: Records, name: str) -> Optional[Remembered]:
    try:
        return Remembered(
            records.transition(name), tuple(records.events(name)), _left(records, name)
        )
    except RecordError:
        return None


def _left(records: Records, name: str) -> Dict[str, str]:
    folder = f"{ROOT}/failed/{name}"
    found = {}
    for file in sorted(records.disk.names(folder)):
        data = records.disk.read(f"{folder}/{file}")
        if data is not None and file.endswith((".state", ".journal")):
            found[file] = data[-LEFT_BYTES:].decode(errors="replace")
    return found
