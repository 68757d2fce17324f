"""Ansible's inventories, read as `ansible-inventory --list` reads them, with FILE:LINE of it all.

`load(fleet)` reads the hosts file; `Inventory.select(patterns)` makes the hosts in hand.
"""

from headway.control.inventory.inventory import Inventory, load

__all__ = ["Inventory", "load"]
