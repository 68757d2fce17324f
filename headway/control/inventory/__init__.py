"""Ansible's inventories, read as `ansible-inventory --list` reads them, with FILE:LINE of it all.

`inventory.load(fleet)` reads the hosts file; `Inventory.select(patterns)` makes the hosts in hand.
"""
