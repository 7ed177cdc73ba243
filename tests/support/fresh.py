"""Scripts in fresh processes, which make first calls (first_calls.py).

This is a module of its own: what first_calls.py imports is no longer imported late in those processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import first_calls
import pytest

__all__ = ["calls_folder", "needs_fork", "run"]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@pytest.fixture(scope="session")
def calls_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the files that first calls read."""
    made = tmp_path_factory.mktemp("first_calls")
    first_calls.prepare(made)
    return made


def run(code: str, folder: Path, *arguments: str, seconds: float = 60) -> str:
    """Run a script in a fresh process, and return what it prints; what it writes to stderr is an error."""
    here = Path(__file__)
    paths = os.pathsep.join([str(here.parent), str(here.parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout
