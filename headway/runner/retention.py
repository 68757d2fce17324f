"""What of the record is let go, and what never is while something may still need it."""

import os
from typing import Iterable, Set

from headway.runner.blobs import FOLDER
from headway.runner.changes import has_stack
from headway.runner.disk import Disk
from headway.runner.machine import Machine
from headway.runner.records import RecordError, Records
from headway.wire.marks import ROOT
from headway.wire.record import Before, WasFile

TRANSITIONS = 20
REJECTED = 20
RUNNERS = 3  # the current one and two that another controller may be using


def sweep(machine: Machine, records: Records) -> None:
    """Let go of old transitions, and of releases, criteria and blobs that nothing names any more.

    Best effort and only at rest: a record that does not read keeps everything.
    """
    try:
        _sweep(machine, records)
        _drop_runners(machine.disk)
    except (OSError, RecordError):
        return


def _sweep(machine: Machine, records: Records) -> None:
    state = records.state()
    for name in records.transitions()[TRANSITIONS:]:
        if name != state.transition:
            machine.disk.rmtree(records.folder(name))
    releases = {acceptance.release for acceptance in state.accepted}
    criteria = {acceptance.criteria for acceptance in state.accepted}
    blobs = _imaged(state.under)
    for name in records.transitions():
        transition = records.transition(name)
        releases.update((transition.start, transition.target, *transition.rungs))
        criteria.add(transition.criteria)
        blobs.update(_imaged(transition.before))
    for name in releases.intersection(records.releases()):
        blobs.update(blob.sha256 for blob in records.release(name).blobs())
    _drop(machine.disk, ROOT + "/releases", {name + ".json" for name in releases})
    _drop(machine.disk, ROOT + "/criteria", {name + ".json" for name in criteria})
    for folder in machine.disk.names(FOLDER):
        _drop(machine.disk, f"{FOLDER}/{folder}", blobs)
    _let_go_of_images(machine, records)


def _let_go_of_images(machine: Machine, records: Records) -> None:
    """Take headway's tags off the images that only releases had which are kept no more."""
    kept = tuple(records.kept())
    if any(has_stack(release) for release in kept):
        from headway.runner.containers import keeping  # where there are containers

        keeping.let_go(machine, kept)


def _drop_runners(disk: Disk) -> None:
    """Let go of old runners, and of what one left that arrived damaged."""
    folder = ROOT + "/runner"
    if disk.seen(folder + "/current") is None:
        return
    current = disk.link(folder + "/current")
    others = [name for name in disk.names(folder) if name not in ("current", current)]
    newest_first = sorted(others, key=lambda name: -os.stat(disk.real(f"{folder}/{name}")).st_mtime)
    for name in newest_first[RUNNERS - 1 :]:
        disk.rmtree(f"{folder}/{name}")


def _imaged(entries: Iterable[Before]) -> Set[str]:
    states = (entry.state for entry in entries)
    return {was.blob.sha256 for was in states if isinstance(was, WasFile)}


def _drop(disk: Disk, folder: str, kept: Set[str]) -> None:
    for name in disk.names(folder):
        if name not in kept:
            os.unlink(disk.real(f"{folder}/{name}"))
