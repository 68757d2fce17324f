"""The vocabulary that controller and host share, and the one strict loader both read it with.

Standard library only, Python 3.9 and up: this package travels to the hosts.
"""
