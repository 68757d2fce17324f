"""A bad inventory or pattern is one clear line, exit code 2, before anything is touched.

Each case in tests/cases/bad_inventory/ holds the rule, the files, the pattern and the message.
"""

from pathlib import Path
from typing import Any

import pytest

from headway.control.errors import HeadwayError
from headway.control.inventory import load
from tests.control.inventory.written import cases, fleet

CASES = cases("bad_inventory")


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_what_is_wrong_is_said_in_one_line(case: dict[str, Any], tmp_path: Path) -> None:
    """With file and line where a file is to blame."""
    with pytest.raises(HeadwayError, match=case["error"]) as caught:
        load(fleet(tmp_path, case["files"])).select([case["pattern"]])

    assert caught.value.exit_code == case["exit"]
    assert "\n" not in str(caught.value) + caught.value.hint
