"""The lab's fixtures, for tests of the real vLLM."""

from tests.lab.conftest import lab

__all__ = ["lab"]
