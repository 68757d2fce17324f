"""`inventory`: what the fleet's own files say."""

import json
import sys

from headway.control.desk import Desk
from headway.control.inventory.report import inventory_json, inventory_text
from headway.wire.phase import Exit


def inventory(desk: Desk) -> Exit:
    """Show every value of the hosts in hand, with the file and line it comes from."""
    if desk.json:
        for host in inventory_json(desk.hosts):
            sys.stdout.write(json.dumps({"inventory_host": host}, ensure_ascii=False) + "\n")
    else:
        desk.print(inventory_text(desk.hosts))
    return Exit.ACCEPTED
