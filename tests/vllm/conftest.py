"""The lab's fixtures, for tests of the real vLLM."""

from tests.lab.conftest import lab, prove

__all__ = ["lab", "prove"]
