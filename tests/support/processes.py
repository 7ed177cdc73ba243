"""The environment of processes that tests start."""

from __future__ import annotations

import os
from pathlib import Path

import bbpe


def package_env(**others: str) -> dict[str, str]:
    """The environment as it is now, and the path of this package, so that a process imports it from any folder."""
    return {**os.environ, "PYTHONPATH": str(Path(bbpe.__file__).parents[1]), **others}
