"""The stubs of the compiled modules are those that `tests/support/core_stubs.py` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_stubs_are_up_to_date() -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "tests" / "support" / "core_stubs.py", "--check"], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, ""), "run python tests/support/core_stubs.py"
