"""The tasks of this repo: what an operator types, and under `dev.` what its developers type."""

from dev.verbs import namespace as dev
from headway.control.verbs import namespace

namespace.add_collection(dev)
