"""What is wrong with a guest is one sentence, made of what its node says when it is asked.

Cases: tests/cases/guest_answers.yaml.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.control.inventory.model import How
from headway.control.reaching.guest import explained, found, question, reason
from headway.control.reaching.ssh import quoted
from tests.control.reaching.proxmox import Node, guest

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/guest_answers.yaml").read_text())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_reason_is_one_sentence_with_the_next_step(case: dict[str, Any]) -> None:
    """Where the node cannot tell, nothing is made up."""
    via = guest(case["how"]).via
    assert via is not None
    why = reason(via, found(case["answer"]))
    assert (why is None) is ("says" not in case)
    if why is not None:
        assert why[0] == case["says"]
        assert case.get("hint", "") in why[1]
        assert "\n" not in "".join(why)


@pytest.mark.parametrize("how", ["pct", "qm"])
def test_the_question_reaches_every_login_shell(how: How) -> None:
    """The node may have csh or fish: the words are quoted alike for all, and are short enough."""
    via = guest(how).via
    assert via is not None
    assert len(" ".join(quoted(word) for word in question(via))) < 1000


def test_the_question_is_understood_by_a_shell(tmp_path: Path) -> None:
    """Asked of a double of a node, it finds status, lock, and the node the guest has gone to."""
    node = Node(tmp_path)
    via = guest("pct").via
    assert via is not None
    node.guest(129, up=False, conf="arch: amd64\nlock: backup\n")
    assert "is stopped and locked (backup)" in str(explained("ct1", via, node))
    (tmp_path / "etc/pve/nodes/pve1/lxc/129.conf").unlink()
    assert "there is no container 129 on pve1" in str(explained("ct1", via, node))
    node.guest(129, node="pve2", up=False)
    assert "ct1: container 129 is on pve2" in str(explained("ct1", via, node))
