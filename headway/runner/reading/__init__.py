"""What people read of a host: its record, the lines of a launch, an engine's own counters.

Travels apart: a host that nobody asks about needs none of it.
"""
