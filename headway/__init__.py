"""headway: roll releases out to GPU inference hosts, one proved machine at a time."""

__version__ = "0.1.0"
