"""Ansible's inventories, read as `ansible-inventory --list` reads them, with FILE:LINE of it all."""
