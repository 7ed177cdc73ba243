"""Processes that tests start, and kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import bbpe

#: Ends a process that cannot hear it: on Windows any signal does so but those of its console.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
#: The return code of a process that `kill` has ended.
KILLED = KILL if sys.platform == "win32" else -KILL


def kill(process: subprocess.Popen[Any]) -> None:
    """End a process that may have ended already; on Windows `Popen.kill` gives it the return code of a failure."""
    with suppress(OSError):
        os.kill(process.pid, KILL)


def package_env(**others: str) -> dict[str, str]:
    """The environment as it is now, and the path of this package, so that a process imports it from any folder."""
    return {**os.environ, "PYTHONPATH": str(Path(bbpe.__file__).parents[1]), **others}


def ends(program: str, *arguments: object, killed_after: float | None = None) -> bool:
    """Run a program of Python that prints a line when it begins, or kill it so long after that; whether it ended."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if killed_after is not None:
            time.sleep(killed_after)
            process.send_signal(KILL)
    return process.returncode == 0
