"""Verbs for those who work on headway itself; none of this is in the wheel."""
