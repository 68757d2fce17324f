"""The tasks of this fleet: what `invoke` offers here."""

from headway.control.verbs import namespace

__all__ = ["namespace"]
