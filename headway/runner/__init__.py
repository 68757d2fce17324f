"""The host side: it travels as a zip by content hash and runs as `python3 -I -S runner/HASH`.

Standard library and headway.wire only, Python 3.9 and up.
"""
