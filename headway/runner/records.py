"""The host's own record under /var/lib/headway: what was accepted, what is in hand, what failed.

One writer: only the holder of the lock writes state.json. Requests and answers are files that the
holder reads. Every write is durable but for events, which are best effort.

    state.json                    phase, accepted list, transition in hand
    releases/ID.json              releases, named by what they hash to
    criteria/ID.json              gates that judged them
    transitions/ID/               transition.json, events.ndjson, reports.json,
                                  answers/N.json, requests/NAME.json
    failed/ID/                    what a failed release left: files, logs, the snapshot
"""

import os
from dataclasses import dataclass
from typing import Callable, Iterator, List, Optional, Tuple, Type, TypeVar

from headway.runner.blobs import Blobs
from headway.runner.disk import Disk
from headway.wire.event import Answer, Event
from headway.wire.gate import Criteria, Report
from headway.wire.loader import WireError, dumps, loads
from headway.wire.marks import ROOT
from headway.wire.record import SCHEMA, State, Transition
from headway.wire.release import EMPTY, Release, release_id
from headway.wire.talk import Request

T = TypeVar("T")
STATE = ROOT + "/state.json"
_MEND = "; put it back from a backup, or move it away and `invoke adopt` what runs"
FOLDERS = ("blobs", "releases", "criteria", "transitions", "failed", "runner")


class RecordError(Exception):
    """A record is missing, does not read, or was changed by hand: which one, and what to do."""


@dataclass(frozen=True)
class _Reports:
    reports: Tuple[Report, ...] = ()


class Records:
    """Reads and writes the record through the disk seam."""

    def __init__(self, disk: Disk, last_room: Callable[[], bool] = lambda: False) -> None:
        """`last_room` makes room where a write failed, and says whether it could."""
        self.disk = disk
        self._last_room = last_room

    def prepare(self) -> None:
        """Make the folders at first contact; root's alone."""
        for name in FOLDERS:
            self.disk.mkdirs(f"{ROOT}/{name}", 0o700)

    # --- state -----------------------------------------------------------------------------

    def state(self) -> State:
        """Read where this host stands; a host without a record is IDLE on EMPTY."""
        state = self._read(State, STATE) or State()
        if state.schema > SCHEMA:
            made = f"{STATE} was written by a newer headway (schema {state.schema}, not {SCHEMA})"
            raise RecordError(f"{made}; use that one")
        return state

    def save(self, state: State) -> None:
        """Replace the state in one rename."""
        self._write(STATE, state)

    # --- releases and criteria -------------------------------------------------------------

    def release(self, name: str) -> Release:
        """Read a release and check that it still hashes to its name."""
        if name == EMPTY.id:
            return EMPTY
        path = f"{ROOT}/releases/{name}.json"
        found = self._read(Release, path)
        if found is None:
            raise RecordError(f"release {name} is not in this host's record")
        if found.id != name or release_id(found.parts) != name:
            raise RecordError(f"{path} was changed by hand: it no longer hashes to its name{_MEND}")
        return found

    def whole_release(self, name: str, blobs: Blobs) -> Release:
        """Read a release whose every blob is here as its name says, or raise RecordError."""
        release = self.release(name)
        for blob in release.blobs():
            if blobs.read_if_whole(blob.sha256) is None:
                what = f"blob {blob.sha256[:12]} of release {name}"
                raise RecordError(f"{what} is missing or was changed on this host{_MEND}")
        return release

    def keep_release(self, release: Release) -> None:
        """Keep a release under its name; EMPTY needs no file."""
        if release.id != EMPTY.id:
            self._write(f"{ROOT}/releases/{release.id}.json", release)

    def releases(self) -> List[str]:
        """Name the releases kept here."""
        return [name[:-5] for name in self.disk.names(ROOT + "/releases") if name.endswith(".json")]

    def kept(self) -> Iterator[Release]:
        """Give the releases one may go back to from here, and those of a transition in hand."""
        state = self.state()
        names = [acceptance.release for acceptance in state.accepted]
        if state.transition:
            hand = self.transition(state.transition)
            names += [hand.start, hand.target, *hand.rungs]
        for name in dict.fromkeys(names):
            yield self.release(name)

    def criteria(self, name: str) -> Optional[Criteria]:
        """Read criteria; None where an adopted release was never judged by any."""
        return self._read(Criteria, f"{ROOT}/criteria/{name}.json")

    def keep_criteria(self, criteria: Criteria) -> None:
        """Keep criteria under their name."""
        self._write(f"{ROOT}/criteria/{criteria.id}.json", criteria)

    # --- transitions -----------------------------------------------------------------------

    def folder(self, transition: str) -> str:
        """Say where a transition's files lie."""
        return f"{ROOT}/transitions/{transition}"

    def transition(self, name: str) -> Transition:
        """Read a transition, or raise RecordError."""
        path = self.folder(name) + "/transition.json"
        found = self._read(Transition, path)
        if found is None:
            raise RecordError(f"there is no transition {name} on this host")
        return found

    def keep_transition(self, transition: Transition) -> None:
        """Write a transition down, with its folders for answers and requests."""
        for name in ("", "/answers", "/requests"):
            self.disk.mkdirs(self.folder(transition.id) + name, 0o700)
        self._write(self.folder(transition.id) + "/transition.json", transition)

    def transitions(self) -> List[str]:
        """Name all transitions, newest first: their ids begin with the time they were opened."""
        return sorted(self.disk.names(ROOT + "/transitions"), reverse=True)

    def reports(self, transition: str) -> Tuple[Report, ...]:
        """Read what the gates of a transition reported so far."""
        found = self._read(_Reports, self.folder(transition) + "/reports.json")
        return found.reports if found else ()

    def keep_reports(self, transition: str, reports: Tuple[Report, ...]) -> None:
        """Keep the reports of a transition."""
        self._write(self.folder(transition) + "/reports.json", _Reports(reports))

    # --- what others say to the holder -----------------------------------------------------

    def answer(self, transition: str, n: int) -> Optional[Answer]:
        """Read the controller's answer to question `n`; None while there is silence."""
        return self._read(Answer, f"{self.folder(transition)}/answers/{n}.json")

    def put_answer(self, transition: str, answer: Answer) -> None:
        """Land an answer durably; the first one counts."""
        path = f"{self.folder(transition)}/answers/{answer.n}.json"
        if self.disk.seen(path) is None:
            self._write(path, answer)

    def request(self, transition: str, what: str) -> Optional[Request]:
        """Read a person's wish of this name."""
        return self._read(Request, f"{self.folder(transition)}/requests/{what}.json")

    def put_request(self, transition: str, request: Request) -> None:
        """Land a person's wish durably."""
        self.disk.mkdirs(self.folder(transition) + "/requests", 0o700)
        self._write(f"{self.folder(transition)}/requests/{request.what}.json", request)

    def drop_request(self, transition: str, what: str) -> None:
        """Forget a wish that was answered."""
        self.disk.remove(f"{self.folder(transition)}/requests/{what}.json")

    # --- events ----------------------------------------------------------------------------

    def events(self, transition: str, since: int = 0) -> List[Event]:
        """Read events after `since`, as far as they are whole lines."""
        return [event for event in self.tail(transition, 0)[0] if event.seq > since]

    def tail(self, transition: str, offset: int) -> Tuple[List[Event], int]:
        """Read the events from a byte offset on, and say where to go on reading."""
        path = self.disk.real(self.folder(transition) + "/events.ndjson")
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], offset
        whole = data[: data.rfind(b"\n") + 1]
        found = []
        for row in whole.splitlines():
            try:
                found.append(loads(Event, row))
            except WireError:
                continue
        return found, offset + len(whole)

    def append_event(self, event: Event) -> None:
        """Add an event; best effort: a full disk must not stop a transition."""
        path = self.disk.real(self.folder(event.transition) + "/events.ndjson")
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(fd, dumps(event).encode() + b"\n")
            finally:
                os.close(fd)
        except OSError:
            return

    # --- reading and writing ---------------------------------------------------------------

    def _read(self, kind: Type[T], path: str) -> Optional[T]:
        data = self.disk.read(path)
        if data is None:
            return None
        try:
            return loads(kind, data)
        except WireError as error:
            raise RecordError(f"{path} does not read: {error}{_MEND}") from None

    def _write(self, path: str, value: object) -> None:
        data = dumps(value).encode() + b"\n"
        try:
            self.disk.write(path, data, 0o600, *self.disk.me())
        except OSError:
            if not self._last_room():
                raise
            self.disk.write(path, data, 0o600, *self.disk.me())
