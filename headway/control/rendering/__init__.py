"""From roles, templates and values to a release, with nothing left to decide."""
