"""Why a guest does not answer: one question to its Proxmox node, asked only after a failure.

`pct` and `qm` say in prose what is wrong, and it differs by version; so nothing is read out of
their complaints. The node is asked for facts instead: the guest's status, its lock, where in the
cluster its configuration lies. `reason` makes one sentence of them, and what to do next.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headway.control.errors import LostError, UnreachableError
from headway.control.inventory.model import KINDS, Kind, Via
from headway.control.reaching.command import ran
from headway.control.reaching.transport import Transport

QUESTION_S = 15
TOOLS: dict[Kind, str] = {"lxc": "pct", "qemu": "qm"}
_FOLDERS: dict[str, Kind] = {"lxc": "lxc", "qemu-server": "qemu"}
_SPEAKS = re.compile(r"(enabled=)?(1|yes|on|true)(,.*)?", re.IGNORECASE)
_QUESTION = (
    "LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/sbin:/sbin; echo uid=$(id -u); "
    "echo tool=$(command -v {tool}); echo status=$({tool} status {vmid} 2>&1 | head -n 1); "
    '{tool} config {vmid} 2>/dev/null | sed -n "s/^lock: */lock=/p;s/^agent: */agent=/p"; '
    "cd /etc/pve/nodes 2>/dev/null && find . -maxdepth 3 -name {vmid}.conf; true"
)


@dataclass(frozen=True)
class Found:
    """What a node says of a guest. `status` is None where the node has no such guest.

    `places` are the nodes of the cluster that hold a configuration of that number, with its kind.
    """

    root: bool
    tool: bool
    status: str | None = None
    lock: str = ""
    agent: bool = False
    places: tuple[tuple[str, Kind], ...] = ()


def question(via: Via) -> list[str]:
    """Build the one command that asks a node for all of it."""
    return ["/bin/sh", "-c", _QUESTION.format(tool=TOOLS[via.kind], vmid=via.vmid)]


def found(answer: str) -> Found:
    """Read what the question prints."""
    lines = answer.splitlines()
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    status = re.fullmatch(r"status: (\S+)", told.get("status", ""))
    paths = [re.fullmatch(r"\./([^/]+)/([^/]+)/\d+\.conf", line) for line in lines]
    places = [(path[1], _FOLDERS[path[2]]) for path in paths if path and path[2] in _FOLDERS]
    return Found(
        root=told.get("uid") == "0",
        tool=bool(told.get("tool")),
        status=status[1] if status else None,
        lock=told.get("lock", ""),
        agent=_SPEAKS.fullmatch(told.get("agent", "")) is not None,
        places=tuple(places),
    )


def reason(via: Via, seen: Found) -> tuple[str, str] | None:
    """Say in one sentence why this guest cannot be entered, and what to do; None: not known."""
    if not (seen.root and seen.tool):
        # a node that cannot say is no reason why a guest does not answer SSH
        return _unfit(via, seen) if via.how != "ssh" else None
    if seen.status is None:
        return _absent(via, seen)
    by_hand = f"on {via.node.name}: {TOOLS[via.kind]}"
    if seen.lock:
        state = "" if seen.status == "running" else f"{seen.status} and "
        return (
            f"{via} is {state}locked ({seen.lock})",
            f"wait for what holds it; when nothing does any more, {by_hand} unlock {via.vmid}",
        )
    if seen.status != "running":
        return f"{via} is {seen.status}", f"{by_hand} start {via.vmid}"
    if via.how == "qm" and not seen.agent:
        return (
            f"{via} has no guest agent configured",
            f"{by_hand} set {via.vmid} --agent 1, and qemu-guest-agent in it; or use ssh",
        )
    return None


def _unfit(via: Via, seen: Found) -> tuple[str, str]:
    """Say what keeps a node from being asked for its guests."""
    tool, node = TOOLS[via.kind], via.node.name
    if not seen.root:
        problem = f"{tool} on {node} needs root, and the login there is none"
        return problem, f"set ansible_become: true for {node}"
    return f"{node} has no {tool}: it is no Proxmox node", "look at proxmox_host"


def _absent(via: Via, seen: Found) -> tuple[str, str] | None:
    """Say where a guest is that is not on its node; another one may have its number."""
    mine = next((node for node, kind in seen.places if kind == via.kind), "")
    if mine:
        return (
            f"{KINDS[via.kind]} {via.vmid} is on {mine}, and not on {via.node.name}",
            f"set proxmox_host to {mine}, as the inventory names it",
        )
    if seen.places and via.how == "ssh":
        return None  # it is there, and the inventory only says another kind than it is
    if seen.places:
        node, kind = seen.places[0]
        return (
            f"{via.vmid} on {node} is a {KINDS[kind]}, and no {KINDS[via.kind]}",
            f"set proxmox_vmtype: {kind}; ansible_connection can be ssh or {TOOLS[kind]} then",
        )
    return (
        f"there is no {via}",
        f"look at proxmox_vmid, and on {via.node.name}: {TOOLS[via.kind]} list",
    )


def explained(name: str, via: Via, node: Transport) -> UnreachableError | None:
    """Ask the node why a guest does not answer, and make the error of it; None: it cannot say."""
    try:
        why = reason(via, found(output(node, question(via), QUESTION_S)))
    except UnreachableError:
        return None  # what is known already is told instead
    return UnreachableError(f"{name}: {why[0]}", hint=why[1]) if why else None


def output(node: Transport, argv: Sequence[str], deadline_s: float) -> str:
    """Run a short command on a node and give what it printed; LostError when it does not end."""
    done = ran(node, argv, deadline_s)
    if done.code is None:
        raise LostError(f"no answer within {deadline_s:.0f} s")
    return done.stdout.decode(errors="replace")
