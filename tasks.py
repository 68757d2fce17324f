"""The tasks of this repo: what an operator types, and under `dev.` what its developers type."""

from invoke.collection import Collection

from dev.verbs import namespace as dev

namespace = Collection(dev)
