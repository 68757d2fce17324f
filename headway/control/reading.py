"""`lint` and `inventory`: what the fleet's own files say, and what would go wrong with them."""

import json
import sys
from collections.abc import Sequence

from headway.control.desk import Desk
from headway.control.inventory.report import inventory_json, inventory_text
from headway.control.lint import Finding
from headway.control.lint import lint as findings
from headway.wire.phase import Exit


def inventory(desk: Desk) -> Exit:
    """Show every value of the hosts in hand, with the file and line it comes from."""
    if desk.json:
        for host in inventory_json(desk.hosts):
            sys.stdout.write(json.dumps({"inventory_host": host}, ensure_ascii=False) + "\n")
    else:
        desk.print(inventory_text(desk.hosts))
    return Exit.ACCEPTED


def lint(desk: Desk) -> Exit:
    """Show what would go wrong; an error is exit 2, warnings alone are 0."""
    found = findings(desk.fleet, desk.hosts)
    if desk.json:
        desk.rows(found)
    else:
        desk.print(lint_text(found))
    errors = any(finding.severity == "error" for finding in found)
    return Exit.USAGE if errors else Exit.ACCEPTED


def lint_text(found: Sequence[Finding]) -> str:
    """Draw a find a line, FILE:LINE first as editors jump to, and below it what to write."""
    if not found:
        return "nothing found"
    rows = []
    for one in found:
        place = f"{one.file}:{one.line}" if one.line else one.file
        rows.append(f"{place}: {one.severity}: {one.what}  [{one.rule}]")
        if one.instead:
            rows.append(f"        {one.instead}")
    errors = sum(one.severity == "error" for one in found)
    return "\n".join([*rows, f"{errors} errors, {len(found) - errors} warnings"])
