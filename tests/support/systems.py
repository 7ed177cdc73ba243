"""What not every system has: marks of tests, and calls that skip the test which makes them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def _makes_links() -> bool:
    with TemporaryDirectory() as folder, suppress(OSError, NotImplementedError):
        path = Path(folder, "link")
        path.symlink_to("nowhere")
        return path.is_symlink()
    return False


#: On Windows only some users may make links, and wine makes none without saying so.
MAKES_LINKS = _makes_links()

needs_links = pytest.mark.skipif(not MAKES_LINKS, reason="needs links")
needs_modes = pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes of files")


def link(path: Path, target: str | os.PathLike[str], *, target_is_directory: bool = False) -> None:
    """Make a link; the test is skipped where there are none."""
    if not MAKES_LINKS:
        pytest.skip("needs links")
    path.symlink_to(target, target_is_directory=target_is_directory)


def system_has(path: str) -> bool:
    """Whether there is a file of Linux, such as /proc/self/maps; wine shows those of the system that it runs on."""
    return os.name == "posix" and Path(path).exists()
