"""All tests of this folder end without temporary files and processes (support/leftovers.py)."""

from leftovers import nothing_is_left

__all__ = ["nothing_is_left"]
