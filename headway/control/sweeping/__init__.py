"""Sweeps: one variable, a launch a value, measured; the host ends on its accepted release."""
