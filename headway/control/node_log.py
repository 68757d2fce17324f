"""The kernel's log of a container is its node's: who is asked for it, and what its facts say then.

A VM has a kernel of its own. Whatever keeps a node from answering is a sentence in the facts of
its containers: all else of them is told all the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headway.control.errors import HeadwayError
from headway.control.inventory.model import Host, Via
from headway.wire.cards import KernelLog
from headway.wire.talk import Looked

Answers = Mapping[str, Looked | HeadwayError]


def nodes(hosts: Sequence[Host]) -> tuple[Host, ...]:
    """Name the nodes to ask for these hosts, each once; one that is among them is asked anyway."""
    among = {host.name for host in hosts}
    found = {via.node.name: via.node for via in map(_carrier, hosts) if via is not None}
    return tuple(node for name, node in found.items() if name not in among)


def with_node_log(host: Host, looked: Looked, answers: Answers) -> Looked:
    """Put in what the node of a container answered, where the container itself does not see all."""
    via, cards = _carrier(host), looked.cards
    if via is None or cards is None or cards.host is None or not cards.host.log:
        return looked
    answer, name = answers[via.node.name], via.node.name
    if isinstance(answer, HeadwayError):
        why = "; ".join(filter(None, (str(answer), answer.hint)))
        told = replace(cards.host, log=f"not visible from here: {why}")
    elif (log := _log(answer)) is None:
        told = replace(cards.host, log=f"not visible from here: {name} shows no NVIDIA driver")
    else:
        missing = log.missing and f"{name}: {log.missing}"
        told = replace(cards.host, xids=log.xids, log=missing, log_of=name)
    return replace(looked, cards=replace(cards, host=told))


def _carrier(host: Host) -> Via | None:
    """Say how a host hangs on its node, where it shares the node's kernel."""
    return host.via if host.via is not None and host.via.kind == "lxc" else None


def _log(answer: Looked) -> KernelLog | None:
    """Find the log in what a node said of itself, asked for its facts or for that alone."""
    if answer.cards is not None and answer.cards.host is not None:
        return KernelLog(answer.cards.host.xids, answer.cards.host.log)
    return answer.kernel
