"""A stand-in for an inference engine: it speaks like one, and breaks on demand. It is no engine.

Start it from the repository with `python -m tests.engines.standin --set engine=sglang`, or from a
copy of its folder with `python -m standin`. Knobs come by --set or as JSON in STANDIN. Its port
stands in the first line on stdout; options it does not know are an engine's, and are there to be
read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import socket
import sys
from typing import Any

from .connection import Connection
from .engine import Engine
from .knobs import KnobError, Knobs, turned

_BACKLOG = 512
_KNOBS = "STANDIN"  # the variable with knobs as JSON: argv is the engine's
_PORT = "STANDIN_PORT"  # the port that a restart goes on with


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--set", action="append", default=[], help="a knob: NAME=JSON or NAME=text")
    return parser.parse_known_args()[0]


def _knobs(words: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word in words:
        name, _, text = word.partition("=")
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values


def _again(port: int, knobs: Knobs) -> None:
    """Start this process's program anew on the same port."""
    with open("/proc/self/cmdline", "rb") as file:  # noqa: PTH123 # sys.orig_argv is of 3.10
        words = file.read()[:-1].split(b"\0")
    os.environ[_KNOBS] = json.dumps(dataclasses.asdict(knobs))
    os.environ[_PORT] = str(port)
    os.execv(sys.executable, words)  # noqa: S606 # itself


def _log(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _tell(port: int) -> None:
    sys.stdout.write(json.dumps({"port": port}) + "\n")
    sys.stdout.flush()


async def _listening(engine: Engine, door: socket.socket) -> asyncio.AbstractServer:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(engine), sock=door, backlog=_BACKLOG)


async def _serve(host: str, port: int, knobs: Knobs) -> None:
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind((host, port))
    bound: int = door.getsockname()[1]
    engine = Engine(knobs, lambda new: _again(bound, new))
    for line in (*engine.dialect.log(), *knobs.log):
        _log(line)
    if knobs.load_ms and engine.dialect.closed_while_loading:  # bound, and nobody listens yet
        _tell(bound)
        await asyncio.sleep(knobs.load_ms / 1000)
        server = await _listening(engine, door)
    else:
        server = await _listening(engine, door)
        _tell(bound)
    _log(engine.dialect.ready.format(host=host, port=bound, pid=os.getpid()))
    await server.serve_forever()


def main() -> None:
    """Serve until somebody ends it."""
    given = _options()
    port = int(os.environ.pop(_PORT, given.port))
    values = {**_knobs(given.set), **json.loads(os.environ.pop(_KNOBS, "{}"))}
    try:
        knobs = turned(Knobs(), values)
    except KnobError as error:
        sys.exit(f"standin: {error}")
    asyncio.run(_serve(given.host, port, knobs))


main()
